"""The shared pool: the CPUs that nobody holds."""

from collections.abc import Sequence

from numafit.host.host import Host
from numafit.host.lease import Lease


def pool_of(host: Host, leases: Sequence[Lease]) -> int:
    """All CPUs that are online and not held, the reserved ones among them."""
    held = 0
    for lease in leases:
        held |= lease.exclusive
    return host.online & ~held


def shared_cpus(host: Host, leases: Sequence[Lease], lease: Lease) -> int:
    """Where a lease of the pool may run: on the CPUs of its NUMA nodes while there are any; 0 when there is no pool."""
    pool = pool_of(host, leases)
    if lease.allowed and pool & lease.allowed:
        pool &= lease.allowed
    near = 0
    for cpu in host.machine.cpus:
        if lease.nodes >> cpu.numa & 1:
            near |= 1 << cpu.id
    return pool & near or pool


def left_to_shared(pool: int, leases: Sequence[Lease], wanted: int) -> int:
    """Of the CPUs `wanted` out of the pool, those that must stay in it: shared work that may run on no others keeps
    one, the highest."""
    kept = 0
    for lease in leases:
        own = pool & (lease.allowed or pool)
        if lease.pooled and own and not own & ~wanted and not own & kept:
            kept |= 1 << own.bit_length() - 1
    return kept
