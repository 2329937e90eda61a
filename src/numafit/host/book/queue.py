"""Taking a lease, or waiting for it in the order of coming."""

import time

from numafit.host.book.book import Book
from numafit.host.grant import Owner, Refused
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.request import JobRequest

SHORTEST, LONGEST = 0.02, 0.5
"""Seconds between two looks at the ledger; they grow while one waits."""


def take(book: Book, host: Host, request: JobRequest, owner: Owner, wait: float | None) -> Lease | Refused:
    """`wait`: seconds, or None not to wait. A place in the queue is given up however this ends."""
    first = book.take(host, request, owner, quiet=wait is not None)
    if wait is None or isinstance(first, Lease):
        return first
    end = time.monotonic() + wait
    ticket = book.enqueue(host, request, owner)
    taken: Lease | Refused = first
    pause, last = SHORTEST, False
    try:
        while not isinstance(taken, Lease) and not last:
            time.sleep(max(0.0, min(pause, end - time.monotonic())))
            pause = min(pause * 1.5, LONGEST)
            # The history tells of one refusal, the last one.
            last = time.monotonic() >= end
            taken = book.take(host, request, owner, ticket=ticket, quiet=not last)
        return taken
    finally:
        if not isinstance(taken, Lease):
            book.leave_queue(ticket)
