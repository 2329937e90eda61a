"""What is done each minute on a host of many users: whatever no command came along to do."""

import os

from numafit.host.bind.ladder import remove_orphans
from numafit.host.book.book import Book
from numafit.host.lease import PENDING, Lease
from numafit.host.process.identity import is_alive
from numafit.host.run.ending import GRACE, cancel, now
from numafit.host.session import Session, look_around


def sweep(session: Session) -> None:
    """Frees leases of jobs that are gone, moves shared work, removes empty cgroups, and ends jobs whose time is over
    though the process that watched over them was killed. What it ended is told by `session.warn`."""
    with session.book() as book:
        look_around(book, session.host, session.warn)
        leases = book.leases(session.host)
        for lease in leases:
            if is_overdue(lease):
                _end(book, lease, session)
        remove_orphans([lease.id for lease in leases])


def is_overdue(lease: Lease) -> bool:
    """Whether its time is over and nobody is there to end it. It counts from the start of its first process, by the
    clock that goes on from boot."""
    if not lease.seconds or lease.container == PENDING:
        return False
    if len(lease.owners) < 2 or is_alive(lease.owners[0]) is not False:
        return False
    start = lease.owners[1].start / os.sysconf("SC_CLK_TCK")
    return now() > start + lease.seconds


def _end(book: Book, lease: Lease, session: Session) -> None:
    book.change(lease.id, lambda old: old, "expired")
    why = cancel(lease, GRACE)
    book.leases(session.host)
    session.warn(
        f"the time of lease {lease.label} is over: its job " + (f"is not ended: {why}" if why else "was ended")
    )
