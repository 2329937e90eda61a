"""The best mask of a given size that passes a test, without trying them all.

Masks of one size are walked in ascending order: the highest node is chosen first, from low to high, then the next lower
one. The test tells early when no choice of lower nodes can pass any more. With distances the walk goes on after a hit,
but only where the nodes chosen so far leave room for a smaller sum of distances.
"""

from heapq import nsmallest
from itertools import accumulate
from typing import Protocol

from numafit.bits import members
from numafit.managers.topology.hint_order import DistanceRows

RankedMask = tuple[int, int]
"""(sum of distances, mask): smaller is better. The sum is 0 when distances do not count."""


class MaskTest(Protocol):
    def possible(self, chosen: int, below: int, more: int) -> bool:
        """False only if no mask of `chosen` and `more` nodes of `below` passes."""
        ...

    def endings(self, chosen: int, below: int) -> int:
        """The nodes of `below` that may complete `chosen`; others need not be tried."""
        ...

    def passes(self, mask: int) -> bool: ...


def best_mask(
    pool: int, size: int, test: MaskTest, distances: DistanceRows | None = None, than: RankedMask | None = None
) -> RankedMask | None:
    """The best mask of `size` nodes of `pool` that passes and is better than `than`; None if there is none."""
    if not 0 < size <= pool.bit_count() or not test.possible(0, pool, size):
        return None
    if distances is None:
        mask = _smallest(pool, 0, size, test, None if than is None else than[1])
        return None if mask is None else (0, mask)
    closest = _Closest(pool, test, distances, than)
    closest.walk(0, pool, size, 0, closest.alone)
    return None if closest.best == than else closest.best


def _smallest(below: int, chosen: int, more: int, test: MaskTest, limit: int | None) -> int | None:
    if more == 1:
        for i in members(test.endings(chosen, below)):
            mask = chosen | 1 << i
            if limit is not None and mask >= limit:
                return None
            if test.passes(mask):
                return mask
        return None
    for at, i in enumerate(members(below)):
        # the lowest nodes are needed to fill up
        if at < more - 1:
            continue
        grown, rest = chosen | 1 << i, below & (1 << i) - 1
        if limit is not None and grown >= limit:
            return None
        if test.possible(grown, rest, more - 1):
            found = _smallest(rest, grown, more - 1, test, limit)
            if found is not None:
                return found
    return None


class _Closest:
    """Branch and bound on the sum of distances."""

    def __init__(self, pool: int, test: MaskTest, distances: DistanceRows, than: RankedMask | None) -> None:
        self.ids = list(members(pool))
        self.test = test
        self.best = than
        width = pool.bit_length()
        self.pairs = {i: [0] * width for i in self.ids}
        """What two nodes add together: both directions."""
        self.alone = [0] * width
        for i in self.ids:
            self.alone[i] = distances[i][i]
            for j in self.ids:
                self.pairs[i][j] = distances[i][j] + distances[j][i]
        self.nearest: dict[int, list[list[int]]] = {}

    def walk(self, chosen: int, below: int, more: int, total: int, adds: list[int]) -> None:
        """`adds` tells by id what a node adds to `total`, the sum for `chosen`."""
        if more == 1:
            for added, i in sorted([(adds[i], i) for i in members(self.test.endings(chosen, below))]):
                found = (total + added, chosen | 1 << i)
                if self.best is not None and found >= self.best:
                    break
                if self.test.passes(found[1]):
                    self.best = found
                    break
            return
        for length in range(more - 1, below.bit_count()):
            i = self.ids[length]
            grown, rest = chosen | 1 << i, below & (1 << i) - 1
            grown_total = total + adds[i]
            grown_adds = [a + b for a, b in zip(adds, self.pairs[i], strict=True)]
            if self.best is not None:
                least = grown_total + self.least(length, more - 1, grown_adds)
                # a mask walked later is larger, so an equal sum does not help
                if (least, grown) >= self.best:
                    continue
            if self.test.possible(grown, rest, more - 1):
                self.walk(grown, rest, more - 1, grown_total, grown_adds)

    def least(self, length: int, more: int, adds: list[int]) -> int:
        """`more` of the lowest `length` nodes add at least this: each counts half of its pairs with the nearest."""
        if length not in self.nearest:
            low = self.ids[:length]
            self.nearest[length] = [[0, *accumulate(sorted([self.pairs[i][j] for j in low if j != i]))] for i in low]
        twice = [2 * adds[i] + near[more - 1] for i, near in zip(self.ids, self.nearest[length], strict=False)]
        return (sum(nsmallest(more, twice)) + 1) // 2
