"""What the search of distribute-cpus-across-numa need not look at: choices that cannot be the most even ones.

The fewer squares the free CPUs add up to after the giving, the more even they are. A node that gives a group lowers the
sum by the more, the more free CPUs it has; so nodes with many free CPUs set the limit for all others. These limits hold
where free CPUs come in whole groups: there the giving never gets stuck.
"""

from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace
from itertools import accumulate

Positions = tuple[int, ...]


def most_saved(left: Sequence[int], rest: int, group: int) -> int:
    """By how much the sum of squares drops at most when nodes with `left` free CPUs give `rest` groups in any way."""
    heap = [-value for value in left]
    heapify(heap)
    saved = 0
    for _ in range(rest if heap else 0):
        most = -heap[0]
        saved += group * (2 * most - group)
        heapreplace(heap, group - most)
    return saved


class HeavyCombinations:
    """The combinations of `size` usable positions whose values add up to `least` or more, in lexicographic order.

    `least` may be raised during the walk.
    """

    def __init__(self, values: Sequence[int], usable: Sequence[int], size: int, least: int) -> None:
        self.values = values
        self.usable = usable
        self.size = size
        self.least = least
        self.tops = [
            [0, *accumulate(sorted([values[i] for i in usable[start:]], reverse=True)[:size])]
            for start in range(len(usable) + 1)
        ]
        """[start][more]: what `more` positions from `start` on add up to at most."""

    def __iter__(self) -> Iterator[Positions]:
        return self._grow(0, self.size, 0, ())

    def _grow(self, start: int, more: int, total: int, chosen: Positions) -> Iterator[Positions]:
        if more == 0:
            yield chosen
            return
        for at in range(start, len(self.usable) - more + 1):
            if total + self.tops[at][more] < self.least:
                return
            grown = total + self.values[self.usable[at]]
            if grown + self.tops[at + 1][more - 1] >= self.least:
                yield from self._grow(at + 1, more - 1, grown, (*chosen, self.usable[at]))
