"""Orders of CPUs, NUMA nodes and caches: the kubelet's, which lists folders, and those that a machine file can name."""

from collections.abc import Callable, Iterable, Sequence

from numafit.machine.model import Cache, Cpu, NumaNode

Cpus = Sequence[Cpu]
CpuOrder = Callable[[Cpus, Sequence[NumaNode]], list[Cpu]]


def _ascending(cpus: Cpus, _nodes: Sequence[NumaNode]) -> list[Cpu]:
    return sorted(cpus, key=lambda cpu: cpu.id)


def _by_folder(cpus: Cpus, nodes: Sequence[NumaNode]) -> list[Cpu]:
    """NUMA node after NUMA node, and cpu10 before cpu2: how the kubelet walks /sys. Offline CPUs, which it does not
    meet, ascend at the end."""
    place = {node.id: index for index, node in enumerate(nodes)}

    def key(cpu: Cpu) -> tuple[bool, int, int, str, int]:
        if not cpu.online:
            return True, 0, 0, "", cpu.id
        return False, place.get(cpu.numa, len(place)), cpu.numa, str(cpu.id), cpu.id

    return sorted(cpus, key=key)


def _by_node(cpus: Cpus, nodes: Sequence[NumaNode]) -> list[Cpu]:
    place = {node.id: index for index, node in enumerate(nodes)}
    return sorted(cpus, key=lambda cpu: (place.get(cpu.numa, len(place)), cpu.numa, cpu.id))


def _core_by_core(order: CpuOrder) -> CpuOrder:
    """As `order`, but all threads of a core come with its first one."""

    def ordered(cpus: Cpus, nodes: Sequence[NumaNode]) -> list[Cpu]:
        cores: dict[tuple[int, int, int], list[Cpu]] = {}
        for cpu in order(cpus, nodes):
            cores.setdefault((cpu.numa, cpu.socket, cpu.core), []).append(cpu)
        return [cpu for threads in cores.values() for cpu in threads]

    return ordered


ORDERS: dict[str, CpuOrder] = {
    "ascending": _ascending,
    "folders": _by_folder,
    "folders-by-core": _core_by_core(_by_folder),
    "nodes": _by_node,
    "nodes-by-core": _core_by_core(_by_node),
    "cores": _core_by_core(_ascending),
}
"""The first one is meant when a file names none."""


def in_kubelet_order(nodes: Iterable[NumaNode]) -> tuple[NumaNode, ...]:
    """Sorted by name: node10 stands before node2, because the kubelet lists a directory."""
    return tuple(sorted(nodes, key=lambda node: str(node.id)))


def cpus_in_kubelet_order(cpus: Iterable[Cpu]) -> list[Cpu]:
    """Node after node, cpu10 before cpu2, because the kubelet lists directories; then those offline, ascending."""
    cpus = list(cpus)
    online = sorted((cpu for cpu in cpus if cpu.online), key=lambda cpu: (str(cpu.numa), str(cpu.id)))
    return online + sorted((cpu for cpu in cpus if not cpu.online), key=lambda cpu: cpu.id)


def in_cache_order(caches: Iterable[Cache]) -> tuple[Cache, ...]:
    """By level, then data before instruction, then the lowest CPU."""
    return tuple(sorted(caches, key=lambda cache: (cache.level, cache.kind, cache.cpus & -cache.cpus, cache.id or 0)))
