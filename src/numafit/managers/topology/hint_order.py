"""Which of two merged hints the topology manager likes better, as sort keys: smaller is better.

The kubelet walks all permutations and keeps the better of two hints. Each of its comparisons picks the smaller key of
one total order, so neither the order of the permutations nor that of the resources matters (seen in 1.20 to 1.36).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from numafit.bits import members
from numafit.errors import KubeletPanic
from numafit.golang.text import index_out_of_range
from numafit.ledger.ledger import Hint

DISTANCES_SHORT = "distances-short"
"""A crash: the row of distances of a NUMA node ends before the id of another."""

DistanceRows = Mapping[int, Sequence[int]]
"""NUMA id -> row of distances. The kubelet indexes the row by NUMA id, whatever nodes the row is about."""


def distance_sum(mask: int, distances: DistanceRows) -> int:
    """Over all ordered pairs, self pairs too. Among masks of one size it orders like the kubelet's average."""
    ids = tuple(members(mask))
    total = 0
    for i in ids:
        row = distances[i]
        if ids[-1] >= len(row):
            index = next(j for j in ids if j >= len(row))
            raise KubeletPanic(
                index_out_of_range(index, len(row)), code=DISTANCES_SHORT, facts={"numa": str(i), "beyond": str(index)}
            )
        total += sum([row[j] for j in ids])
    return total


def rows_too_short(ground: int, distances: DistanceRows) -> bool:
    """The kubelet may panic: an id of `ground` lies beyond the end of a row."""
    return any(ground.bit_length() > len(distances[i]) for i in members(ground))


def fittest(masks: Iterable[int], distances: DistanceRows | None) -> int | None:
    """The best of `masks` of one size: the closest together, then the smallest number. None when there are none."""
    if distances is None:
        return min(masks, default=None)
    ranked = [(distance_sum(mask, distances), mask) for mask in masks]
    return min(ranked)[1] if ranked else None


def narrowest(masks: Iterable[int], distances: DistanceRows | None = None) -> int | None:
    """The best of `masks` among preferred hints: the fewest nodes, then the fittest. The empty mask does not count."""
    by_size = [(mask.bit_count(), mask) for mask in masks if mask]
    if not by_size:
        return None
    size = min(by_size)[0]
    return fittest([mask for count, mask in by_size if count == size], distances)


def closest_in_size(masks: Collection[int], wanted: int, distances: DistanceRows | None) -> int | None:
    """The best of `masks` among non-preferred hints: the number of nodes as wanted, else the largest below, else the
    smallest above; then the fittest. The empty mask does not count."""
    sizes = {mask.bit_count() for mask in masks}
    sizes.discard(0)
    if not sizes:
        return None
    best = wanted if wanted in sizes else min(sizes, key=lambda size: (size > wanted, abs(size - wanted)))
    return fittest([mask for mask in masks if mask.bit_count() == best], distances)


def nodes_wanted(lists: Iterable[tuple[Hint, ...]]) -> int:
    """The number of nodes in the narrowest mask of the list that needs the most; lists without a mask do not count."""
    sizes = [min([mask.bit_count() for mask, _ in hints if mask is not None], default=0) for hints in lists]
    return max(sizes, default=0)
