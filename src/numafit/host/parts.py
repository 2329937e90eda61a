"""Parts of a job, each with CPUs and memory on its own NUMA node: at home first, for all of them, then what is missing
from the nearest node that has it.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.host.cores import WholeCores
from numafit.host.host import Distance
from numafit.ledger.ledger import MemoryNode
from numafit.managers.ask import MEMORY
from numafit.managers.cpu.assignment import take
from numafit.managers.cpu.manager import CpuManager
from numafit.managers.cpu.pick.errors import PickError
from numafit.managers.cpu.pick.packed import lowest

_PAGE = 4096


class JobPart(msgspec.Struct, frozen=True):
    """A process of the job, or what it has on one NUMA node."""

    devices: tuple[str, ...]
    node: int | None
    """Where its devices are; None: nobody knows, or it has none."""
    weight: int
    cpus: int = 0


class TakenPart(msgspec.Struct, frozen=True):
    """What one part got."""

    cpus: int
    home: int
    memory: tuple[tuple[int, int], ...] = ()
    """(NUMA node, bytes)."""
    near: bool = True


def in_proportion(total: int, weights: Sequence[int]) -> list[int]:
    """Whole numbers, the largest remainders up; none goes empty while there is one for each."""
    least = 1 if total >= len(weights) else 0
    weight = sum(weights)
    shares = [max(least, total * own // weight) for own in weights]
    while (off := total - sum(shares)) != 0:
        step = 1 if off > 0 else -1
        allowed = [index for index in range(len(shares)) if step > 0 or shares[index] > least]
        index = max(allowed, key=lambda i: (step * (total * weights[i] / weight - shares[i]), -i))
        shares[index] += step
    return shares


class Cutting:
    """CPUs taken for one part after the other, out of what is free."""

    def __init__(self, manager: CpuManager, cores: WholeCores, distance: Distance, free: int) -> None:
        self.manager, self.cores, self.distance, self.free = manager, cores, distance, free
        self.nodes = manager.topology.numa_nodes

    def cpus(self, parts: Sequence[JobPart], preferred: int) -> list[TakenPart] | None:
        """At home first, for all of them; then what is missing from the nearest node. None: there is not enough."""
        homes = self._homes(parts, preferred)
        taken = [self._take(home, part.cpus) for home, part in zip(homes, parts, strict=True)]
        near = []
        for number, (home, part) in enumerate(zip(homes, parts, strict=True)):
            near.append(taken[number].bit_count() >= part.cpus and part.node in (None, home))
            for numa in nearest_first(self.nodes, home, self.distance):
                missing = part.cpus - taken[number].bit_count()
                if missing > 0:
                    taken[number] |= self._take(numa, missing)
            if taken[number].bit_count() < part.cpus:
                return None
        return [TakenPart(cpus, home, (), good) for cpus, home, good in zip(taken, homes, near, strict=True)]

    def _take(self, numa: int, count: int) -> int:
        """Out of as few uncore caches as will do."""
        free = self.free & self.nodes.get(numa, 0)
        got = 0
        for inside, some in self._by_cache(free, min(count, free.bit_count())):
            got |= self._take_of(inside, some)
        return got

    def _by_cache(self, free: int, count: int) -> list[tuple[int, int]]:
        """CPUs, and how many of them. One cache that holds all, the fullest of these; else the emptiest whole."""
        caches = [cache & free for cache in self.manager.topology.uncore_caches.values() if cache & free]
        if len(caches) < 2 or self.manager.options.distribute_cpus_across_cores:
            return [(free, count)]
        shares: list[tuple[int, int]] = []
        while count and caches:
            enough = [cache for cache in caches if cache.bit_count() >= count]
            # Of equal ones the first.
            chosen = min(enough, key=int.bit_count) if enough else max(caches, key=int.bit_count)
            caches.remove(chosen)
            shares.append((chosen, min(count, chosen.bit_count())))
            count -= shares[-1][1]
        return shares

    def _take_of(self, free: int, count: int) -> int:
        try:
            manager = self.manager
            got = take(manager.topology, manager.behaviour, manager.options, free, count) & free if count else 0
        except PickError:
            got = 0
        # On uneven machines the kubelet's way may take other CPUs or fewer than it counts.
        got = self.cores.whole(got | lowest(free & ~got, count - got.bit_count())) & free if count else 0
        self.free &= ~got
        return got

    def _homes(self, parts: Sequence[JobPart], preferred: int) -> list[int]:
        """The NUMA node of each part: that of its devices; without any, few nodes that hold whole parts, evenly."""
        room = {numa: (cpus & self.free).bit_count() for numa, cpus in self.nodes.items()}
        for part in parts:
            if part.node in room:
                room[part.node] -= part.cpus
        loose = [part for part in parts if part.node is None]
        size = max((part.cpus for part in loose), default=0) or 1
        holds = {numa: max(0, count) // size for numa, count in room.items()}
        chosen: list[int] = []
        while sum(holds[numa] for numa in chosen) < len(loose) and len(chosen) < len(holds):
            left = len(loose) - sum(holds[numa] for numa in chosen)
            ranked = [self._rank(numa, holds[numa] < left, holds[numa], chosen, preferred) for numa in holds]
            chosen.append(min(rank for rank in ranked if rank[-1] not in chosen)[-1])
        places: list[int] = []
        for _ in loose:
            loads = {numa: places.count(numa) + 1 for numa in chosen}
            places.append(min(chosen, key=lambda numa: (loads[numa] > holds[numa], loads[numa] / (holds[numa] or 1))))
        following = iter(sorted(places, key=chosen.index))
        return [part.node if part.node is not None else next(following) for part in parts]

    def _rank(
        self, numa: int, few: bool, holds: int, chosen: Sequence[int], preferred: int
    ) -> tuple[bool, bool, int, int, int]:
        """One that holds all that is left, and that the engine chose; the nearest to those chosen; with most room."""
        far = max((self.distance(other, numa) for other in chosen), default=0)
        return few, not preferred >> numa & 1, far, -holds, numa


def nearest_first(nodes: Iterable[int], home: int, distance: Distance) -> list[int]:
    return sorted(nodes, key=lambda numa: (distance(home, numa), numa))


def memory_of_parts(
    taken: Sequence[TakenPart],
    parts: Sequence[JobPart],
    total: int,
    nodes: Mapping[int, MemoryNode],
    distance: Distance,
) -> list[TakenPart] | None:
    """Bytes in proportion, at home first; None: there are not enough."""
    free = {numa: free_bytes(node) for numa, node in nodes.items()}
    pages = in_proportion(total // _PAGE, [part.weight for part in parts])
    wanted = [count * _PAGE for count in pages]
    wanted[0] += total % _PAGE
    got: list[dict[int, int]] = [{} for _ in parts]
    for at_home in (True, False):
        for number, one in enumerate(taken):
            for numa in [one.home] if at_home else nearest_first(free, one.home, distance):
                size = min(wanted[number], free.get(numa, 0))
                if size:
                    got[number][numa] = got[number].get(numa, 0) + size
                    free[numa] -= size
                    wanted[number] -= size
    if any(wanted):
        return None
    return [
        replace(one, memory=tuple(sorted(own.items())), near=one.near and set(own) <= {one.home})
        for one, own in zip(taken, got, strict=True)
    ]


def free_bytes(node: MemoryNode) -> int:
    """Those of a node that is held together with others are given only to jobs on all of them."""
    table = node.tables.get(MEMORY)
    return table.free if table is not None and len(node.cells) < 2 else 0
