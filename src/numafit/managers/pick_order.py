"""In which order the kubelet (since 1.22) looks at NUMA nodes, sockets, caches and cores.

Everything is sorted by the number of free CPUs, ties by id, inside the order of what stands above it. Only what has a
free CPU appears. What lies in two parents appears twice, as in the kubelet.
"""

from collections.abc import Iterable, Mapping

from numafit.machine.topology import CpuTopology, Part
from numafit.settings.versions import Behaviour

Cores = tuple[int, ...]
"""The CPU sets of some cores, by ascending core id."""


def _by_free(sets: Mapping[int, int], free: int) -> list[int]:
    ranked = [((free & cpus).bit_count(), key) for key, cpus in sets.items() if free & cpus]
    ranked.sort()
    return [key for _, key in ranked]


def _parts_by_free(parts: Iterable[Part], free: int) -> list[int]:
    """By free CPUs in the whole part; a part counts as present if it has a free CPU inside the parent."""
    ranked = [((free & part.cpus).bit_count(), part.id) for part in parts if free & part.shared]
    ranked.sort()
    return [key for _, key in ranked]


def numa_order(topology: CpuTopology, free: int) -> list[int]:
    if topology.numa_first:
        return _by_free(topology.numa_nodes, free)
    inside = topology.socket_numa_nodes
    return [numa for socket in _by_free(topology.sockets, free) for numa in _parts_by_free(inside[socket], free)]


def socket_order(topology: CpuTopology, behaviour: Behaviour, free: int) -> list[int]:
    if behaviour.cpu_sort == "sockets" or not topology.numa_first:
        return _by_free(topology.sockets, free)
    inside = topology.numa_sockets
    return [socket for numa in _by_free(topology.numa_nodes, free) for socket in _parts_by_free(inside[numa], free)]


def uncore_order(topology: CpuTopology, free: int) -> list[int]:
    inside = topology.numa_uncore_caches
    return [uncore for numa in numa_order(topology, free) for uncore in _parts_by_free(inside[numa], free)]


def core_groups(topology: CpuTopology, behaviour: Behaviour, free: int) -> list[Cores]:
    """The cores of each socket or NUMA node, whichever stands directly above cores; the groups in their order.

    Inside a group the kubelet sorts by free CPUs, ties by core id; that is left to the caller, who seldom needs all of
    it.
    """
    if behaviour.cpu_sort == "sockets" or topology.numa_first:
        return [topology.socket_cores[socket] for socket in socket_order(topology, behaviour, free)]
    return [topology.numa_cores[numa] for numa in numa_order(topology, free)]
