"""The queue inside a transaction: who waits, and the lease that one of them gets."""

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from numafit.host.book.tables import Transaction
from numafit.host.grant import Owner, QueuePlace, Refused, granted_to, sentence_about
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.pool import SharedPlace
from numafit.host.process.identity import Liveness
from numafit.host.quota import group_of
from numafit.host.request import JobRequest

if TYPE_CHECKING:
    from numafit.host.place import Placed


OTHERS_WAIT = "it would be free, but others wait before it"


def places(tx: Transaction) -> list[QueuePlace]:
    """Those that still wait, in the order of coming; the places of processes that are gone are given up."""
    found = []
    liveness = Liveness()
    for waiting in tx.waiting():
        try:
            place = msgspec.json.decode(waiting.data, type=QueuePlace)
        except ValueError:
            # Nobody can tell whose it was; he is told that it is lost, and comes again.
            tx.dequeue(waiting.ticket)
            continue
        if all(liveness.is_alive(process) is False for process in place.owner.processes):
            tx.dequeue(waiting.ticket)
        else:
            found.append(replace(place, ticket=waiting.ticket))
    return found


def lease_of(placed: "Placed | SharedPlace", owner: Owner, host: Host, taken: set[str]) -> Lease:
    lease_id = os.urandom(4).hex()
    while lease_id in taken:
        lease_id = os.urandom(4).hex()
    return Lease(
        id=lease_id,
        name=placed.request.name,
        uid=owner.uid,
        user=owner.user,
        since=time.time(),
        command=owner.command,
        policy=placed.request.policy,
        exclusive=placed.exclusive,
        nodes=placed.nodes,
        mems=placed.mems,
        memory=placed.memory,
        devices=placed.devices,
        owners=owner.processes,
        container=owner.container,
        allowed=host.within(placed.request.on_nodes, holding=False).allowed_cpus or 0,
        until=owner.until,
        boot=owner.boot,
        sentence=sentence_about(placed),
        remarks=placed.remarks,
        bind=placed.bind,
        limit_memory=placed.request.limit_memory,
        shares=placed.shares,
        priority=placed.request.priority,
        seconds=placed.request.seconds,
        group=group_of(host.quotas, owner.uid),
    )


def behind(host: Host, leases: Sequence[Lease], request: JobRequest, owner: Owner) -> Refused:
    """What one lacks who will wait behind others, by what is held now; who of them starts first is not asked."""
    answer = granted_to(host, leases, request, owner)
    return answer if isinstance(answer, Refused) else Refused(why=OTHERS_WAIT)


def in_turn(
    host: Host, leases: Sequence[Lease], queue: Sequence[QueuePlace], own: QueuePlace, placed: "Placed"
) -> "Placed | Refused":
    """Where it goes if those before it in the queue are asked first; `placed` is where it would go without them."""
    if all(other.ticket == own.ticket for other in queue):
        return placed
    # Few jobs come while others wait, and the others start quicker without.
    from numafit.host.backfill import LAST, turns

    others = [other for other in queue if other.ticket != own.ticket]
    own = replace(own, ticket=own.ticket or LAST)
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    return next(turn.answer for turn in turns(host, leases, [*others, own], now) if turn.place is own)
