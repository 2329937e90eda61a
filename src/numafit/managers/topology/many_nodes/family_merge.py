"""The merge when some lists are families: the same answer as for the written lists, by search.

1. Preferred: all lists prefer one and the same mask. Either it is written somewhere, in an explicit list or among the
   extras of a family, or it satisfies the rule of each family; then it is searched among the masks of the preferred
   size.
2. Not preferred: the AND of one hint per list. Where all such masks lie in a few nodes, the families are cut to these
   and written out. Else the mask is searched branch by branch: in a branch every list gives either its rule or one of
   its written masks (those of explicit lists and extras, combined by AND). Inside a branch the reachable masks lie in
   a pool of nodes and stay reachable with more nodes of the pool, up to the pool itself.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from numafit.ledger.ledger import Hint
from numafit.managers.topology.hint import HintFamily, mask_union
from numafit.managers.topology.hint_order import DistanceRows, closest_in_size, distance_sum, fittest, nodes_wanted
from numafit.managers.topology.intersections import intersections
from numafit.managers.topology.many_nodes.best_mask import MaskTest, RankedMask, best_mask
from numafit.managers.topology.many_nodes.exact_intersection import ExactIntersectionTest
from numafit.managers.topology.many_nodes.membership import MembershipTest, narrowed_to

_PROJECTED_NODES = 10
"""When all merged masks lie in so few nodes, the families are cut to these and written out."""


class _Lists(NamedTuple):
    explicit: Sequence[tuple[Hint, ...]]
    families: Sequence[HintFamily]
    ground: int
    distances: DistanceRows | None


class _WrittenMask(NamedTuple):
    """The best of the masks that are written somewhere, in the order in which smaller is better."""

    size: int
    """The number of nodes before the mask is cut to the ground: what "preferred" is about."""
    ranked: RankedMask


def merge_families(
    explicit: Sequence[tuple[Hint, ...]],
    families: Sequence[HintFamily],
    possible: bool,
    ground: int,
    distances: DistanceRows | None,
) -> tuple[int, bool] | None:
    """The best merged hint by the rules of 1.24 and later. No family is empty; `possible`: no other list is either."""
    lists = _Lists(explicit, families, ground, distances)
    if possible:
        mask = _best_preferred(lists)
        if mask is not None:
            return mask, True
    mask = _best_not_preferred(lists)
    return None if mask is None else (mask, False)


def _best_preferred(lists: _Lists) -> int | None:
    preferred = [{mask for mask, preferred in hints if preferred} for hints in lists.explicit]
    binding = [masks for masks in preferred if None not in masks]
    if binding:
        written = _best_written(lists, binding[0].intersection(*binding[1:]))
    else:
        written = _best_written(lists, {mask for family in lists.families for mask in family.extras})
        in_rules = _best_in_rules(lists, written)
        if in_rules is not None:
            return in_rules
    return None if written is None else written.ranked[1]


def _best_written(lists: _Lists, masks: Iterable[int | None]) -> _WrittenMask | None:
    """The best of `masks` that every family prefers."""
    families, ground, distances = lists.families, lists.ground, lists.distances
    return min(
        (
            _WrittenMask(mask.bit_count(), _ranked(mask & ground, distances))
            for mask in masks
            if mask is not None
            and mask & ground
            and all(family.holds(mask) and family.preferred(mask) for family in families)
        ),
        default=None,
    )


def _best_in_rules(lists: _Lists, written: _WrittenMask | None) -> int | None:
    """The best mask that satisfies and is preferred by the rule of every family, if it is better than `written`."""
    pool = _common_ground(lists.families, lists.ground)
    # align-by-socket prefers masks of any size
    sizes = {family.size for family in lists.families if family.sockets_wanted is None}
    if len(sizes) > 1:
        return None
    test = MembershipTest(lists.families, pool, preferred=True)
    for size in sizes or range(1, pool.bit_count() + 1):
        if written is not None and written.size < size:
            return None
        to_beat = written.ranked if written is not None and written.size == size else None
        found = best_mask(pool, size, test, lists.distances, to_beat)
        if found is not None:
            return found[1]
    return None


def _best_not_preferred(lists: _Lists) -> int | None:
    wanted = max([nodes_wanted(lists.explicit), *[family.narrowest() or 0 for family in lists.families]])
    written = [{lists.ground if mask is None else mask & lists.ground for mask, _ in hints} for hints in lists.explicit]
    span = _span(written, lists)
    if span.bit_count() <= _PROJECTED_NODES:
        cut = [_cut(family, span) for family in lists.families]
        return closest_in_size(intersections([*written, *cut], span), wanted, lists.distances)
    return _best_of_branches(list(_branches(written, lists)), wanted, lists)


def _span(written: Sequence[set[int]], lists: _Lists) -> int:
    """The nodes that can be in a merged mask: some hint of every list has them."""
    span = lists.ground
    for masks in written:
        span &= mask_union(masks)
    for family in lists.families:
        span &= mask_union(family.extras) | (family.ground if family.in_rule(family.ground) else 0)
    return span


def _cut(family: HintFamily, span: int) -> set[int]:
    """What the masks of the family have in common with `span`, but for the empty mask."""
    cut = {mask & span for mask in family.extras}
    if family.in_rule(family.ground):
        cut.update([mask for mask, _ in narrowed_to(family, span).listed() if mask is not None])
    return cut


def _common_ground(families: Iterable[HintFamily], ground: int) -> int:
    for family in families:
        ground &= family.ground
    return ground


def _ranked(mask: int, distances: DistanceRows | None) -> RankedMask:
    return (0 if distances is None else distance_sum(mask, distances)), mask


class _Branch:
    """A pool of nodes, and the families that choose a hint in their rule."""

    def __init__(self, pool: int, families: Sequence[HintFamily]) -> None:
        self.pool = pool
        self.families = families
        self.test: MaskTest | None = None

    def best(self, size: int, distances: DistanceRows | None, than: RankedMask | None) -> RankedMask | None:
        """The best reachable mask of this size, if it is better than `than`."""
        if self.pool.bit_count() == size:
            whole = _ranked(self.pool, distances)
            return whole if than is None or whole < than else None
        if not self.families or self.pool.bit_count() < size:
            return None
        if self.test is None:
            self.test = self._new_test()
        return best_mask(self.pool, size, self.test, distances, than)

    def _new_test(self) -> MaskTest:
        if len(self.families) > 1:
            return ExactIntersectionTest(self.families, self.pool)
        return MembershipTest([narrowed_to(self.families[0], self.pool)], self.pool)


def _branches(written: Sequence[set[int]], lists: _Lists) -> Iterator[_Branch]:
    """One per choice of rule or extras for every family, and per pool that the written masks leave."""
    choices = [
        [by_rule for by_rule in (True, False) if (family.in_rule(family.ground) if by_rule else family.extras)]
        for family in lists.families
    ]
    for chosen in product(*choices):
        by_rule = [family for family, ruled in zip(lists.families, chosen, strict=True) if ruled]
        extras = [set(family.extras) for family, ruled in zip(lists.families, chosen, strict=True) if not ruled]
        common = _common_ground(by_rule, lists.ground)
        pools = dict.fromkeys([mask & common for mask in intersections([*written, *extras], lists.ground)])
        for pool in pools:
            if pool:
                yield _Branch(pool, by_rule)


def _best_of_branches(branches: Sequence[_Branch], wanted: int, lists: _Lists) -> int | None:
    """Of the number of nodes that is wanted, else the next smaller one, else the next larger one."""
    found = _best_of_size(branches, wanted, lists.distances)
    if found is not None:
        return found[1]
    # a pool that is large enough has no smaller mask either, and a smaller pool offers itself
    smaller = [branch.pool for branch in branches if branch.pool.bit_count() < wanted]
    if smaller:
        size = max(pool.bit_count() for pool in smaller)
        return fittest([pool for pool in smaller if pool.bit_count() == size], lists.distances)
    for size in range(wanted + 1, lists.ground.bit_count() + 1):
        found = _best_of_size(branches, size, lists.distances)
        if found is not None:
            return found[1]
    return None


def _best_of_size(branches: Sequence[_Branch], size: int, distances: DistanceRows | None) -> RankedMask | None:
    best: RankedMask | None = None
    for branch in branches:
        best = branch.best(size, distances, best) or best
    return best
