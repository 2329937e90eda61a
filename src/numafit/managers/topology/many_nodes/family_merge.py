"""The merge when some lists are families: the same answer as for the written lists, by search.

Both stages are those of `merge`. A preferred mask is searched among the masks of the preferred size. A non-preferred
one is searched branch by branch: in a branch every list is either a rule or one of its written masks (those of explicit
lists and extras, combined by AND). Inside a branch the reachable masks lie in a pool of nodes and stay reachable with
more nodes of the pool, up to the pool itself.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from numafit.ledger.ledger import Hint
from numafit.managers.topology.hint import HintFamily, mask_union
from numafit.managers.topology.hint_order import DistanceRows, closest_size, distance_sum, fittest
from numafit.managers.topology.intersections import intersections
from numafit.managers.topology.many_nodes.best_mask import MaskTest, RankedMask, best_mask
from numafit.managers.topology.many_nodes.exact_intersection import ExactIntersectionTest
from numafit.managers.topology.many_nodes.membership import MembershipTest, narrowed_to

_PROJECTED_NODES = 10
"""When all merged masks lie in so few nodes, the families are cut to these and written out."""

_Explicit = Sequence[tuple[Hint, ...]]


def merge_families(
    explicit: _Explicit, families: Sequence[HintFamily], possible: bool, ground: int, distances: DistanceRows | None
) -> tuple[int, bool] | None:
    """The best merged hint by the rules of 1.24 and later. No family is empty; `possible`: no other list is either."""
    if possible:
        mask = _preferred(explicit, families, ground, distances)
        if mask is not None:
            return mask, True
    mask = _reachable(explicit, families, ground, distances)
    return None if mask is None else (mask, False)


def _preferred(
    explicit: _Explicit, families: Sequence[HintFamily], ground: int, distances: DistanceRows | None
) -> int | None:
    written = [{mask for mask, preferred in hints if preferred} for hints in explicit]
    constrained = [masks for masks in written if None not in masks]
    candidates: set[int] = set()
    if constrained:
        candidates = {mask for mask in constrained[0].intersection(*constrained[1:]) if mask is not None}
    else:
        candidates = {mask for family in families for mask in family.extras}
    best = min(
        (
            (mask.bit_count(), 0 if distances is None else distance_sum(mask & ground, distances), mask & ground)
            for mask in candidates
            if mask & ground and all(family.holds(mask) and family.preferred(mask) for family in families)
        ),
        default=None,
    )
    if constrained:
        return None if best is None else best[2]
    pool = ground
    for family in families:
        pool &= family.ground
    sizes = {family.size for family in families if family.sockets_wanted is None}
    if len(sizes) > 1:
        return None if best is None else best[2]
    test = MembershipTest(families, pool, preferred=True)
    for size in sizes or range(1, pool.bit_count() + 1):
        if best is not None and best[0] < size:
            break
        found = best_mask(pool, size, test, distances, best[1:] if best is not None and best[0] == size else None)
        if found is not None:
            return found[1]
    return None if best is None else best[2]


def _reachable(
    explicit: _Explicit, families: Sequence[HintFamily], ground: int, distances: DistanceRows | None
) -> int | None:
    wanted = max([_narrowest(hints) for hints in explicit] + [family.narrowest() or 0 for family in families])
    written = [{ground if mask is None else mask & ground for mask, _ in hints} for hints in explicit]
    span = ground
    for masks in written:
        span &= mask_union(masks)
    for family in families:
        span &= mask_union(family.extras) | (family.ground if family.in_rule(family.ground) else 0)
    if span.bit_count() <= _PROJECTED_NODES:
        reached = intersections([*written, *[_cut(family, span) for family in families]], span)
        reached.discard(0)
        if not reached:
            return None
        size = closest_size({mask.bit_count() for mask in reached}, wanted)
        return fittest([mask for mask in reached if mask.bit_count() == size], distances)
    return _best_branch(list(_branches(written, families, ground)), wanted, ground, distances)


def _narrowest(hints: tuple[Hint, ...]) -> int:
    return min([mask.bit_count() for mask, _ in hints if mask is not None], default=0)


def _cut(family: HintFamily, span: int) -> set[int]:
    """What the masks of the family have in common with `span`, but for the empty mask."""
    cut = {mask & span for mask in family.extras}
    if family.in_rule(family.ground):
        cut.update([mask for mask, _ in narrowed_to(family, span).listed() if mask is not None])
    return cut


class _Branch:
    """A pool of nodes, and the families that choose a hint in their rule."""

    def __init__(self, pool: int, families: Sequence[HintFamily]) -> None:
        self.pool = pool
        self.families = families
        self.test: MaskTest | None = None

    def best(self, size: int, distances: DistanceRows | None, than: RankedMask | None) -> RankedMask | None:
        """The best reachable mask of this size, if it is better than `than`."""
        if self.pool.bit_count() == size:
            found = (0 if distances is None else distance_sum(self.pool, distances), self.pool)
            return found if than is None or found < than else None
        if not self.families or self.pool.bit_count() < size:
            return None
        if self.test is None:
            if len(self.families) > 1:
                self.test = ExactIntersectionTest(self.families, self.pool)
            else:
                self.test = MembershipTest([narrowed_to(self.families[0], self.pool)], self.pool)
        return best_mask(self.pool, size, self.test, distances, than)


def _branches(written: Sequence[set[int]], families: Sequence[HintFamily], ground: int) -> Iterator[_Branch]:
    seen = set()
    ways = [
        [way for way in (True, False) if (family.in_rule(family.ground) if way else family.extras)]
        for family in families
    ]
    for by_rule in product(*ways):
        ruled = [family for family, way in zip(families, by_rule, strict=True) if way]
        extras = [set(family.extras) for family, way in zip(families, by_rule, strict=True) if not way]
        common = ground
        for family in ruled:
            common &= family.ground
        for mask in intersections([*written, *extras], ground):
            pool = mask & common
            if pool and (pool, by_rule) not in seen:
                seen.add((pool, by_rule))
                yield _Branch(pool, ruled)


def _best_branch(branches: Sequence[_Branch], wanted: int, ground: int, distances: DistanceRows | None) -> int | None:
    found = _best_of_size(branches, wanted, distances)
    if found is None:
        # a pool that is large enough has no smaller mask either, and a smaller pool offers itself
        smaller = [branch.pool for branch in branches if branch.pool.bit_count() < wanted]
        if smaller:
            size = max(pool.bit_count() for pool in smaller)
            return fittest([pool for pool in smaller if pool.bit_count() == size], distances)
        for size in range(wanted + 1, ground.bit_count() + 1):
            found = _best_of_size(branches, size, distances)
            if found is not None:
                break
    return None if found is None else found[1]


def _best_of_size(branches: Sequence[_Branch], size: int, distances: DistanceRows | None) -> RankedMask | None:
    best: RankedMask | None = None
    for branch in branches:
        best = branch.best(size, distances, best) or best
    return best
