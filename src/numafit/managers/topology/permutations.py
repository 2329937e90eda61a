"""The merge exactly as the kubelet walks it, for machines whose distance rows are too short for their NUMA ids.

There the kubelet panics as soon as it compares the distances of two masks of which one holds an id beyond its row. So
it matters which hints are compared, and hence in which order the permutations come. A permutation that leads to a
merged hint already met changes nothing and compares nothing new, so each state of a half-made permutation is walked
only once.
"""

from collections.abc import Sequence

from numafit.errors import InputError
from numafit.ledger.ledger import Hint
from numafit.managers.topology.hint_order import DistanceRows, distance_sum

_MOST_STEPS = 3_000_000

_Merged = tuple[int, bool]


def too_large_to_walk() -> InputError:
    return InputError(
        "the NUMA distances do not cover all NUMA ids, and the machine is too large to foresee what follows",
        cure="switch prefer-closest-numa-nodes off; a kubelet would crash or hang on this machine",
    )


def walk_permutations(
    lists: Sequence[Sequence[Hint]], ground: int, wanted: int, distances: DistanceRows
) -> _Merged | None:
    """The best merged hint by the rules of 1.26 and later with prefer-closest-numa-nodes, or KubeletPanic.

    `wanted` is the number of nodes that non-preferred hints are compared with. None: no permutation has a common node.
    """
    walk = _PermutationWalk(lists, ground, wanted, distances)
    walk.permute(0, ground, True, None)
    return walk.best


class _PermutationWalk:
    def __init__(self, lists: Sequence[Sequence[Hint]], ground: int, wanted: int, distances: DistanceRows) -> None:
        self.lists = lists
        self.wanted = wanted
        self.distances = distances
        self.best: _Merged | None = None
        self.seen: set[tuple[int, int, bool, int | None]] = set()
        self.steps = 0

    def permute(self, depth: int, mask: int, preferred: bool, first: int | None) -> None:
        """`first` is the first mask of the permutation so far; it matters only while the rest may equal it."""
        state = (depth, mask, preferred, first)
        if state in self.seen:
            return
        self.seen.add(state)
        if depth == len(self.lists):
            self.best = self.better(mask, preferred)
            return
        self.steps += len(self.lists[depth])
        if self.steps > _MOST_STEPS:
            raise too_large_to_walk()
        for nodes, hint_preferred in self.lists[depth]:
            if nodes is None:
                still = preferred and hint_preferred
                self.permute(depth + 1, mask, still, first if still else None)
            else:
                still = preferred and hint_preferred and (first is None or nodes == first)
                self.permute(depth + 1, mask & nodes, still, nodes if still else None)

    def better(self, mask: int, preferred: bool) -> _Merged | None:
        if not mask or self.best is None:
            return (mask, preferred) if mask else self.best
        current, current_preferred = self.best
        if preferred != current_preferred:
            return (mask, True) if preferred else self.best
        size, current_size = mask.bit_count(), current.bit_count()
        if size != current_size:
            if preferred:
                wins = size < current_size
            else:
                wins = (size > self.wanted, abs(size - self.wanted)) < (
                    current_size > self.wanted,
                    abs(current_size - self.wanted),
                )
            return (mask, preferred) if wins else self.best
        if mask == current:
            return self.best
        # the current mask is measured first: in a panic its id is the one named
        current_distance = distance_sum(current, self.distances)
        distance = distance_sum(mask, self.distances)
        return (mask, preferred) if (distance, mask) < (current_distance, current) else self.best
