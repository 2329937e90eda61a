"""A lease as it would be: placed and judged like a real one, and not taken."""

from collections.abc import Sequence

import msgspec

from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.place import Placed
from numafit.host.pool import shared_cpus
from numafit.host.refusal import Refused, granted
from numafit.host.request import Request


class Planned(msgspec.Struct, frozen=True):
    placed: Placed
    lease: Lease
    """Without an id, an owner and times that mean anything."""
    cpus: int
    """Its own, or those of the shared pool."""


def planned(host: Host, leases: Sequence[Lease], request: Request) -> Planned | Refused:
    """Who waits in the queue is not asked."""
    placed = granted(host, leases, request)
    if isinstance(placed, Refused):
        return placed
    lease = Lease(
        f"planned-{len(leases)}",
        request.name,
        0,
        "",
        0.0,
        exclusive=placed.exclusive,
        nodes=placed.nodes,
        mems=placed.mems,
        memory=placed.memory,
        devices=placed.devices,
        allowed=host.allowed_cpus or 0,
    )
    return Planned(placed, lease, lease.exclusive or shared_cpus(host, leases, lease))
