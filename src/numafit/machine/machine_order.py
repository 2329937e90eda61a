"""The orders of CPUs that have a name; the machine file names one instead of listing all CPUs."""

from collections.abc import Callable, Sequence

from numafit.machine.model import Cpu, NumaNode

Cpus = Sequence[Cpu]
Order = Callable[[Cpus, Sequence[NumaNode]], list[Cpu]]


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


def _core_by_core(order: Order) -> Order:
    """As `order`, but all threads of a core come with its first one."""

    def ordered(cpus: Cpus, nodes: Sequence[NumaNode]) -> list[Cpu]:
        cores: dict[tuple[int, int, int], list[Cpu]] = {}
        for cpu in order(cpus, nodes):
            cores.setdefault((cpu.numa, cpu.socket, cpu.core), []).append(cpu)
        return [cpu for threads in cores.values() for cpu in threads]

    return ordered


ORDERS: dict[str, Order] = {
    "ascending": _ascending,
    "folders": _by_folder,
    "folders-by-core": _core_by_core(_by_folder),
    "nodes": _by_node,
    "nodes-by-core": _core_by_core(_by_node),
    "cores": _core_by_core(_ascending),
}
"""The first one is meant when a file names none."""
