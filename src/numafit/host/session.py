"""A command's view of this host: its machine as far as it is needed, and its ledger."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from numafit.bits import parse_cpuset
from numafit.host.bind.kernel import allowed_now
from numafit.host.bind.slices import let_out
from numafit.host.bind.target import Target
from numafit.host.book.book import Book, Warn
from numafit.host.book.folder import NOT_SHARED, NoLedgerError, is_private, ledger_folder
from numafit.host.book.store import FILE, LOCK
from numafit.host.grant import QueuePlace
from numafit.host.host import Host, HostFile, host_of
from numafit.host.lease import Lease, LiveContainers
from numafit.host.request import JobRequest
from numafit.host.this_machine import NVIDIA, live_machine, looked_at
from numafit.machine.model import Machine
from numafit.machine.read.sysfs.tree import live_tree

if TYPE_CHECKING:
    from numafit.host.book.glance import Glance


_FRESH_SECONDS = 30.0
"""How long a watcher believes what it read of the machine, as long as nobody may start."""


class Session:
    def __init__(self, host: Host | Callable[[], Host], folder: Path, warn: Warn) -> None:
        """A host that is to be read is read when somebody asks for it."""
        self._host = host
        self.folder = folder
        self.warn = warn

    @property
    def host(self) -> Host:
        if not isinstance(self._host, Host):
            self._host = self._host()
        return self._host

    def book(self) -> Book:
        return open_book(self.folder, self.warn)

    def read_anew(self) -> None:
        """For one who stays: which CPUs are online, what he may use, and what `host.yaml` says now. Drivers of devices
        are not asked again, which may take seconds."""
        before = self.host
        if not before.live:
            return
        machine = before.machine
        online = live_tree().text("sys/devices/system/cpu/online")
        if online is not None and parse_cpuset(online.strip()) != before.online:
            machine = replace(machine, cpus=live_machine(devices=False).cpus)
        host = host_of(machine, _host_file(self.folder, machine), allowed=_allowed())
        self._host = replace(host, live=True, notes=before.notes)


class Outlook:
    """This machine for one who watches over the queue for all who wait: as nobody in particular sees it."""

    def __init__(self, folder: Path, book: Book) -> None:
        self._folder, self._book = folder, book
        self._session: Session | None = None
        self._until = 0.0

    def host(self) -> Host:
        """Half a minute old at most."""
        if self._session is None or time.monotonic() > self._until:
            self._session = open_session(self._folder, _tell_nobody, quiet=True)
            self._until = time.monotonic() + _FRESH_SECONDS
        return replace(self._session.host, allowed_cpus=None, allowed_mems=None)

    def host_now(self, queue: Sequence[QueuePlace]) -> Host:
        """As it is now, after a look around, with what is really in use: one of these is about to start."""
        self.host()
        assert self._session is not None
        self._session.read_anew()
        host = self.host()
        look_around(self._book, host, _tell_nobody)
        gpus = sum(place.request.devices.get(NVIDIA, 0) for place in queue)
        wanted = JobRequest(memory=1, devices={NVIDIA: gpus}) if gpus else JobRequest(memory=1)
        return looked_at(host, wanted) if any(place.request.holds for place in queue) else host


def _tell_nobody(_: str) -> None:
    """What is done for others stands in the history."""


def open_session(
    chosen: Path | None, warn: Warn, *, devices: bool = True, quiet: bool = False, pool: bool = False
) -> Session:
    """Without `devices` the drivers are not asked, which is quicker. A user whose ledger knows of nobody else is told,
    unless it is to be `quiet`. Nothing is made. `pool`: nothing but where shared work may run will be asked of the
    host; it is read when that is asked, and without `host.yaml`."""
    folder = ledger_folder(chosen)
    if not quiet and is_private(chosen):
        warn(NOT_SHARED)

    def read() -> Host:
        machine = live_machine(devices=devices and not pool)
        file = HostFile() if pool else _host_file(folder, machine)
        return replace(host_of(machine, file, allowed=_allowed()), live=True)

    return Session(read if pool else read(), folder, warn)


def glance_at(chosen: Path | None, *, history: int = 0) -> "tuple[Host, Glance]":
    """What can be known of this host where its ledger cannot be written."""
    # Few ledgers are like that.
    from numafit.host.book.glance import glance

    folder: Path | None = None
    with suppress(NoLedgerError):
        folder = ledger_folder(chosen, reading=True)
    machine = live_machine()
    file = _host_file(folder, machine) if folder is not None else HostFile()
    host = replace(host_of(machine, file, allowed=_allowed()), live=True)
    return host, glance(folder, _live_containers, history)


def has_ledger(folder: Path) -> bool:
    """Whether there is one, or was one that jobs still tell of: who only reads makes none."""
    if os.path.exists(folder / FILE) or os.path.exists(folder / LOCK):
        return True
    if os.path.isdir(folder) and not os.access(folder, os.X_OK):
        # What may not be looked at could be there.
        return True
    from numafit.host.book.rebuild import running_leases

    return bool(running_leases(ledger=folder, named=True))


def open_book(folder: Path, warn: Warn) -> Book:
    return Book.open(folder, _live_containers, warn)


def host_with(folder: Path, machine: Machine) -> Host:
    """This machine with what its administrator keeps back; of what the caller may use nothing is said."""
    return host_of(machine, _host_file(folder, machine))


def _allowed() -> tuple[int, int]:
    found = let_out(Target(*allowed_now()))
    return found.cpus, found.mems


def _host_file(folder: Path, machine: Machine) -> HostFile:
    """Most hosts have no such file or one of comments only, and a command starts quicker without YAML."""
    try:
        lines = (folder / "host.yaml").read_bytes().splitlines()
        if all(line.lstrip()[:1] in (b"", b"#") for line in lines):
            return HostFile()
    except OSError:
        # Who may not look into the folder is told so when he opens the ledger.
        if not os.path.exists(folder / "host.yaml"):
            return HostFile()
    from numafit.host.host_file import read_host_file

    return read_host_file(folder, machine)


def look_around(book: Book, host: Host, warn: Warn) -> None:
    """What happened to leases behind the ledger's back, before somebody counts on it: containers that were started
    again get back what they are pinned to, or are moved, and so are jobs whose CPUs went offline. Each is told.
    `host` must have been read just now."""
    reenter_containers(book, host, warn)
    # CPUs of a machine that lost them altogether are listed nowhere but in leases.
    if book.transact(lambda tx: tx.held_cpus()) & ~host.online:
        from numafit.host.book.moves import mend

        for sentence in mend(book, host):
            warn(sentence)


def reenter_containers(book: Book, host: Host, warn: Warn) -> None:
    """Of Docker and of this user's Podman."""
    if not _has_containers():
        return
    # Nearly always nothing came back, and to see that takes a millisecond.
    from numafit.host.docker.look import engine_socket, leased_containers, podman_containers, podman_folder

    path = engine_socket(os.environ)
    running = leased_containers(path) if path else []
    of_podman = podman_containers() if podman_folder(os.geteuid()).exists() else []
    known = {(lease.id, lease.container) for lease in book.leases()} if running or of_podman else set()
    docker, podman = path is None or not known.issuperset(running), not known.issuperset(of_podman)
    if not docker and not podman:
        return
    from numafit.host.book.strays import reenter, stray_text
    from numafit.host.docker.engine import engine_address, local_podman

    addresses = [engine_address()] if docker else []
    for address in [*addresses, *([local_podman()] if podman else [])]:
        for stray in reenter(book, host, address):
            warn(stray_text(stray))


def _has_containers() -> bool:
    """Whether there is any sign of Docker or Podman for this user."""
    user = os.geteuid()
    signs = ("/var/run/docker.sock", os.path.expanduser("~/.docker/config.json"), f"/run/user/{user}/libpod")
    if "DOCKER_HOST" in os.environ or "DOCKER_CONTEXT" in os.environ or "DOCKER_CONFIG" in os.environ:
        return True
    return any(map(os.path.exists, (*signs, *(() if user else ("/run/libpod",)))))


def _live_containers(leases: Sequence[Lease]) -> LiveContainers | None:
    # Asked for only when a container holds a lease.
    from numafit.host.docker.containers import live_containers

    return live_containers(leases)
