"""One look at the queue: whose time is over, who starts, who waits on, in one transaction."""

import os
import time
from collections.abc import Callable, Sequence

import msgspec

from numafit.host.backfill import in_order, seen_by, turns
from numafit.host.book.book import Book
from numafit.host.book.line import places
from numafit.host.book.tables import Transaction
from numafit.host.grant import QueuePlace, Refused, sentence_of
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.pool import shared_cpus
from numafit.host.process.identity import PROC, ProcessId, read_stat

HostNow = Callable[[Sequence[QueuePlace]], Host]
"""The host as it is now, with what is really in use of it: asked when one of these may start."""

MOST = 8
"""So many start in one transaction: the first ones need not wait for the last."""


class QueueLook(msgspec.Struct, frozen=True):
    given: Sequence[tuple[QueuePlace, Lease, int]] = ()
    """With the lease, and the CPUs that its command is to be bound to."""
    over: Sequence[tuple[QueuePlace, str]] = ()
    """With why there is no lease."""
    waiting: Sequence[QueuePlace] = ()
    owners: frozenset[ProcessId] = frozenset()
    """Whose end may make room."""
    due: float = float("inf")
    """When to look again if nothing happens, on CLOCK_BOOTTIME."""
    state: bytes = b""
    """The same as before: nobody need be asked again."""


def serve(
    book: Book, host: Host, before: bytes = b"", most: int = MOST, *, host_now: HostNow | None = None
) -> QueueLook:
    """`before` is the state of the last look. `host` has all devices, and is that of no user in particular. By it is
    seen whether anybody may start at all; who does goes where `host_now` has room, which is asked between two
    transactions. None: `host` is as good."""
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    hopeful: list[QueuePlace] = []

    def run(tx: Transaction, host: Host, *, certain: bool) -> QueueLook | None:
        leases = book.swept(tx, None)
        queue = in_order(places(tx))
        over = [place for place in queue if place.until is not None and place.until <= now]
        # One that was stopped by Ctrl-Z could not start; it keeps its place.
        ended = {place.ticket for place in over}
        awake = [place for place in queue if place.ticket not in ended and not is_stopped(place)]
        state = _state(host, leases, awake)
        given: list[tuple[QueuePlace, Lease]] = []
        reasons: dict[int, str] = {}
        if state != before or over:
            for turn in turns(host, leases, [*awake, *over], now):
                if isinstance(turn.answer, Refused):
                    reasons[turn.place.ticket] = sentence_of(turn.answer)
                elif not certain:
                    hopeful[:] = [*awake, *over]
                    return None
                else:
                    lease = book.give(tx, seen_by(host, turn.place), leases, turn.answer, turn.place.owner)
                    leases.append(lease)
                    tx.dequeue(turn.place.ticket)
                    given.append((turn.place, lease))
                    if len(given) >= most and not over:
                        break
        over = [place for place in over if place.ticket in reasons]
        for place in over:
            tx.dequeue(place.ticket)
            tx.note("refused", "", place.owner.user, _refused(place, reasons[place.ticket]))
        gone = {place.ticket for place in (*over, *(place for place, _ in given))}
        waiting = [place for place in queue if place.ticket not in gone]
        return QueueLook(
            [(place, lease, lease.exclusive or shared_cpus(host, leases, lease)) for place, lease in given],
            [(place, reasons[place.ticket]) for place in over],
            waiting,
            frozenset(owner for lease in leases for owner in lease.owners),
            min((end for end in (*map(_end, waiting), *map(_end, leases)) if end is not None), default=float("inf")),
            # Who was not reached this time is asked again.
            b"" if given else state,
        )

    look = book.transact(lambda tx: run(tx, host, certain=host_now is None))
    if look is None and host_now is not None:
        found = host_now(hopeful)
        look = book.transact(lambda tx: run(tx, found, certain=True))
    assert look is not None
    return look


def _end(one: Lease | QueuePlace) -> float | None:
    return one.until


def _state(host: Host, leases: Sequence[Lease], queue: Sequence[QueuePlace]) -> bytes:
    """All that the rule of the queue looks at, but the time: as that goes on, nobody may start who might not before.
    Of the host, what may change while somebody waits."""
    held = [(lease.id, hex(lease.exclusive), lease.memory, lease.devices) for lease in leases]
    there = (hex(host.online), hex(host.reserved_cpus), host.reserved_memory, host.quotas)
    return msgspec.json.encode((there, held, [place.ticket for place in queue]))


def is_stopped(place: QueuePlace) -> bool:
    """No: it is not, or it cannot be seen from here."""
    own = os.stat("/proc/self/ns/pid").st_ino
    for process in place.owner.processes:
        if process.namespace != own:
            continue
        try:
            stat = read_stat(PROC / str(process.pid) / "stat")
        except OSError:
            continue
        if stat is not None and stat.state in "Tt":
            return True
    return False


def _refused(place: QueuePlace, reason: str) -> dict[str, object]:
    return {"request": place.request, "command": place.owner.command, "reason": "", "sentence": reason}
