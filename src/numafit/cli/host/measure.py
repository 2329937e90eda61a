"""`numafit measure`: what this machine really does between its NUMA nodes, and what binding brings a command."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from numafit.amounts import parse_amount
from numafit.cli.options.lease import state_option
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, draws_boxes, progress_bar, this_screen, tidy_end
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.book.folder import NoLedgerError, ledger_folder
from numafit.host.environment import LEASE
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.measure.choice import USEFUL, choose
from numafit.host.measure.command import CommandFailed, CommandTrial, places_of
from numafit.host.measure.kept import digest_of, keep, kept
from numafit.host.measure.result import Measured
from numafit.host.measure.survey import MachineSurvey
from numafit.host.session import glance_at
from numafit.show.draw.picture.measured import draw_measured
from numafit.show.json import json_text
from numafit.show.records.measure import command_record, measured_record, nothing_to_compare
from numafit.show.text.measure import command_text, measured_text

INTERRUPTED = 130


@click.command(
    context_settings={"allow_interspersed_args": False},
    epilog="""\b
Examples:
  numafit measure
  numafit measure -o svg > nodes.svg
  numafit measure --kept -o json
  numafit measure -- ./solver input.dat
  numafit measure --rounds 9 --node 1 --cpus 8 -- ./solver input.dat""",
)
@click.option("--rounds", type=click.IntRange(1, 100), default=5, show_default=True, help="How often each is measured.")
@click.option("--size", metavar="SIZE", help="Memory to read on each node; default several times its caches.")
@click.option("--kept", "only_kept", is_flag=True, help="Measure nothing; show what was measured last.")
@click.option("--node", type=click.IntRange(0, 1023), help="With COMMAND: the NUMA node of its CPUs.")
@click.option("--cpus", type=click.IntRange(1), help="With COMMAND: so many CPUs of the node; default all.")
@state_option
@click.option("-o", "output", type=OneOf(["text", "json", "svg"]), default="text", show_default=True)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def measure(
    rounds: int,
    size: str | None,
    only_kept: bool,
    node: int | None,
    cpus: int | None,
    folder: Path | None,
    output: str,
    command: Sequence[str],
) -> int:
    """Measure how fast CPUs of each NUMA node reach the memory of each, other CPUs, and GPUs.

    It takes some seconds, in which the CPUs that no lease holds are busy. The result is kept, and `machine show` shows
    it below the machine.

    With COMMAND, that is run instead: as it is, with CPUs and memory of one node, and with the same CPUs and memory of
    a far node, in turns. What it prints is dropped. Said is how much the binding brings, and whether that is more than
    noise.

    Exit status: 0 measured, or there is nothing to compare; that of a command that failed; 130 after Ctrl-C, with what
    was measured until then; 2 bad input.
    """
    if command and (size or only_kept or output == "svg"):
        raise InputError("--size, --kept and -o svg are about the machine", cure="leave them or the command away")
    if not command and (node is not None or cpus):
        raise InputError("--node and --cpus go with a command", cure="write it after --, like numafit measure -- make")
    amount = _amount(size)
    host, seen = glance_at(folder)
    place = _folder(folder)
    digest = digest_of(host.machine)
    last = kept(place, digest) if place and (only_kept or command) else None
    if only_kept:
        return _show_kept(last, output)
    if command:
        return _measure_command(host, seen.leases, command, rounds, node, cpus or 0, last, output)
    return _measure_machine(host, seen.leases, digest, rounds, amount, place, output)


def _amount(size: str | None) -> int:
    if size is None:
        return 0
    try:
        amount = parse_amount(size)
    except ValueError as error:
        raise InputError(str(error), source="--size", cure="write it like 256Mi") from None
    if amount < USEFUL:
        raise InputError("less than 1Mi says nothing about memory", source="--size", cure="write it like 256Mi")
    return amount


def _folder(chosen: Path | None) -> Path | None:
    try:
        return ledger_folder(chosen, reading=True)
    except NoLedgerError:
        return None


def _show_kept(last: Measured | None, output: str) -> int:
    if last is None:
        raise InputError("this machine was not measured yet", source="--kept", cure="run numafit measure")
    _show(last, output)
    return 0


def _measure_machine(
    host: Host, leases: Sequence[Lease], digest: str, rounds: int, size: int, place: Path | None, output: str
) -> int:
    choice = choose(host, leases, os.environ.get(LEASE, ""), size)
    if not any(node.cpus for node in choice.nodes) or not any(node.memory for node in choice.nodes):
        raise InputError(f"nothing can be measured: {'; '.join(choice.notes) or 'no CPU and memory may be used'}")
    survey = MachineSurvey(choice, digest, rounds)
    status = 0
    try:
        with tidy_end(), progress_bar(survey.steps) as bar:
            survey.run(lambda: bar.update(1))
    except KeyboardInterrupt:
        status = INTERRUPTED
    finally:
        found = survey.result()
        survey.close()
    _show(found, output)
    if found.whole and found.pairs:
        refused = keep(place, found) if place else "there is no place for a ledger"
        if refused:
            warn(f"not kept: {refused}")
    return status


def _show(found: Measured, output: str) -> None:
    if output == "json":
        click.echo(json_text(measured_record(found)))
    elif output == "svg":
        click.echo(draw_measured(found), nl=False)
    else:
        screen = this_screen()
        answer(measured_text(found, screen, blocks=draws_boxes()), screen)


def _measure_command(
    host: Host,
    leases: Sequence[Lease],
    command: Sequence[str],
    rounds: int,
    node: int | None,
    cpus: int,
    last: Measured | None,
    output: str,
) -> int:
    own = os.environ.get(LEASE, "")
    places = places_of(host, leases, own=own, node=node, count=cpus, measured=last)
    if places is None:
        if output == "json":
            click.echo(json_text(nothing_to_compare(tuple(command))))
        else:
            click.echo(f"one NUMA node has memory: there is nothing to compare, and {command[0]} was not run")
        return 0
    trial = CommandTrial(command, places, rounds)
    status = 0
    try:
        with tidy_end(), tempfile.TemporaryFile() as log, progress_bar(trial.steps) as bar:
            trial.run(lambda: bar.update(1), log)
    except KeyboardInterrupt:
        status = INTERRUPTED
    except CommandFailed as failed:
        warn(str(failed))
        return failed.status
    found = trial.result()
    if output == "json":
        click.echo(json_text(command_record(found)))
    else:
        screen = this_screen()
        answer(command_text(found, screen, blocks=draws_boxes()), screen)
    return status
