"""The shared pool: the CPUs that nobody holds, and the work that follows them when they change."""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.process import descendants, is_alive
from numafit.host.target import Target


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


def moved(host: Host, leases: Sequence[Lease], lease: Lease) -> Lease | None:
    """The lease after its processes were moved to the pool; None when they are there, or could not be moved.

    With an empty pool they stay where they are: there is no better place.
    """
    from numafit.host.binding import rebind

    cpus = shared_cpus(host, leases, lease)
    if cpus in (0, lease.bound):
        return None
    if lease.container:
        from numafit.host.docker import repinned

        return repinned(lease, cpus)
    target = Target(cpus, 0)
    bound = rebind(lease.id, lease.rung, lease.cgroup, _processes(lease), target)
    if isinstance(bound, str):
        return None
    return replace(lease, bound=bound.cpus)


def _processes(lease: Lease) -> list[int]:
    """The job without the process that watches over it: the first owner."""
    pids: dict[int, None] = {}
    for owner in lease.owners[1:]:
        if is_alive(owner):
            pids[owner.pid] = None
            pids.update(dict.fromkeys(descendants(owner.pid)))
    return list(pids)
