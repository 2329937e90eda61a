"""`numafit audit`: what the kernel really does with processes, against what was promised or would be aligned."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from numafit.cli.options.lease import state_option
from numafit.cli.options.machine import machine_option, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, this_screen, tidy_end
from numafit.cli.warning import warn
from numafit.errors import InputError, NumafitError
from numafit.host.audit import watch as watching
from numafit.host.audit.holders import docker_promises, lease_promises
from numafit.host.audit.promise import Promise
from numafit.host.audit.survey import AuditReport, Survey
from numafit.host.audit.watch import AuditWatch
from numafit.host.book.folder import is_private
from numafit.show.json import json_line, json_text
from numafit.show.records.alignment import DeviceLabels
from numafit.show.records.audit import audit_record
from numafit.show.records.time import now_text
from numafit.show.text.audit import audit_text, news_text
from numafit.show.words import device_labels

LONGEST = 86400.0
OTHERS = (
    "what other users of this host hold: the ledger is yours alone (`numafit host setup`, once by root, makes one for "
    "all)"
)


@click.command(
    epilog="""\b
Examples:
  numafit audit 4711
  numafit audit --leases
  numafit audit --leases --watch=30
  numafit audit --all -o json"""
)
@click.argument("pids", nargs=-1, type=click.IntRange(min=1), metavar="[PID]...")
@click.option("--leases", is_flag=True, help="All processes that hold a lease of this host.")
@click.option("--docker", is_flag=True, help="All containers that Docker runs with CPUs, memory nodes or a lease.")
@click.option("--all", "everything", is_flag=True, help="The leases, and each other program that is worth a word.")
@click.option(
    "--watch",
    type=click.FloatRange(watching.WINDOW_SECONDS, LONGEST),
    is_flag=False,
    flag_value=10.0,
    metavar="[SECONDS]",
    help="Look again and again, every 10 seconds or as often as is said, and tell what is new.",
)
@machine_option
@state_option
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
def audit(
    pids: Sequence[int],
    leases: bool,
    docker: bool,
    everything: bool,
    watch: float | None,
    specs: Sequence[str],
    folder: Path | None,
    output: str,
) -> int:
    """Compare what the kernel does with processes with what was promised to them.

    A process with a lease is compared with the lease, any other with what would be aligned: CPUs, memory and GPUs on
    one NUMA node where they fit. Worth a word is a program that has a GPU, that holds much memory of a machine with
    several NUMA nodes, or that works while it is kept to some CPUs or NUMA nodes. It looks twice, a second apart: who
    did nothing in between disturbs nobody. Some of it only the owner of a process or root may see; what was not seen is
    said. Exit status: 0 nothing found or only hints, 1 errors or warnings, 2 bad input.
    """
    ways = sum([bool(pids), leases, docker, everything])
    if ways != 1:
        raise InputError(
            "nothing says which processes to look at" if not ways else "the processes are named in two ways",
            cure="give process ids, or one of --leases, --docker and --all",
        )

    machine = resolve_machine(specs).machine
    labels = device_labels(machine)

    def judge(survey: Survey) -> AuditReport:
        return survey.of_processes(pids) if pids else survey.of_everything() if everything else survey.of_promises()

    def promised() -> tuple[list[Promise], list[str]]:
        try:
            found = (docker_promises if docker else lease_promises)(folder, machine)
            return found, [OTHERS] if is_private(folder) else []
        except NumafitError as error:
            if leases or docker:
                raise
            return [], [f"the leases, so that all is judged as without one: {error}"]

    watched = AuditWatch(machine)

    def look() -> AuditReport:
        promises, unread = promised()
        return watched.look(promises, judge, unread)

    if pids or everything or promised()[0]:
        watched.begin()
        time.sleep(watching.WINDOW_SECONDS)
    report = look()
    _show(report, output, labels, lines=watch is not None)
    if watch is not None:
        with tidy_end():
            report = _watch(look, report, watch, output, labels)
    return 1 if report.failed else 0


def _show(report: AuditReport, output: str, labels: DeviceLabels, *, lines: bool) -> None:
    if output == "json":
        record = audit_record(report, now_text(), labels)
        click.echo(json_line(record) if lines else json_text(record))
    else:
        screen = this_screen()
        answer(audit_text(report, screen, labels), screen)


def _watch(
    look: Callable[[], AuditReport], report: AuditReport, seconds: float, output: str, labels: DeviceLabels
) -> AuditReport:
    """The last report, when the processes that were named have ended; else it goes on until it is ended."""
    while True:
        time.sleep(seconds)
        before = report
        try:
            report = look()
        except NumafitError as error:
            warn(str(error))
            return before
        if output == "json":
            click.echo(json_line(audit_record(report, now_text(), labels)))
        elif text := news_text(before, report, screen := this_screen()):
            answer(text, screen)
