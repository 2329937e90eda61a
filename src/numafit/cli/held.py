"""What is held on a host, for the commands that show it: this one, or the one of a running agent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from numafit.cli.output import warn
from numafit.errors import InputError
from numafit.host.book import Owner, Place
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.session import here, reenter_containers

F = TypeVar("F", bound=Callable[..., Any])


class Held(msgspec.Struct, frozen=True):
    host: Host
    leases: list[Lease]
    waiting: list[Place]

    @property
    def labels(self) -> dict[str, str]:
        """A UUID says nothing to a reader; the number that the vendor's tools give a GPU does."""
        return {device.id: device.label for device in self.host.machine.devices if device.label}


def agent_address_option(command: F) -> F:
    """Adds `--agent`, and hands it to the command as `agent`."""
    return click.option("--agent", metavar="ADDRESS", help="Ask a running `numafit serve` (URL or unix socket).")(
        command
    )


def held(folder: Path | None, agent: str | None) -> Held:
    if agent is None:
        place = here(folder, warn)
        with place.book() as book:
            reenter_containers(book, warn)
            return Held(place.host, book.leases(place.host), book.waiting())
    if folder is not None:
        raise InputError("does not go with --agent", source="--state-dir", cure="leave one of both away")
    return _of_agent(agent)


def _of_agent(agent: str) -> Held:
    from numafit.host.lease_record import lease_of_record, seconds_of
    from numafit.host.request import Request
    from numafit.machine.bits import parse_cpuset
    from numafit.machine.machine_file import read_machine_file
    from numafit.service.client import fetched
    from numafit.service.leases import LeaseList
    from numafit.service.shapes import MachineAnswer

    listed = fetched(agent, "/api/v1/leases", LeaseList)
    machine = read_machine_file(msgspec.json.encode(fetched(agent, "/api/v1/machine", MachineAnswer).machine), agent)
    reserved = {int(node): size for node, size in listed.reserved_memory.items()}
    try:
        leases = [lease_of_record(record) for record in listed.leases]
        waiting = [
            Place(
                Owner(user=one["user"], command=one["command"]),
                msgspec.convert(one["request"], Request),
                seconds_of(one["since"]),
            )
            for one in listed.waiting
        ]
    except (KeyError, ValueError):
        raise InputError("this is no agent of numafit", source=agent) from None
    return Held(Host(machine, parse_cpuset(listed.reserved_cpus), reserved), leases, waiting)
