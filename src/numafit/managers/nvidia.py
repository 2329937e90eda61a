"""Which GPUs NVIDIA's device plugin prefers: those nearest to each other, while the rest stays together too.

Every pair of GPUs has a score: by the part of the machine that both hang under, and 100 more for each NVLink between
them. The plugin divides all GPUs on offer into sets of the wanted size, takes the division with the highest sum of pair
scores, and in it the best set (k8s-device-plugin 0.20, allocator 0.6).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from numafit.machine.model import Link

PCIE_SCORES = {"SYS": 10, "NODE": 20, "PHB": 30, "PXB": 40, "PIX": 50, "PSB": 60}
NVLINK_SCORE = 100

LARGEST_DIVIDED = 10
"""The number of divisions explodes; beyond this the devices are offered in the order they came."""

BLANK = ""

Scores = Mapping[frozenset[str], int]


def pair_scores(links: Sequence[Link], same_node: Mapping[str, tuple[int, ...] | None]) -> dict[frozenset[str], int]:
    """`NV#` says how many NVLinks, not what else the pair shares: there the NUMA nodes stand in for the PCIe part."""
    scores = {}
    for link in links:
        score = PCIE_SCORES.get(link.kind)
        if score is None:
            together = same_node.get(link.a) == same_node.get(link.b)
            lanes = int(link.kind[2:]) if link.kind.startswith("NV") and link.kind[2:].isdecimal() else 0
            score = NVLINK_SCORE * lanes + PCIE_SCORES["NODE" if together else "SYS"]
        scores[frozenset((link.a, link.b))] = score
    return scores


def prefer_near(available: Sequence[str], must_include: frozenset[str], size: int, scores: Scores) -> tuple[str, ...]:
    """The plugin's answer for `available` in the order given; empty when it has none."""
    if size <= 0 or not len(must_include) <= size <= len(available):
        return ()
    if len(available) > LARGEST_DIVIDED:
        rest = [device for device in available if device not in must_include]
        return tuple(sorted(must_include)) + tuple(rest[: size - len(must_include)])
    best: tuple[int, list[tuple[str, ...]]] | None = None
    for division in _divisions(tuple(available), size):
        if not any(len(own) == size and must_include <= set(own) for own in division):
            continue
        score = sum(_score(own, scores) for own in division)
        if best is None or score > best[0]:
            best = score, division
    if best is None:
        return ()
    fitting = [own for own in best[1] if len(own) == size and must_include <= set(own)]
    return max(fitting, key=lambda own: _score(own, scores), default=())


def _score(devices: tuple[str, ...], scores: Scores) -> int:
    return sum(scores.get(frozenset(pair), 0) for pair in combinations(devices, 2))


def _divisions(devices: tuple[str, ...], size: int) -> Iterator[list[tuple[str, ...]]]:
    """All ways to split the devices into sets of `size`, in the plugin's order, which decides between equal scores.

    What is missing to a multiple of `size` is made up with blanks, which stay together in one set. With size 1 each
    device is a division of its own.
    """
    if size == 1:
        for device in devices:
            yield [(device,)]
        return
    yield from _split(devices + (BLANK,) * (-len(devices) % size), size)


def _split(places: tuple[str, ...], size: int) -> Iterator[list[tuple[str, ...]]]:
    if not places:
        yield []
        return
    blanks = places.count(BLANK)
    for others in combinations(range(1, len(places)), size - 1):
        own = (places[0], *(places[i] for i in others))
        if own.count(BLANK) not in (0, blanks):
            continue
        left = tuple(place for i, place in enumerate(places) if i and i not in others)
        devices = tuple(place for place in own if place != BLANK)
        for division in _split(left, size):
            yield [devices, *division]
