"""`numafit ps`, `free` and `history`: who holds what of a host, what is left of it, and what happened to its leases."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from msgspec.structs import replace

from numafit.bits import members, parse_cpuset
from numafit.cli.files import check_picture, write_whole
from numafit.cli.options.lease import state_option
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, this_screen
from numafit.cli.warning import warn
from numafit.errors import InputError
from numafit.host.bind.ladder import remove_orphans
from numafit.host.book.folder import NOT_SHARED, NoLedgerError, is_private, ledger_folder
from numafit.host.book.store import LedgerError
from numafit.host.book.tables import LeaseEvent
from numafit.host.free import free_on
from numafit.host.grant import QueuePlace, Refused, sentence_of
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.mend import offline_sentences
from numafit.host.place import ledger_of, node_of
from numafit.host.request import JobRequest
from numafit.host.session import glance_at, has_ledger, look_around, open_book, open_session
from numafit.host.this_machine import looked_at
from numafit.host.verdicts import lease_alignments
from numafit.ledger.state_files import state_path
from numafit.show.json import json_text
from numafit.show.records.alignment import alignment_records
from numafit.show.records.leases import (
    LeaseList,
    free_record,
    history_record,
    lease_list,
    lease_of_record,
    place_of_record,
)
from numafit.show.records.time import time_text
from numafit.show.text.leases import free_text, history_text, leases_text
from numafit.show.words import device_labels

MAY_HOLD_MORE = "Others may hold more: the ledger of this host could not be read."

F = TypeVar("F", bound=Callable[..., Any])


class Holdings(msgspec.Struct, frozen=True):
    host: Host
    leases: list[Lease]
    waiting: list[QueuePlace]
    written: bool = True
    """No: the ledger could only be looked at."""
    whole: bool = True
    """No: others may hold more."""

    @property
    def labels(self) -> dict[str, str]:
        return device_labels(self.host.machine)


def agent_address_option(command: F) -> F:
    """Adds `--agent`, and hands it to the command as `agent`."""
    return click.option("--agent", metavar="ADDRESS", help="Ask a running `numafit serve` (URL or unix socket).")(
        command
    )


def holdings_of(folder: Path | None, agent: str | None, *, partly: bool) -> Holdings:
    """`partly`: also what can be seen of jobs, where the ledger cannot be read."""
    if agent is None:
        try:
            session = open_session(folder, warn)
            if not has_ledger(session.folder):
                return Holdings(session.host, [], [])
            with session.book() as book:
                look_around(book, session.host, warn)
                leases, known = book.leases(session.host), book.commands()
                told = [replace(lease, command=known.get((lease.uid, lease.id), lease.command)) for lease in leases]
                return Holdings(session.host, told, book.waiting())
        except (NoLedgerError, LedgerError) as error:
            host, seen = glance_at(folder)
            if not seen.whole and not partly:
                raise
            warn(f"{error}; {seen.sentence}")
            return Holdings(host, seen.leases, seen.waiting, written=False, whole=seen.whole)
    if folder is not None:
        raise InputError("does not go with --agent", source="--state-dir", cure="leave one of both away")
    return _of_agent(agent)


def _of_agent(agent: str) -> Holdings:
    from numafit.machine.file.read import read_machine_file
    from numafit.service.client import fetched
    from numafit.show.records.agent import MachineAnswer

    listed = fetched(agent, "/api/v1/leases", LeaseList)
    machine = read_machine_file(msgspec.json.encode(fetched(agent, "/api/v1/machine", MachineAnswer).machine), agent)
    try:
        leases = [lease_of_record(record) for record in listed.leases]
        waiting = [place_of_record(record) for record in listed.waiting]
    except ValueError:
        raise InputError("this is no agent of numafit", source=agent) from None
    cpus = 0 if listed.reserved_cpus is msgspec.UNSET else parse_cpuset(listed.reserved_cpus)
    memory = {} if listed.reserved_memory is msgspec.UNSET else listed.reserved_memory
    return Holdings(Host(machine, cpus, memory), leases, waiting)


@click.command(
    epilog="""\b
Examples:
  numafit ps
  numafit ps -o json
  numafit ps --picture box.svg
  numafit ps --write-state /tmp/state
  numafit ps --agent http://127.0.0.1:8470"""
)
@click.option("-o", "output", type=OneOf(["table", "json"]), default="table", show_default=True)
@click.option("--picture", type=click.Path(path_type=Path), help="Draw the machine with who sits where (SVG).")
@click.option(
    "--write-state", type=click.Path(path_type=Path), help="Write the leases as a kubelet's state files into a folder."
)
@state_option
@agent_address_option
def ps(output: str, picture: Path | None, write_state: Path | None, folder: Path | None, agent: str | None) -> int:
    """Show the leases of this host: who holds which CPUs, memory and devices, since when, and how they are bound.

    PLACED is how each lies: aligned; split over more NUMA nodes than it needs; remote GPU (NIC, device), which hangs on
    a NUMA node without CPUs or memory of the lease; shared, without exclusive CPUs. Below the table stands why.
    Leases of jobs that are gone are freed on the way, and shared work is moved to where the pool is now.
    """
    found = holdings_of(folder, agent, partly=output == "table")
    if agent is None and found.written:
        remove_orphans([lease.id for lease in found.leases])
    if picture is not None:
        check_picture(picture)
        _draw(found, picture)
    if write_state is not None:
        _write_state(found, write_state)
    lying = lease_alignments(found.host, found.leases)
    if output == "json":
        records = alignment_records(lying, found.labels)
        click.echo(json_text(lease_list(found.leases, found.waiting, lying=records)))
        return 0
    screen = this_screen()
    if found.leases or found.whole:
        answer(leases_text(found.leases, found.labels, screen, lying), screen)
    if not found.whole:
        answer(MAY_HOLD_MORE, screen)
    # Of an agent's host, and where the ledger could not be written, nobody tried to move anything.
    mover = os.geteuid() if agent is None and found.written else None
    for sentence in offline_sentences(found.host, found.leases, mover):
        answer(sentence, screen)
    for line in _waiting_lines(found):
        answer(line, screen)
    return 0


def _waiting_lines(found: Holdings) -> Iterator[str]:
    if not found.waiting:
        return
    # Few look while others wait.
    from numafit.host.backfill import turns
    from numafit.host.book.serve import is_stopped

    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    for number, turn in enumerate(turns(found.host, found.leases, found.waiting, now), 1):
        why = sentence_of(turn.answer) if isinstance(turn.answer, Refused) else "about to start"
        one = turn.place
        if is_stopped(one):
            why = "stopped: others pass until it goes on"
        who = f"{one.owner.user} for {one.request.words()}"
        known = f" as {one.id}" if one.id else ""
        yield f"waits since {time_text(one.since)}{known}: {who} (place {number}: {why})"


def _draw(found: Holdings, path: Path) -> None:
    from numafit.show.draw.overlay import Overlay
    from numafit.show.draw.picture.svg import draw_svg

    cpus = {cpu: lease.label for lease in found.leases for cpu in members(lease.exclusive)}
    devices = {device: lease.label for lease in found.leases for ids in lease.devices.values() for device in ids}
    write_whole(path, draw_svg(found.host.machine, overlay=Overlay(cpus, devices)).encode())


def _write_state(found: Holdings, folder: Path) -> None:
    from numafit.decision.files import state_files

    node = node_of(found.host, JobRequest(memory=1))
    for name, text in state_files(node, ledger_of(found.host, node, found.leases)).items():
        write_whole(state_path(folder, name), text.encode())


@click.command(
    epilog="""\b
Examples:
  numafit free
  numafit free -o json
  numafit free --agent /run/numafit.sock"""
)
@click.option("-o", "output", type=OneOf(["table", "json"]), default="table", show_default=True)
@state_option
@agent_address_option
def free(output: str, folder: Path | None, agent: str | None) -> int:
    """Show what nobody holds, per NUMA node, and the largest job that would still be aligned."""
    found = holdings_of(folder, agent, partly=output == "table")
    left = free_on(looked_at(found.host, JobRequest(memory=1)), found.leases)
    for note in found.host.notes:
        warn(note)
    if output == "json":
        click.echo(json_text(free_record(left)))
    else:
        screen = this_screen()
        answer(free_text(left, found.labels, screen), screen)
        if not found.whole:
            answer(MAY_HOLD_MORE, screen)
    return 0


@click.command(
    epilog="""\b
Examples:
  numafit history
  numafit history -n 200 -o json"""
)
@click.option("-n", "count", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many entries.")
@click.option("-o", "output", type=OneOf(["table", "json"]), default="table", show_default=True)
@state_option
def history(count: int, output: str, folder: Path | None) -> int:
    """Show what was taken, refused and freed, newest first."""
    try:
        entries = _entries(folder, count)
    except (NoLedgerError, LedgerError) as error:
        _, seen = glance_at(folder, history=count)
        warn(f"{error}; {seen.sentence}")
        entries = seen.history
    if output == "json":
        click.echo(json_text(history_record(entries)))
    else:
        screen = this_screen()
        answer(history_text(entries, screen), screen)
    return 0


def _entries(folder: Path | None, count: int) -> list[LeaseEvent]:
    place = ledger_folder(folder)
    if is_private(folder):
        warn(NOT_SHARED)
    if not has_ledger(place):
        return []
    with open_book(place, warn) as book:
        known = book.commands()
        return [_whole(entry, known) for entry in book.history(count)]


def _whole(entry: LeaseEvent, known: Mapping[tuple[int, str], str]) -> LeaseEvent:
    """With the words of its command line, where this user may read them."""
    uid = entry.data.get("uid")
    command = known.get((uid, entry.lease), "") if isinstance(uid, int) else ""
    return replace(entry, command=command, data={**entry.data, "command": command}) if command else entry
