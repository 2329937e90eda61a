"""Waiting for a lease in a process that weighs nothing.

A Python with all of numafit loaded takes some 30 MB, and an empty one 3; a hundred that wait would fill a gigabyte. So
who waits becomes a small shell, by exec: same process, same terminal, same standard streams. The shell reads one line
from the pipe of its place in the queue, and becomes numafit again, with the words it was started with. Environment and
umask of the user come through: the shell may change variables, so they lie in a file without a name meanwhile.

One process watches for all that wait. It is a child of the first one, and ends with his waiting; then another's child
takes over. So nothing runs that does not belong to a command that somebody has started.
"""

import fcntl
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from numafit.errors import NumafitError
from numafit.host import wake
from numafit.host.book.bell import open_pipe, pipe_path, try_watch
from numafit.host.book.book import Book
from numafit.host.book.queue import TRY_SECONDS, Ticket, answered, enter, leave, wait_here
from numafit.host.book.watch import LOOK_SECONDS, Watcher
from numafit.host.environment import LEASE
from numafit.host.grant import Owner, Refused
from numafit.host.lease import Lease
from numafit.host.request import JobRequest
from numafit.host.run.asked import StartAsked
from numafit.host.run.prepare import Prepared, prepared
from numafit.host.session import Outlook, Session, open_book
from numafit.host.wake.kept import keep
from numafit.host.wake.words import HELLO, LOST, OVER, VARIABLE

SHELL = "/bin/sh"
WAKE = os.path.join(os.path.dirname(wake.__file__), "__main__.py")
"""What starts a job that has waited and needs nothing but the usual."""
PATIENCE = 5.0
"""Seconds after which a watcher that does not answer (it was stopped) is helped by another one."""
FURTHER_LOOKS = 32
"""For those behind the one for whose sake it watches; some start by each."""
PAUSE = 0.02
"""Seconds between two looks for a watcher that begins."""
_LAST_DIGIT = 9
"""Shells know descriptors of one digit."""

_SCRIPT = """\
trap 'exit 130' INT
wake=$1; shift
while read -r word rest <&PIPE && [ "$word" = hello ]; do :; done
trap - INT
case $word in
  go|start|over|lead) ;;
  *) word=lost rest= ;;
esac
NUMAFIT_QUEUE="$NUMAFIT_QUEUE $word $rest"
export NUMAFIT_QUEUE
if [ "$word" = start ]; then exec "$1" -S "$wake" PIPE "$@"; fi
exec PIPE<&-
exec "$@"
"""
"""Whoever may write the ledger may write the pipe: of what comes through it only the words of a watcher are handed on,
and nothing is printed or run."""


def take(
    session: Session,
    book: Book,
    request: JobRequest,
    owner: Owner,
    wait: float,
    *,
    place: int | None,
    tell: Callable[[Refused], None],
    asked: StartAsked | None = None,
) -> Lease | Refused:
    """`wait`: seconds. `place` is the ticket that it has already; without, `tell` is called when the waiting begins.
    May not return: the process begins anew when there is something to go on with, or, where it is `asked`, becomes what
    starts the command."""
    host = session.host
    ready: Prepared | None = None
    first: Lease | Refused = Refused()
    if place is None:
        first = book.take(host, request, owner, quiet=True)
    if isinstance(first, Lease):
        return first
    if asked is not None and _can_sleep():
        book.rest()
        ready = prepared(book, request, owner, asked, os.environ)
    foreseen = ready.foreseen if ready is not None else None
    if place is None:
        ticket = enter(book, host, request, owner, wait, os.O_RDONLY, foreseen)
        tell(first)
    else:
        path = pipe_path(book.folder, place, os.getpid())
        ticket = Ticket(place, path, open_pipe(path, os.O_RDONLY))
    while True:
        try:
            answer = _waited(session, book, ticket, owner, ready)
        finally:
            leave(book, ticket)
        if isinstance(answer, Lease):
            book.receive(answer, owner)
        if not isinstance(answer, str):
            return answer
        ticket = enter(book, host, request, owner, wait, os.O_RDONLY, foreseen)


def _waited(
    session: Session, book: Book, ticket: Ticket, owner: Owner, ready: Prepared | None
) -> Lease | Refused | str:
    """Asleep, or here where that cannot be. A word: the place is lost."""
    end = time.monotonic() + PATIENCE
    while _can_sleep() and book.is_waiting(ticket.number):
        lock = try_watch(session.folder)
        if lock is not None or time.monotonic() > end:
            book.rest()
            _start_watcher(session.folder, ticket.number, -1 if lock is None else lock)
            end = time.monotonic() + PATIENCE
        if lock is not None:
            os.close(lock)
        heard = ticket.heard(TRY_SECONDS)
        if heard is None:
            # Nobody watches yet, or no longer: a pipe without a writer does not make one wait.
            time.sleep(PAUSE)
        elif heard[0] == HELLO:
            _sleep(ticket, ready)
            break
        elif (answer := answered(book, owner, *heard)) is not None:
            return answer
    if not book.is_waiting(ticket.number):
        return _settled(book, ticket, owner)
    here = Ticket(ticket.number, ticket.path, open_pipe(ticket.path))
    try:
        outlook = Outlook(session.folder, book)
        return wait_here(book, outlook.host, here, owner, outlook.host_now)
    finally:
        os.close(here.pipe)


def _settled(book: Book, ticket: Ticket, owner: Owner) -> Lease | Refused | str:
    """Of one who has no place any more. What he was told may be lost, by whoever spoke on his pipe meanwhile or was
    killed; the ledger knows his lease. The one that he runs under himself is not it."""
    ours, outer = set(owner.processes), os.environ.get(LEASE)
    given = next((lease for lease in book.leases() if ours & set(lease.owners) and lease.id != outer), None)
    if given is not None:
        return given
    heard = ticket.heard(0.0)
    return Refused(why=heard[1]) if heard is not None and heard[0] == OVER else LOST


# The watcher


def _start_watcher(folder: Path, ticket: int, lock: int) -> None:
    """In a process that nobody need wait for, with nothing of the caller's open."""
    sys.stdout.flush()
    sys.stderr.flush()
    middle = os.fork()
    if middle:
        # Where the caller ignores SIGCHLD there is no status, but it has ended as well.
        with suppress(ChildProcessError):
            os.waitpid(middle, 0)
        return
    try:
        os.setsid()
        if not os.fork():
            _watch(folder, ticket, lock)
    finally:
        os._exit(0)


def _watch(folder: Path, ticket: int, lock: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    kept = lock if lock in (-1, 3) else os.dup2(lock, 3, inheritable=False)
    os.closerange(4 if kept == 3 else 3, 1 << 16)
    os.chdir("/")
    with open_book(folder, lambda _: None) as book:
        outlook = Outlook(folder, book)
        watcher = Watcher(book, folder, kept, outlook.host, outlook.host_now)
        while not _is_left(watcher, ticket):
            time.sleep(LOOK_SECONDS)
        watcher.hand_over()
        watcher.close()


def _is_left(watcher: Watcher, ticket: int) -> bool:
    """A disk that is full now may have room later, and others wait for this process."""
    try:
        watcher.until_left(ticket, FURTHER_LOOKS)
    except NumafitError:
        return False
    return True


# The shell


def _can_sleep() -> bool:
    """Whether this process is a command that can be started again with its own words."""
    program = Path(sys.argv[0])
    known = program.name == "numafit" or program.parts[-2:] == ("numafit", "__main__.py")
    return known and bool(sys.executable and sys.orig_argv) and os.access(SHELL, os.X_OK)


def _sleep(ticket: Ticket, ready: Prepared | None) -> None:
    """Returns only where it cannot be."""
    pipe = fcntl.fcntl(ticket.pipe, fcntl.F_DUPFD, 3)
    if pipe > _LAST_DIGIT:
        os.close(pipe)
        return
    os.set_blocking(pipe, True)
    kept = keep(dict(os.environb), ready.plan if ready is not None else None)
    if ready is not None and ready.commands >= 0:
        os.set_inheritable(ready.commands, True)
    words = [sys.executable, *sys.orig_argv[1:]]
    sys.stdout.flush()
    sys.stderr.flush()
    environment = {**os.environ, VARIABLE: f"{ticket.number} {kept}"}
    try:
        os.execve(SHELL, ["sh", "-c", _SCRIPT.replace("PIPE", str(pipe)), "numafit", WAKE, *words], environment)
    except OSError:
        # Words and variables that just fit into one program with a few more do not.
        os.close(kept)
        os.close(pipe)
        if ready is not None and ready.commands >= 0:
            os.set_inheritable(ready.commands, False)
