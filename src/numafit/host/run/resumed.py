"""What a process that has waited comes back with: its place in the queue, what it was told, and its environment."""

import os
import stat

import msgspec

from numafit.errors import NumafitError
from numafit.host.book.book import Book
from numafit.host.grant import Owner
from numafit.host.lease import Lease
from numafit.host.wake.kept import kept
from numafit.host.wake.words import GO, RUNNING, VARIABLE


class RunningChild(msgspec.Struct, frozen=True):
    """A command that `wake` has started in a child of this process."""

    pid: int
    said: int
    """The descriptor on which it tells why it could not be executed."""
    signal: int = 0
    """What was heard since, with its code and its sender; 0: nothing."""
    code: int = 0
    sender: int = 0


class Resumed(msgspec.Struct, frozen=True):
    ticket: int
    word: str
    rest: str = ""
    """The lease, where there is one."""
    child: RunningChild | None = None

    @property
    def has_lease(self) -> bool:
        """Nothing need be looked for any more."""
        return self.word in (GO, RUNNING)


def resumed() -> Resumed | None:
    """None: it has not waited. The environment is what it was before: the variable is gone, and what shells change is
    as the user had it."""
    text = os.environ.pop(VARIABLE, None)
    if text is None:
        return None
    try:
        ticket, file, word, *rest = text.split()
        number = int(ticket)
        environment, _ = kept(int(file))
        child = None
        if word == RUNNING:
            lease, *numbers = rest
            rest, child = [lease], RunningChild(*map(int, numbers))
            _check(child)
        os.close(int(file))
    except (ValueError, TypeError, OSError):
        # Somebody else's variable.
        return None
    os.environb.clear()
    for name, value in environment.items():
        os.environb[name] = value
    return Resumed(number, word, " ".join(rest), child)


def _check(child: RunningChild) -> None:
    """Signals are passed on to it: it must be a child of this process, and the rest what `wake` hands on. Raises
    `ValueError` or `OSError`."""
    if child.pid <= 1 or not stat.S_ISFIFO(os.fstat(child.said).st_mode):
        raise ValueError("another process")
    # The kernel knows no child of that number otherwise; one that has ended is left as it is.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def lease_given(book: Book, back: Resumed, owner: Owner) -> Lease:
    lease = book.lease(back.rest)
    if lease is None or not set(lease.owners) & set(owner.processes):
        raise NumafitError(f"the lease {back.rest} was released before the command could start")
    book.receive(lease, owner)
    return lease
