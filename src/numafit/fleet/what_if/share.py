"""So many nodes of several kinds, as near to the shares that they have now as whole nodes can be.

Nodes are dealt out one after the other, each to the kind that lacks most by its share (the method of Webster). So a
larger fleet has all nodes of a smaller one: to add a node takes none of another kind away.
"""

import heapq
from collections.abc import Sequence
from fractions import Fraction


def dealt(counts: Sequence[int], total: int) -> tuple[int, ...]:
    """`counts`: now. Of kinds that lack alike the one with most nodes comes first, then the first."""
    found = [0] * len(counts)
    # The next node of a kind with n of them is due at (2n + 1) / count.
    heads = [(Fraction(1, count), -count, place) for place, count in enumerate(counts) if count]
    heapq.heapify(heads)
    for _ in range(total if heads else 0):
        _, order, place = heads[0]
        found[place] += 1
        heapq.heapreplace(heads, (Fraction(2 * found[place] + 1, -order), order, place))
    return tuple(found)
