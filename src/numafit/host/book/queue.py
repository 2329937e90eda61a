"""Taking a lease, or waiting for it."""

import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from numafit.errors import NumafitError
from numafit.host.book.bell import open_pipe, pipe_path, try_watch
from numafit.host.book.book import Book
from numafit.host.book.serve import HostNow
from numafit.host.book.tables import Transaction
from numafit.host.book.watch import Watcher
from numafit.host.grant import Owner, QueuePlace, Refused
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.process.identity import PROC, is_alive
from numafit.host.request import JobRequest
from numafit.host.wake.foreseen import Foreseen
from numafit.host.wake.words import GO, LOST, OVER, START

TRY_SECONDS = 1.0
"""Between two looks whether somebody watches, as long as nobody said so."""


class Ticket(msgspec.Struct, frozen=True):
    """A place in the queue, and the pipe on which its owner hears of it."""

    number: int
    path: Path
    pipe: int

    def heard(self, seconds: float) -> tuple[str, str] | None:
        """The next line, as its first word and the rest; None: nothing was said. An end is taken for nothing."""
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        events = poll.poll(seconds * 1000)
        if not any(event & select.POLLIN for _, event in events):
            return None
        line = b""
        while not line.endswith(b"\n"):
            try:
                more = os.read(self.pipe, 1)
            except BlockingIOError:
                break
            if not more:
                return None
            line += more
        word, _, rest = line.decode().strip().partition(" ")
        return word, rest


def take(book: Book, host: Host, request: JobRequest, owner: Owner, wait: float | None) -> Lease | Refused:
    """`wait`: seconds, or None not to wait. A place in the queue is given up however this ends. Who waits here watches
    over the queue himself, if nobody else does."""
    first = book.take(host, request, owner, quiet=wait is not None)
    if wait is None or isinstance(first, Lease):
        return first
    while True:
        ticket = enter(book, host, request, owner, wait)
        try:
            told = wait_here(book, lambda: host, ticket, owner)
        finally:
            leave(book, ticket)
        if isinstance(told, Lease):
            book.receive(told, owner)
        if not isinstance(told, str):
            return told


def enter(
    book: Book,
    host: Host,
    request: JobRequest,
    owner: Owner,
    wait: float,
    flags: int = os.O_RDWR,
    foreseen: Foreseen | None = None,
) -> Ticket:
    """A place in the queue for so many seconds."""
    until = None if wait == float("inf") else time.clock_gettime(time.CLOCK_BOOTTIME) + wait
    made: list[Ticket] = []

    def ready(number: int) -> None:
        path = pipe_path(book.folder, number, os.getpid())
        made.append(Ticket(number, path, open_pipe(path, flags)))

    book.enqueue(host, request, owner, until=until, ready=ready, foreseen=foreseen)
    return made[-1]


def leave(book: Book, ticket: Ticket) -> None:
    os.close(ticket.pipe)
    ticket.path.unlink(missing_ok=True)
    book.leave_queue(ticket.number)


def expel(book: Book, place: QueuePlace) -> str:
    """Ends the process that waits there, which loses its place; returns why that did not work. Of those who share a
    ledger each could write any number into it: only a process that has the pipe of this place open is ended."""
    for process in place.owner.processes[:1]:
        if is_alive(process) is False:
            continue
        if not _has_open(process.pid, pipe_path(book.folder, place.ticket, process.pid)):
            return "its process cannot be seen from here"
        try:
            os.kill(process.pid, signal.SIGTERM)
            # One that was stopped hears of it when it goes on.
            os.kill(process.pid, signal.SIGCONT)
        except ProcessLookupError:
            continue
        except PermissionError as error:
            return error.strerror or str(error)

    def run(tx: Transaction) -> None:
        tx.dequeue(place.ticket)
        data = {"request": place.request, "command": place.owner.command, "name": place.request.name}
        tx.note("cancelled", "", place.owner.user, {**data, "sentence": f"it waited for {place.request.words()}"})

    book.transact(run)
    return ""


def _has_open(pid: int, pipe: Path) -> bool:
    folder = PROC / str(pid) / "fd"
    try:
        # The kernel tells the place behind all links; the pipe itself may be none, since others could make it one.
        place = str(pipe.parent.resolve() / pipe.name)
        return any(os.readlink(folder / name) == place for name in os.listdir(folder))
    except OSError:
        return False


def wait_here(
    book: Book, host: Callable[[], Host], ticket: Ticket, owner: Owner, host_now: HostNow | None = None
) -> Lease | Refused | str:
    """A word that is neither of them: the place is lost."""
    while True:
        lock = try_watch(book.folder)
        if lock is not None:
            watcher = Watcher(book, book.folder, lock, host, host_now)
            try:
                watcher.until_left(ticket.number)
            finally:
                watcher.close()
        while (heard := ticket.heard(0.0 if lock is not None else TRY_SECONDS)) is not None:
            answer = answered(book, owner, *heard)
            if answer is not None:
                return answer


def answered(book: Book, owner: Owner, word: str, rest: str) -> Lease | Refused | str | None:
    """What was told, if it ends the waiting. Whoever may write the ledger may write the pipe: the lease of somebody
    else is none that was given here."""
    if word in (GO, START):
        lease_id = rest.partition(" ")[0]
        lease = book.lease(lease_id)
        if lease is None:
            raise NumafitError(f"the lease {lease_id} was released before the command could start")
        return lease if set(owner.processes) & set(lease.owners) else None
    if word == OVER:
        return Refused(why=rest)
    return LOST if word == LOST else None
