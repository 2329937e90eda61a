"""`numafit audit`: what the kernel really does with processes, against what was promised or would be aligned."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from numafit.cli.options.lease import state_option
from numafit.cli.options.machine import machine_option, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, this_screen
from numafit.errors import InputError, NumafitError
from numafit.host.audit.holders import docker_promises, lease_promises
from numafit.host.audit.survey import Survey
from numafit.show.json import json_text
from numafit.show.records.audit import audit_record
from numafit.show.text.audit import audit_text

if TYPE_CHECKING:
    from numafit.host.audit.promise import Promise


@click.command(
    epilog="""\b
Examples:
  numafit audit 4711
  numafit audit --leases
  numafit audit --all -o json"""
)
@click.argument("pids", nargs=-1, type=click.IntRange(min=1), metavar="[PID]...")
@click.option("--leases", is_flag=True, help="All processes that hold a lease of this host.")
@click.option("--docker", is_flag=True, help="All containers that Docker runs with CPUs, memory nodes or a lease.")
@click.option("--all", "everything", is_flag=True, help="The leases, and each other program that is worth a word.")
@machine_option
@state_option
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
def audit(
    pids: Sequence[int],
    leases: bool,
    docker: bool,
    everything: bool,
    specs: Sequence[str],
    folder: Path | None,
    output: str,
) -> int:
    """Compare what the kernel does with processes with what was promised to them.

    A process with a lease is compared with the lease, any other with what would be aligned: CPUs, memory and GPUs on
    one NUMA node where they fit. Worth a word is a program that is kept to some CPUs or NUMA nodes, that has a GPU, or
    that holds much memory of a machine with several NUMA nodes. Some of it only the owner of a process or root may see;
    what was not seen is said. Exit status: 0 nothing found or only hints, 1 errors or warnings, 2 bad input.
    """
    ways = sum([bool(pids), leases, docker, everything])
    if ways != 1:
        raise InputError(
            "nothing says which processes to look at" if not ways else "the processes are named in two ways",
            cure="give process ids, or one of --leases, --docker and --all",
        )
    machine = resolve_machine(specs).machine
    unread = ""
    promises: list[Promise] = []
    try:
        promises = docker_promises(folder) if docker else lease_promises(folder)
    except NumafitError as error:
        if leases or docker:
            raise
        unread = f"the leases, so that all is judged as without one: {error}"
    survey = Survey(machine, promises)
    survey.unseen += [unread] if unread else []
    report = survey.of_processes(pids) if pids else survey.of_everything() if everything else survey.of_promises()
    if output == "json":
        click.echo(json_text(audit_record(report)))
    else:
        screen = this_screen()
        answer(audit_text(report, screen), screen)
    return 1 if report.failed else 0
