"""A command's view of this host: its machine as far as it is needed, and its ledger."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from numafit.host.bind.kernel import allowed_now
from numafit.host.book.book import Book, Warn
from numafit.host.book.folder import NoLedgerError, ledger_folder
from numafit.host.host import Host, HostFile, host_of
from numafit.host.lease import Lease, LiveContainers
from numafit.host.this_machine import live_machine
from numafit.machine.model import Machine

if TYPE_CHECKING:
    from numafit.host.book.glance import Glance

DOCKER_SOCKET = Path("/var/run/docker.sock")


class Session(msgspec.Struct, frozen=True):
    host: Host
    folder: Path
    warn: Callable[[str], None]

    def book(self) -> Book:
        return open_book(self.folder, self.warn)


def open_session(chosen: Path | None, warn: Warn, *, devices: bool = True) -> Session:
    """Without `devices` the drivers are not asked, which is quicker."""
    folder = ledger_folder(chosen)
    machine = live_machine(devices=devices)
    return Session(host_of(machine, _host_file(folder, machine), allowed=allowed_now()), folder, warn)


def glance_at(chosen: Path | None, *, history: int = 0) -> "tuple[Host, Glance]":
    """What can be known of this host where its ledger cannot be written."""
    # Few ledgers are like that.
    from numafit.host.book.glance import glance

    folder: Path | None = None
    with suppress(NoLedgerError):
        folder = ledger_folder(chosen, reading=True)
    machine = live_machine()
    file = _host_file(folder, machine) if folder is not None else HostFile()
    return host_of(machine, file, allowed=allowed_now()), glance(folder, _live_containers, history)


def open_book(folder: Path, warn: Warn) -> Book:
    return Book.open(folder, _live_containers, warn)


def _host_file(folder: Path, machine: Machine) -> HostFile:
    """Most hosts have no such file, and a command starts quicker without YAML."""
    # Path.exists would raise where a folder above may not be looked into.
    if not os.path.exists(folder / "host.yaml"):
        return HostFile()
    from numafit.host.host_file import read_host_file

    return read_host_file(folder, machine)


def reenter_containers(book: Book, warn: Warn) -> None:
    """Containers that were started again hold what they are pinned to, if nobody else does; who does is told."""
    if not (os.environ.get("DOCKER_HOST") or DOCKER_SOCKET.exists()):
        return
    from numafit.host.book.strays import reenter, stray_text

    for stray in reenter(book):
        warn(stray_text(stray))


def _live_containers(leases: Sequence[Lease]) -> LiveContainers | None:
    # Asked for only when a container holds a lease.
    from numafit.host.docker.containers import live_containers

    return live_containers(leases)
