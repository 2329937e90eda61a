"""What nobody holds, per NUMA node, and the largest job that would still be aligned."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.place import ledger_of, node_of
from numafit.host.pool import left_to_shared, pool_of, split_cores
from numafit.host.request import JobRequest
from numafit.host.usage import MemoryUsage
from numafit.managers.ask import MEMORY
from numafit.managers.device.manager import free_devices

Devices = Mapping[str, tuple[str, ...]]


class NodeFree(msgspec.Struct, frozen=True):
    id: int
    cpus: int
    """Those that may be held exclusively, as a mask."""
    all_cpus: int
    memory: int
    all_memory: int
    """Bytes that jobs may hold."""
    devices: Devices = {}
    left: int = 0
    """CPUs among the free ones that a job does not get by itself: shared work could run nowhere else, or another job
    uses their core."""
    grouped: bool = False
    """Its memory is held together with that of other nodes: as the kubelet's memory manager has it, only jobs on the
    same nodes get more of it until then."""
    usage: MemoryUsage | None = None
    """What is really free; None: it was not looked at."""

    @property
    def to_give(self) -> int:
        """Bytes for a job on this node alone."""
        if self.grouped:
            return 0
        return self.memory if self.usage is None else min(self.memory, self.usage.available)


class HostFree(msgspec.Struct, frozen=True):
    nodes: tuple[NodeFree, ...]
    pool: int
    unplaced: Devices
    """Devices of no NUMA node, or of several."""

    @property
    def largest(self) -> NodeFree | None:
        """The NUMA node with the most to give to one job: devices first, then CPUs, then memory."""
        alone = [replace(node, cpus=node.cpus & ~node.left, memory=node.to_give) for node in self.nodes]
        giving = [node for node in alone if node.cpus or node.memory or any(node.devices.values())]
        if not self.pool:
            # Without CPUs of its own there is nothing that a job could run on.
            giving = [node for node in giving if node.cpus]
        return max(giving, key=_size, default=None)


def _size(node: NodeFree) -> tuple[int, int, int, int]:
    devices = sum(len(ids) for ids in node.devices.values())
    return (devices, node.cpus.bit_count(), node.memory, -node.id) if node.cpus else (0, 0, node.memory, -node.id)


def free_on(host: Host, leases: Sequence[Lease]) -> HostFree:
    # Memory counts as held only where the memory manager is on.
    node = node_of(host, JobRequest(memory=1))
    ledger = ledger_of(host, node, leases)
    free = node.cpu.available(ledger.cpu)
    places = {(device.resource, device.id): device.numa or () for device in host.machine.devices}
    by_node: dict[int, dict[str, tuple[str, ...]]] = {numa.id: {} for numa in host.machine.numa_nodes}
    unplaced: dict[str, tuple[str, ...]] = {}
    for resource in node.device.plugins:
        for device in sorted(free_devices(ledger.device, resource)):
            numa = places.get((resource, device), ())
            table = by_node[numa[0]] if len(numa) == 1 and numa[0] in by_node else unplaced
            table[resource] = (*table.get(resource, ()), device)
    pool = pool_of(host, leases)
    split = split_cores(host, leases)
    nodes = []
    for numa_node in host.machine.numa_nodes:
        cpus = node.cpu.topology.numa_nodes.get(numa_node.id, 0)
        held = ledger.memory.nodes[numa_node.id]
        table_of = held.tables.get(MEMORY)
        nodes.append(
            NodeFree(
                numa_node.id,
                free & cpus,
                cpus.bit_count(),
                table_of.free if table_of else 0,
                table_of.allocatable if table_of else 0,
                by_node[numa_node.id],
                left_to_shared(pool, leases, free & cpus) | split & free & cpus,
                len(held.cells) > 1,
                None if host.usage is None else host.usage.nodes.get(numa_node.id),
            )
        )
    return HostFree(tuple(nodes), pool, unplaced)
