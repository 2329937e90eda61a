"""The shares of the processes of one job: which CPUs and which memory node each of them gets, near its GPU.

Every process computes all shares from the same facts and takes its own, so that nobody has to ask anybody. Each NUMA
node deals its cores in runs of neighbours, as evenly as whole cores allow, to the processes whose GPU hangs on it. A
process whose node has no core left for it goes to the nearest node that has; the cores of a node without a process go
to those of the nearest node with one.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from numafit.bits import mask_of, members
from numafit.machine.model import Machine

Distance = Callable[[int, int], int]

_NEAR, _FAR = 10, 20
"""What the kernel says where nobody knows: 10 within a NUMA node, 20 between two."""


class RankShare(msgspec.Struct, frozen=True):
    rank: int
    gpu: str
    """The id of its GPU; empty when the job has none."""
    gpu_node: int | None
    """The NUMA node of the GPU, if known."""
    cpus: int
    memory_node: int | None
    """The node that its memory is asked from first; None: none is allowed that is known."""


def shares(
    machine: Machine, cpus: int, mems: int, gpus: Sequence[tuple[str, int | None]], size: int
) -> tuple[RankShare, ...]:
    """For `size` processes on these CPUs and memory nodes; process number n has GPU number n, counted around."""
    mine = [gpus[rank % len(gpus)] if gpus else ("", None) for rank in range(size)]
    distance = distances(machine)
    parts = partition(cores_by_node(machine, cpus), [node for _, node in mine], distance)
    return tuple(
        RankShare(rank, gpu, node, part, _memory_node(machine, part, mems, node, distance))
        for rank, ((gpu, node), part) in enumerate(zip(mine, parts, strict=True))
    )


def cores_by_node(machine: Machine, cpus: int) -> dict[int, list[int]]:
    """NUMA node -> what the CPUs have of each of its cores, neighbours in a cache side by side. CPUs that the machine
    does not tell of are cores of node 0."""
    cores: dict[tuple[int, int, int, int], int] = {}
    for cpu in machine.cpus:
        if cpus >> cpu.id & 1:
            key = (cpu.numa, cpu.socket, -1 if cpu.uncore_cache is None else cpu.uncore_cache, cpu.core)
            cores[key] = cores.get(key, 0) | 1 << cpu.id
    for cpu_id in members(cpus & ~mask_of(cpu.id for cpu in machine.cpus)):
        cores[0, -1, -1, -1 - cpu_id] = 1 << cpu_id
    nodes: dict[int, list[int]] = {}
    for (node, *_), mask in sorted(cores.items(), key=lambda item: (*item[0][:3], item[1] & -item[1])):
        nodes.setdefault(node, []).append(mask)
    return nodes


def distances(machine: Machine) -> Distance:
    ids = sorted(node.id for node in machine.numa_nodes)
    rows = {node.id: dict(zip(ids, node.distances, strict=False)) for node in machine.numa_nodes if node.distances}

    def distance(a: int, b: int) -> int:
        return rows.get(a, {}).get(b, _NEAR if a == b else _FAR)

    return distance


def partition(nodes: Mapping[int, Sequence[int]], wishes: Sequence[int | None], distance: Distance) -> list[int]:
    """The CPUs of each process. `nodes` are the cores of each NUMA node, `wishes` the node that each process would
    like, None where all are alike. Everything is used, nothing twice, and cores stay whole as long as there is one for
    each process; if there are not even CPUs enough, processes share them."""
    units = {node: list(cores) for node, cores in sorted(nodes.items()) if cores}
    if sum(map(len, units.values())) < len(wishes):
        units = {node: [1 << cpu for core in cores for cpu in members(core)] for node, cores in units.items()}
    single = [unit for cores in units.values() for unit in cores]
    if len(single) < len(wishes):
        return [single[rank % len(single)] if single else 0 for rank in range(len(wishes))]
    homes = _homes({node: len(cores) for node, cores in units.items()}, wishes, distance)
    parts = [0] * len(wishes)
    counts = [0] * len(wishes)
    for node, host in _hosts(units, homes, distance).items():
        ranks = [rank for rank, home in enumerate(homes) if home == host]
        whole, rest = divmod(len(units[node]), len(ranks))
        favoured = set(sorted(ranks, key=lambda rank: (counts[rank], rank))[:rest])
        start = 0
        for rank in ranks:
            end = start + whole + (rank in favoured)
            parts[rank] |= mask_of(cpu for unit in units[node][start:end] for cpu in members(unit))
            counts[rank] += end - start
            start = end
    return parts


def _homes(room: Mapping[int, int], wishes: Sequence[int | None], distance: Distance) -> list[int]:
    """A NUMA node for each process, on none more than it has cores."""
    taken = dict.fromkeys(room, 0)
    homes: dict[int, int] = {}

    def settle(rank: int, node: int) -> None:
        homes[rank] = node
        taken[node] += 1

    def free() -> list[int]:
        return [node for node in room if taken[node] < room[node]]

    for rank, wish in enumerate(wishes):
        if wish is not None and wish in free():
            settle(rank, wish)
    for rank, wish in enumerate(wishes):
        if wish is not None and rank not in homes:
            settle(rank, min(free(), key=lambda node: (distance(wish, node), taken[node] / room[node], node)))
    # Those without a wish even things out, neighbours on the same node.
    anywhere = [rank for rank, wish in enumerate(wishes) if wish is None]
    places: list[int] = []
    for _ in anywhere:
        node = min(free(), key=lambda node: ((taken[node] + 1) / room[node], taken[node], node))
        taken[node] += 1
        places.append(node)
    homes.update(zip(anywhere, sorted(places), strict=True))
    return [homes[rank] for rank in range(len(wishes))]


def _hosts(units: Mapping[int, Sequence[int]], homes: Sequence[int], distance: Distance) -> dict[int, int]:
    """Node -> the node whose processes get its cores, itself if it has any; those first."""
    hosts = {node: node for node in units if node in homes}
    load = {node: len(units[node]) / homes.count(node) for node in hosts}
    for node in units:
        if node not in hosts:
            host = min(load, key=lambda other: (distance(node, other), load[other], other))
            load[host] += len(units[node]) / homes.count(host)
            hosts[node] = host
    return hosts


def _memory_node(machine: Machine, cpus: int, mems: int, gpu_node: int | None, distance: Distance) -> int | None:
    """Nearest to the GPU, or to most of the CPUs where there is none; of equals the lowest."""
    if not mems:
        return None
    near = gpu_node
    if near is None:
        nodes = [cpu.numa for cpu in machine.cpus if cpus >> cpu.id & 1]
        near = max(sorted(set(nodes)), key=nodes.count, default=None)
    return min(members(mems), key=lambda node: (0 if near is None else distance(near, node), node))
