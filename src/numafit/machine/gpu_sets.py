"""Which GPUs belong together: how each pair is linked, the groups that follow, the best set of a given size, and why.

Two answers are kept apart. `preferred_set` is what NVIDIA's device plugin offers the kubelet (its best-effort
allocation, which looks at pair scores only). `best_set` is numafit's advice, in this order: as few NUMA nodes and then
sockets as possible; no GPU without the partner on its switch or NVLink; if the set must cross, equally many on each
node (4+4 rather than 5+3); the highest sum of pair scores; the most left for others; device order.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import comb

import msgspec

from numafit.errors import InputError
from numafit.machine.links import LINK_KINDS, MOST_NVLINKS, NVLINK_SCORE, link_score, nvlinks
from numafit.machine.model import Device, Machine

MOST_GPUS = 1024
"""Of one machine; every pair of them is looked at."""
MOST_SETS = 5_000
"""Beyond so many candidates the search goes greedily from each GPU."""
MOST_GPUS_OF_PLUGIN = 8
"""The plugin tries each way to cut all GPUs into sets; with more GPUs than this it takes minutes."""


class GpuPairs(msgspec.Struct, frozen=True):
    gpus: tuple[Device, ...]
    kinds: tuple[tuple[str, ...], ...]
    """Row and column as in `gpus`; empty when the link is not known, and on the diagonal."""
    scores: tuple[tuple[int, ...], ...]
    """As the plugin scores each pair."""
    switched: bool
    """The NVLinks end at an NVSwitch: the plugin then counts none of them."""
    sockets: Mapping[int, int]
    """NUMA node -> socket."""

    def score(self, chosen: Sequence[int]) -> int:
        return sum(self.scores[a][b] for a, b in combinations(chosen, 2))

    def numa(self, gpu: int) -> int | None:
        """The node the plugin reports, else the one the driver names."""
        device = self.gpus[gpu]
        return device.numa[0] if device.numa else device.driver_numa


def pairs_of(machine: Machine) -> GpuPairs:
    """All whole GPUs of the machine, in device order."""
    gpus = tuple(device for device in machine.devices if device.kind == "gpu")
    if len(gpus) > MOST_GPUS:
        raise InputError(
            f"{len(gpus)} GPUs are more than one machine can have", cure=f"at most {MOST_GPUS} are compared"
        )
    place = {gpu.id: index for index, gpu in enumerate(gpus)}
    kinds = [[""] * len(gpus) for _ in gpus]
    for link in machine.links:
        if link.a in place and link.b in place and link.a != link.b:
            a, b = place[link.a], place[link.b]
            kinds[a][b] = kinds[b][a] = link.kind
    # No GPU has so many links of its own: they lead to a switch that all share.
    switched = any(sum(map(nvlinks, row)) > MOST_NVLINKS for row in kinds)
    scores = tuple(
        tuple(0 if a == b else _pair_score(gpus[a], gpus[b], kinds[a][b], switched) for b in range(len(gpus)))
        for a in range(len(gpus))
    )
    sockets = {cpu.numa: cpu.socket for cpu in machine.cpus}
    return GpuPairs(gpus, tuple(map(tuple, kinds)), scores, switched, sockets)


def _pair_score(a: Device, b: Device, kind: str, switched: bool) -> int:
    links = nvlinks(kind)
    if kind and not links:
        return link_score(kind)
    # `nvidia-smi topo -m` hides the PCIe path behind NV#, and it is guessed from where the two sit.
    if a.switch and a.switch == b.switch:
        path = "PIX"
    elif a.root_port and a.root_port == b.root_port:
        path = "PXB"
    elif a.numa and a.numa == b.numa:
        path = "NODE"
    else:
        path = "SYS"
    return LINK_KINDS[path].score + (0 if switched else NVLINK_SCORE * links)


def groups_of(pairs: GpuPairs, least: int) -> list[tuple[int, ...]]:
    """GPUs joined, directly or over others, by links whose `link_score` is at least `least`; single ones too."""
    groups: list[tuple[int, ...]] = []
    left = list(range(len(pairs.gpus)))
    while left:
        group = [left.pop(0)]
        for member in group:
            joined = [other for other in left if link_score(pairs.kinds[member][other]) >= least]
            group += joined
            left = [other for other in left if other not in joined]
        groups.append(tuple(sorted(group)))
    return groups


class BestSet(msgspec.Struct, frozen=True):
    gpus: tuple[int, ...]
    """Indices into `Pairs.gpus`, ascending."""
    score: int
    split: tuple[tuple[int | None, int], ...]
    """(NUMA node, how many of the set are there), nodes ascending; node None: not known."""

    @property
    def crosses(self) -> bool:
        return len(self.split) > 1


def best_set(pairs: GpuPairs, size: int, required: Sequence[int] = ()) -> BestSet | None:
    """None when the machine has fewer GPUs, or when more of them are required."""
    if not 0 < size <= len(pairs.gpus) or len(required) > size:
        return None
    chosen = min(_candidates(pairs, size, required), key=lambda gpus: _rank(pairs, gpus))
    return BestSet(chosen, pairs.score(chosen), _split(pairs, chosen))


def equal_sets(pairs: GpuPairs, size: int) -> list[BestSet]:
    """The best set and those that are linked as well, the best first: they differ in what they leave to others, or only
    in their places. None when the machine has fewer GPUs."""
    if not 0 < size <= len(pairs.gpus):
        return []
    ranked = sorted((_rank(pairs, gpus), gpus) for gpus in set(_candidates(pairs, size, ())))
    best = ranked[0][0][:_LINKED]
    return [BestSet(gpus, pairs.score(gpus), _split(pairs, gpus)) for rank, gpus in ranked if rank[:_LINKED] == best]


def _candidates(pairs: GpuPairs, size: int, required: Sequence[int]) -> Iterator[tuple[int, ...]]:
    free = [gpu for gpu in range(len(pairs.gpus)) if gpu not in required]
    more = size - len(required)
    if comb(len(free), more) > MOST_SETS:
        return _greedy_sets(pairs, size, required)
    return (tuple(sorted((*required, *chosen))) for chosen in combinations(free, more))


def _split(pairs: GpuPairs, chosen: Sequence[int]) -> tuple[tuple[int | None, int], ...]:
    counts: dict[int | None, int] = {}
    for gpu in chosen:
        counts[pairs.numa(gpu)] = counts.get(pairs.numa(gpu), 0) + 1
    return tuple(sorted(counts.items(), key=lambda item: (item[0] is None, item[0] or 0)))


_LINKED = 5
"""So many members of a rank say how well the GPUs are linked; the rest is for others, or only an order."""


def _rank(pairs: GpuPairs, chosen: tuple[int, ...]) -> tuple[int, int, int, bool, int, int, tuple[int, ...]]:
    """Smaller is better."""
    split = _split(pairs, chosen)
    sockets = len({pairs.sockets.get(node) for node, _ in split if node is not None})
    uneven = len({count for _, count in split}) > 1
    # What is left scores all pairs, less those that touch the set; the first is the same for all sets.
    score = pairs.score(chosen)
    touching = sum(sum(pairs.scores[gpu]) for gpu in chosen) - score
    near = LINK_KINDS["PIX"].score
    alone = sum(1 for gpu in chosen if max(pairs.scores[gpu]) >= near > max(pairs.scores[gpu][o] for o in chosen))
    return len(split), sockets, alone, uneven, -score, touching, chosen


def _greedy_sets(pairs: GpuPairs, size: int, required: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """One set from each GPU as a start, or from those that are required: always the next on a node in use, then the
    nearest to those taken."""
    for start in [required] if required else [(gpu,) for gpu in range(len(pairs.gpus))]:
        nodes = {pairs.numa(gpu) for gpu in start}
        nearness = [sum(pairs.scores[gpu][other] for gpu in start) for other in range(len(pairs.gpus))]
        chosen = dict.fromkeys(start)
        while len(chosen) < size:
            free = (gpu for gpu in range(len(pairs.gpus)) if gpu not in chosen)
            taken = max(free, key=lambda gpu: (pairs.numa(gpu) in nodes, nearness[gpu], -gpu))
            chosen[taken] = None
            nodes.add(pairs.numa(taken))
            nearness = [near + more for near, more in zip(nearness, pairs.scores[taken], strict=True)]
        yield tuple(sorted(chosen))


def preferred_set(
    pairs: GpuPairs, size: int, available: Sequence[int] | None = None, required: Sequence[int] = ()
) -> tuple[int, ...]:
    """The plugin's best-effort answer for GPUs offered in this order; empty when it has none, or for too many GPUs."""
    return next(preferred_sets(pairs, size, available, required))


def preferred_sets(
    pairs: GpuPairs, size: int, available: Sequence[int] | None = None, required: Sequence[int] = ()
) -> Iterator[tuple[int, ...]]:
    """The plugin's best-effort answers: first that for GPUs offered in this order, then those for all other orders.

    It cuts all that is available into sets of `size` (the rest into one smaller set), keeps the first cut with the
    highest sum of scores, and answers with the first best full set of it. The first cut of all is the offered order
    itself: offered set by set, any of the best cuts comes first, and any of the best sets in it.
    """
    offered = list(range(len(pairs.gpus)) if available is None else available)
    if not 0 < size <= len(offered) or len(required) > size or len(offered) > MOST_GPUS_OF_PLUGIN:
        yield ()
        return
    needed = frozenset(required)
    best: list[list[tuple[int, ...]]] = []
    best_score = -1
    for cut in _cuts(offered, size):
        full = [chosen for chosen in cut if len(chosen) == size and needed <= set(chosen)]
        score = sum(map(pairs.score, cut))
        if full and score > best_score:
            best, best_score = [full], score
        elif full and score == best_score:
            best.append(full)
    if not best:
        yield ()
        return
    told: set[frozenset[int]] = set()
    for full in best:
        score = max(map(pairs.score, full))
        for chosen in full:
            if pairs.score(chosen) == score and frozenset(chosen) not in told:
                told.add(frozenset(chosen))
                yield chosen


def _cuts(offered: Sequence[int], size: int) -> Iterator[list[tuple[int, ...]]]:
    """Each way to cut `offered`, in the plugin's order: empty slots fill up the last set, and stay together.

    For size 1 the plugin takes each device for a cut of its own.
    """
    if size == 1:
        for gpu in offered:
            yield [(gpu,)]
        return
    empty = -len(offered) % size
    for cut in _slot_cuts([*offered, *[None] * empty], size, empty):
        yield [tuple(gpu for gpu in slots if gpu is not None) for slots in cut]


def _slot_cuts(slots: Sequence[int | None], size: int, empty: int) -> Iterator[list[tuple[int | None, ...]]]:
    if not slots:
        yield []
        return
    first, others = slots[0], slots[1:]
    for places in combinations(range(len(others)), size - 1):
        chosen = (first, *(others[place] for place in places))
        if chosen.count(None) not in (0, empty):
            continue
        rest = [slot for place, slot in enumerate(others) if place not in places]
        for cut in _slot_cuts(rest, size, empty):
            yield [chosen, *cut]


def node_text(node: int | None) -> str:
    return "unknown" if node is None else str(node)


def reason_text(pairs: GpuPairs, chosen: BestSet) -> str:
    """Why this set, in words."""
    size = len(chosen.gpus)
    node = chosen.split[0][0]
    place = "NUMA node unknown" if node is None else f"NUMA {node}"
    if size == 1:
        near = LINK_KINDS["PIX"].score
        if len({sum(row) for row in pairs.scores}) == 1:
            taken = "any is as good"
        elif max(pairs.scores[chosen.gpus[0]]) < near <= max(map(max, pairs.scores)):
            taken = "it has no partner on its switch"
        else:
            taken = "leaves the best pairs to others"
        return f"{place}; {taken}" if len(pairs.gpus) > 1 else place
    kinds = [pairs.kinds[a][b] for a in chosen.gpus for b in chosen.gpus if a < b]
    worst = min(kinds, key=link_score)
    if not worst:
        linked = "not all links are known"
    elif len(kinds) == 1:
        linked = f"linked by {worst}"
    else:
        linked = f"all pairs {worst}" if len(set(kinds)) == 1 else f"worst pair {worst}"
    if not chosen.crosses:
        return f"{place}; {linked}; score {chosen.score}"
    counts = "+".join(str(count) for _, count in sorted(chosen.split, key=lambda item: -item[1]))
    nodes = ", ".join(node_text(number) for number, _ in chosen.split)
    largest = max(_per_node(pairs).values())
    text = (
        f"crosses NUMA nodes {nodes} ({counts}): no node has more than {largest} GPUs; {linked}; score {chosen.score}"
    )
    if len({count for _, count in chosen.split}) > 1:
        text += f"; uneven, {' or '.join(map(str, _better_sizes(pairs, size)))} would fit better"
    return text


def _per_node(pairs: GpuPairs) -> dict[int | None, int]:
    counts: dict[int | None, int] = {}
    for gpu in range(len(pairs.gpus)):
        counts[pairs.numa(gpu)] = counts.get(pairs.numa(gpu), 0) + 1
    return counts


def _better_sizes(pairs: GpuPairs, size: int) -> list[int]:
    """One whole node, and the next size up that fills several equal nodes."""
    counts = sorted(_per_node(pairs).values(), reverse=True)
    equal = [count for count in counts if count == counts[0]]
    whole = (counts[0] * nodes for nodes in range(2, len(equal) + 1))
    return [counts[0], *[larger for larger in whole if larger > size][:1]]
