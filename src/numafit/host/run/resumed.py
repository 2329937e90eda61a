"""What a process that has waited comes back with: its place in the queue, what it was told, and its environment."""

import os

import msgspec

from numafit.errors import NumafitError
from numafit.host.book.bell import GO
from numafit.host.book.book import Book
from numafit.host.grant import Owner
from numafit.host.lease import Lease

VARIABLE = "NUMAFIT_QUEUE"
"""Ticket, descriptor of the environment, word and what belongs to it."""


class Resumed(msgspec.Struct, frozen=True):
    ticket: int
    word: str
    rest: str = ""


def has_lease() -> bool:
    """Whether this process was given its lease while it waited; nothing need be looked for any more."""
    return os.environ.get(VARIABLE, "").split()[2:3] == [GO]


def resumed() -> Resumed | None:
    """None: it has not waited. The environment is what it was before: the variable is gone, and what shells change is
    as the user had it."""
    text = os.environ.pop(VARIABLE, None)
    if text is None:
        return None
    try:
        ticket, kept, word, *rest = text.split()
        number = int(ticket)
        with os.fdopen(int(kept), "rb") as file:
            file.seek(0)
            lines = file.read().split(b"\0")
    except (ValueError, OSError):
        # Somebody else's variable.
        return None
    os.environb.clear()
    for line in lines:
        name, _, value = line.partition(b"=")
        os.environb[name] = value
    return Resumed(number, word, " ".join(rest))


def lease_given(book: Book, back: Resumed, owner: Owner) -> Lease:
    lease = book.lease(back.rest)
    if lease is None or not set(lease.owners) & set(owner.processes):
        raise NumafitError(f"the lease {back.rest} was released before the command could start")
    book.keep_command(lease, owner)
    return lease
