"""The shares of the processes of one job: which CPUs and which memory node each of them gets, near its GPU.

Every process computes all shares from the same facts and takes its own, so that nobody has to ask anybody. Each NUMA
node deals its cores in runs of neighbours, as evenly as whole cores allow, to the processes whose GPU hangs on it. A
process whose node has no core left for it goes to the nearest node that has; the cores of a node without a process go
to those of the nearest node with one.
"""

from collections.abc import Mapping, Sequence

import msgspec

from numafit.bits import mask_of, members, parse_cpuset
from numafit.host.host import Distance, distances
from numafit.host.lease import LeasePart
from numafit.machine.links import link_score
from numafit.machine.model import Device, Machine


class RankShare(msgspec.Struct, frozen=True):
    rank: int
    gpu: str
    """The id of its GPU; empty when the job has none."""
    gpu_node: int | None
    """The NUMA node of the GPU, if known."""
    cpus: int
    memory_node: int | None
    """The node that its memory is asked from first; None: none is allowed that is known."""
    nic: str = ""
    """The network card nearest to its GPU, by the id that the machine has for it; empty: none is known near it."""


def promised(
    machine: Machine, parts: Sequence[LeasePart], gpus: Sequence[tuple[str, int | None]]
) -> tuple[RankShare, ...]:
    """The shares that the lease was placed with."""
    nodes = dict(gpus)
    mine = [next(iter(part.devices), "") for part in parts]
    nics = nearest_nics(machine, [(gpu, nodes.get(gpu)) for gpu in mine])
    return tuple(
        RankShare(
            rank,
            gpu,
            nodes.get(gpu),
            parse_cpuset(part.cpus),
            part.home,
            nic,
        )
        for rank, (part, gpu, nic) in enumerate(zip(parts, mine, nics, strict=True))
    )


def shares(
    machine: Machine, cpus: int, mems: int, gpus: Sequence[tuple[str, int | None]], size: int
) -> tuple[RankShare, ...]:
    """For `size` processes on these CPUs and memory nodes; process number n has GPU number n, counted around."""
    mine = [gpus[rank % len(gpus)] if gpus else ("", None) for rank in range(size)]
    distance = distances(machine)
    parts = partition(cores_by_node(machine, cpus), [node for _, node in mine], distance)
    nics = nearest_nics(machine, mine)
    return tuple(
        RankShare(rank, gpu, node, part, _memory_node(machine, part, mems, node, distance), nic)
        for rank, ((gpu, node), part, nic) in enumerate(zip(mine, parts, nics, strict=True))
    )


def nearest_nics(machine: Machine, gpus: Sequence[tuple[str, int | None]]) -> list[str]:
    """For each GPU with its NUMA node: of the network cards on that node the best linked one, and of those the one that
    the fewest have; empty where none is known."""
    cards = [device for device in machine.devices if device.kind == "nic"]
    devices = {device.id: device for device in machine.devices}
    links = {frozenset((link.a, link.b)): link_score(link.kind) for link in machine.links} if cards else {}
    used = dict.fromkeys((card.id for card in cards), 0)
    found = []
    for gpu, node in gpus:
        scores = {card.id: _nearness(devices.get(gpu), node, card, links) for card in cards}
        near = [name for name, score in scores.items() if score >= link_score("NODE")]
        best = min(near, key=lambda name: (-scores[name], used[name], near.index(name)), default="") if gpu else ""
        if best:
            used[best] += 1
        found.append(best)
    return found


def _nearness(gpu: Device | None, node: int | None, card: Device, links: Mapping[frozenset[str], int]) -> int:
    """As a link's score. What no tool tells follows from switches, ports and NUMA nodes."""
    known = links.get(frozenset((gpu.id, card.id)), 0) if gpu is not None else 0
    if known or gpu is None:
        return known
    if card.switch and card.switch == gpu.switch:
        return link_score("PIX")
    if card.root_port and card.root_port == gpu.root_port:
        return link_score("PXB")
    place = card.numa[0] if card.numa else card.driver_numa
    return link_score("NODE") if node is not None and place == node else 0


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
