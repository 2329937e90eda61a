"""The CPUs as the kubelet's CPU manager sees them: sets of CPUs per core, uncore cache, socket and NUMA node.

Built once per machine and kubelet release. All sets are bit masks, all id lists ascend.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Protocol

import msgspec

from numafit.bits import members
from numafit.errors import KubeletError
from numafit.machine.model import Cpu, Machine


class TopologyError(KubeletError):
    """The kubelet cannot make a CPU topology of this machine."""


class DiscoveryRules(Protocol):
    """What the topology asks of a kubelet release."""

    @property
    def sockets_are_numa_nodes(self) -> bool: ...

    @property
    def cpu_uncore_default(self) -> bool: ...


class Part(msgspec.Struct, frozen=True):
    """A child inside a parent: a NUMA node of a socket, an uncore cache of a NUMA node, …"""

    id: int
    cpus: int
    """All CPUs of the child."""
    shared: int
    """Those of them that lie in the parent; fewer than `cpus` when the child spans several parents."""


class CpuTopology(msgspec.Struct, frozen=True):
    cpus: int
    """All CPUs that are online."""
    num_cpus: int
    num_sockets: int
    """As the release counts them; not always the number of entries in `sockets`."""
    num_numa_nodes: int
    """NUMA nodes with CPUs."""
    cpus_per_core: int
    """Quotients, rounded down, as everywhere in the kubelet: 24 CPUs on 16 cores make 1 CPU per core."""
    cpus_per_socket: int
    cpus_per_uncore: int

    numa_nodes: dict[int, int]
    """Id -> CPUs, for NUMA nodes with CPUs; likewise the next three."""
    sockets: dict[int, int]
    uncore_caches: dict[int, int]
    """Empty for releases that do not know uncore caches."""
    cores: dict[int, int]
    """Keyed by the kubelet's core id: the lowest CPU id among the core's threads."""

    cpu_socket: dict[int, int]
    """CPU id -> socket id; likewise the next one."""
    cpu_core: dict[int, int]

    numa_first: bool
    """NUMA nodes stand above sockets: there are at least as many sockets as NUMA nodes."""
    numa_sockets: dict[int, tuple[Part, ...]]
    """The sockets of each NUMA node; likewise the next two."""
    socket_numa_nodes: dict[int, tuple[Part, ...]]
    numa_uncore_caches: dict[int, tuple[Part, ...]]
    numa_cores: dict[int, tuple[int, ...]]
    """The CPU sets of a NUMA node's cores, by ascending core id; likewise the next two."""
    socket_cores: dict[int, tuple[int, ...]]
    uncore_cores: dict[int, tuple[int, ...]]

    core_size: int
    """Threads per core when all cores have equally many, else 0."""
    smallest_numa_node: int
    """Number of CPUs; likewise the next one."""
    smallest_socket: int

    def cpus_of_numa_nodes(self, numa_mask: int) -> int:
        cpus = 0
        for numa in members(numa_mask):
            cpus |= self.numa_nodes.get(numa, 0)
        return cpus

    def cpus_of_sockets_at(self, numa_mask: int) -> int:
        """The CPUs of all sockets that have a CPU on one of these NUMA nodes."""
        touched = self.cpus_of_numa_nodes(numa_mask)
        cpus = 0
        for socket in self.sockets.values():
            if socket & touched:
                cpus |= socket
        return cpus

    def with_siblings(self, cpus: int) -> int:
        """All threads of every core that has one of these CPUs; raises for a CPU that is not there."""
        siblings = 0
        for cpu in members(cpus):
            core = self.cpu_core.get(cpu)
            if core is None:
                raise TopologyError(f"unknown CPU ID: {cpu}")
            siblings |= self.cores[core]
        return siblings


def cpu_topology(machine: Machine, rules: DiscoveryRules) -> CpuTopology:
    sockets = len(machine.numa_nodes) if rules.sockets_are_numa_nodes else machine.sockets
    return _topology(machine.cpus, sockets, uncore_default=rules.cpu_uncore_default)


@lru_cache(maxsize=16)
def _topology(cpus: tuple[Cpu, ...], num_sockets: int | None, *, uncore_default: bool) -> CpuTopology:
    """A search for advice starts the same machine again and again."""
    online = [cpu for cpu in cpus if cpu.online]
    if not online:
        raise TopologyError("could not detect number of cpus")
    physical = _physical_cores(online)
    numa_nodes: dict[int, int] = {}
    sockets: dict[int, int] = {}
    uncore_caches: dict[int, int] = {}
    cores: dict[int, int] = {}
    for threads in physical:
        first = threads[0]
        mask = sum(1 << cpu.id for cpu in threads)
        _add(numa_nodes, first.numa, mask)
        _add(sockets, first.socket, mask)
        _add(cores, min(cpu.id for cpu in threads), mask)
        if uncore_default:
            _add(uncore_caches, first.socket if first.uncore_cache is None else first.uncore_cache, mask)
    numa_nodes, sockets, uncore_caches, cores = (
        dict(sorted(table.items())) for table in (numa_nodes, sockets, uncore_caches, cores)
    )

    if num_sockets is None:
        num_sockets = len(sockets)
    sizes = {mask.bit_count() for mask in cores.values()}
    return CpuTopology(
        cpus=sum(cores.values()),
        num_cpus=len(online),
        num_sockets=num_sockets,
        num_numa_nodes=len(numa_nodes),
        cpus_per_core=len(online) // len(physical),
        cpus_per_socket=len(online) // num_sockets if num_sockets else 0,
        cpus_per_uncore=len(online) // len(uncore_caches) if uncore_caches else 0,
        numa_nodes=numa_nodes,
        sockets=sockets,
        uncore_caches=uncore_caches,
        cores=cores,
        cpu_socket=_owner(sockets),
        cpu_core=_owner(cores),
        numa_first=num_sockets >= len(numa_nodes),
        numa_sockets=_parts(numa_nodes, sockets),
        socket_numa_nodes=_parts(sockets, numa_nodes),
        numa_uncore_caches=_parts(numa_nodes, uncore_caches),
        numa_cores=_inside(numa_nodes, cores),
        socket_cores=_inside(sockets, cores),
        uncore_cores=_inside(uncore_caches, cores),
        core_size=sizes.pop() if len(sizes) == 1 else 0,
        smallest_numa_node=min(mask.bit_count() for mask in numa_nodes.values()),
        smallest_socket=min(mask.bit_count() for mask in sockets.values()),
    )


def _physical_cores(cpus: Iterable[Cpu]) -> list[list[Cpu]]:
    """The threads that share NUMA node, socket and core, in the order met."""
    cores: dict[tuple[int, int, int], list[Cpu]] = {}
    seen: set[int] = set()
    for cpu in cpus:
        if cpu.id in seen:
            raise TopologyError("cpus provided are not unique")
        seen.add(cpu.id)
        cores.setdefault((cpu.numa, cpu.socket, cpu.core), []).append(cpu)
    return list(cores.values())


def _add(table: dict[int, int], key: int, cpus: int) -> None:
    table[key] = table.get(key, 0) | cpus


def _owner(table: Mapping[int, int]) -> dict[int, int]:
    return {cpu: key for key, cpus in table.items() for cpu in members(cpus)}


def _parts(parents: Mapping[int, int], children: Mapping[int, int]) -> dict[int, tuple[Part, ...]]:
    return {
        parent: tuple(Part(key, child, child & cpus) for key, child in children.items() if child & cpus)
        for parent, cpus in parents.items()
    }


def _inside(parents: Mapping[int, int], cores: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
    return {parent: tuple(core for core in cores.values() if core & cpus) for parent, cpus in parents.items()}
