"""`numafit docker compose`: a plan for the services of a compose file, and a second file that puts them there."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.cli.files import read_text, write_whole
from numafit.cli.options.lease import state_option
from numafit.cli.options.machine import machine_option, resolve_machine
from numafit.cli.terminal import answer, this_screen
from numafit.cli.warning import warn
from numafit.document import read_document
from numafit.errors import InputError
from numafit.host.book.tables import Transaction
from numafit.host.docker.compose import PlannedService, compose_services, override_text, planned_services
from numafit.host.host import Host
from numafit.host.lease import Lease, memory_of, record_of
from numafit.host.process.identity import user_name
from numafit.host.session import Session, look_around, open_session
from numafit.quantity import Quantity
from numafit.show.table import aligned


@click.command(
    short_help="Plan the services of a compose file; write a file that pins them.",
    epilog="""\b
Examples:
  numafit docker compose compose.yaml
  numafit docker compose compose.yaml --write compose.numafit.yaml
  numafit docker compose compose.yaml --machine dgx-a100""",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--write", "target", type=click.Path(path_type=Path), help="Write the second file for Compose.")
@machine_option
@state_option
def compose(file: Path, target: Path | None, specs: Sequence[str], folder: Path | None) -> int:
    """Say which CPUs, memory nodes and GPUs each service of a compose FILE would get, next to what is held now.

    A service asks as it does in any compose file (cpus, mem_limit, deploy.resources), or with `x-numafit: {cpus: 8,
    memory: 32Gi, gpus: 2}`. Without CPUs it runs in the shared pool. Nothing is held before the containers run: the
    next numafit command after `docker compose -f FILE -f WRITTEN up` enters them into the ledger, and moves those
    whose CPUs were given away in between.

    Exit status: 0; 2 bad input, or a service for which there is no room.
    """
    document = read_document(read_text(file), str(file))
    services = compose_services(document)
    if target is not None and target.resolve() == file.resolve():
        raise InputError("is the compose file itself, which is not changed", source="--write", cure="name another file")
    session = None if specs else open_session(folder, warn)
    if session is None:
        host = Host(resolve_machine(specs).machine)
        planned = planned_services(host, [], services, document)
    else:
        host = session.host
        with session.book() as book:
            look_around(book, host, warn)
            planned = [_named(one) for one in planned_services(host, book.leases(), services, document)]
    screen = this_screen()
    answer(aligned([("SERVICE", "CPUS", "NODES", "MEMORY", "DEVICES"), *map(_row, planned)], screen=screen), screen)
    if target is not None:
        if session is not None:
            _remember(session, planned)
        write_whole(target, override_text(planned, host, str(file), labels=session is not None).encode())
        answer(f"Start it with: docker compose -f {file} -f {target} up -d", screen)
    return 0


def _named(one: PlannedService) -> PlannedService:
    """With an id, by which its container and its lease find each other."""
    uid = os.getuid()
    lease = replace(one.lease, id=os.urandom(4).hex(), uid=uid, user=user_name(uid), since=time.time())
    return replace(one, lease=lease)


def _remember(session: Session, planned: Sequence[PlannedService]) -> None:
    """A container that comes with one of these leases belongs to this ledger."""

    def note(tx: Transaction, _leases: list[Lease]) -> None:
        for one in planned:
            tx.note("planned", one.lease.id, one.lease.user, record_of(one.lease))

    with session.book() as book:
        book.within(note)


def _row(one: PlannedService) -> tuple[str, ...]:
    lease = one.lease
    return (
        one.service.name,
        cpuset_text(lease.exclusive) or f"shared {cpuset_text(one.cpus)}",
        cpuset_text(lease.nodes) or "any",
        str(Quantity(memory_of(lease), 0, "BinarySI")) if lease.memory else "-",
        ",".join(device for ids in lease.devices.values() for device in ids) or "-",
    )
