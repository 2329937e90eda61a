"""The shared pool: the CPUs that nobody holds."""

from collections.abc import Mapping, Sequence

import msgspec

from numafit.bits import mask_of
from numafit.host.bind.target import PREFER
from numafit.host.host import Host
from numafit.host.lease import Lease, LeasePart
from numafit.host.request import JobRequest
from numafit.ledger.block import Block


class SharedPlace(msgspec.Struct, frozen=True):
    """Where a job goes that holds nothing: the engine would say the same of it."""

    request: JobRequest
    nodes: int
    mems: int
    bind: str
    exclusive: int = 0
    memory: tuple[Block, ...] = ()
    devices: Mapping[str, tuple[str, ...]] = {}
    shares: tuple[LeasePart, ...] = ()
    remarks: tuple[str, ...] = ()


def shared_place(host: Host, leases: Sequence[Lease], request: JobRequest) -> SharedPlace | None:
    """None: the engine must be asked, since the job holds something or there is no CPU for it."""
    if request.holds or request.ranks:
        return None
    host = host.within(request.on_nodes, holding=False)
    if not pool_of(host, leases) & host.usable_cpus:
        return None
    # These two policies of the kubelet name no nodes for who asks for nothing (1.36).
    unnamed = request.policy in ("none", "single-numa-node")
    nodes = 0 if unnamed else mask_of(node.id for node in host.machine.numa_nodes if not node.device)
    return SharedPlace(request, request.on_nodes or nodes, host.memory_nodes, request.bind or PREFER)


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


def split_cores(host: Host, leases: Sequence[Lease]) -> int:
    """CPUs that nobody holds, but whose core somebody does: a job that wants whole cores does not get them."""
    free = pool_of(host, leases)
    held = host.online & ~free
    split = 0
    for core in host.cores if held else ():
        if core & held:
            split |= core & free
    return split


def left_to_shared(pool: int, leases: Sequence[Lease], wanted: int) -> int:
    """Of the CPUs `wanted` out of the pool, those that must stay in it: shared work that may run on no others keeps
    one, the highest."""
    kept = 0
    for lease in leases:
        own = pool & (lease.allowed or pool)
        if lease.pooled and own and not own & ~wanted and not own & kept:
            kept |= 1 << own.bit_length() - 1
    return kept
