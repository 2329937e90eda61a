"""What the topology manager makes of all hints: one mask, preferred or not, and whether the policy admits it.

The kubelet combines one hint of each list by AND, for every permutation, and keeps the best. Here the same answer comes
without permutations, in two stages.

1. Preferred: since 1.24 a merged hint is preferred only if all its masks are equal and all hints preferred. So the
   candidates are the masks that are preferred in every list: an intersection of sets.
2. Otherwise nothing preferred is left, and the candidates are all ANDs of one mask per list (`intersections`). The
   best has as many nodes as the list that needs the most (`nodes_wanted`), else the next smaller number, else the next
   larger one.

Up to 1.23 masks of a preferred hint may differ, and the narrowest mask wins in both stages.
"""

from collections.abc import Sequence

import msgspec

from numafit.bits import members
from numafit.ledger.ledger import Hint
from numafit.managers.topology.hint import EXPLICIT_NODES, HintFamily, HintList, ProviderHints, mask_union
from numafit.managers.topology.hint_order import DistanceRows, closest_in_size, narrowest, nodes_wanted, rows_too_short
from numafit.managers.topology.intersections import intersections
from numafit.managers.topology.permutations import too_large_to_walk, walk_permutations
from numafit.managers.topology.policy import BEST_EFFORT, SINGLE_NUMA_NODE
from numafit.settings.versions import Behaviour

_Lists = list[tuple[Hint, ...] | HintFamily]


class Merge(msgspec.Struct, frozen=True):
    best: Hint
    admit: bool


def merge(
    policy: str,
    providers: Sequence[ProviderHints],
    numa_nodes: int,
    *,
    behaviour: Behaviour,
    distances: DistanceRows | None = None,
) -> Merge:
    """Merge the hints of all providers. Policy none never merges.

    `numa_nodes` holds all nodes of the machine, those without CPUs too; families must lie inside it. `distances` are
    given only with prefer-closest-numa-nodes. Raises KubeletPanic where the kubelet reads beyond a distance row.
    """
    if policy == SINGLE_NUMA_NODE:
        return _single(providers, numa_nodes)
    if distances is None and behaviour.merge_equal_masks:
        node = _first_common_node(providers, numa_nodes)
        if node:
            return Merge((node, True), True)
    lists, possible = _constraints(providers)
    found = _best(lists, possible, numa_nodes, behaviour, distances)
    if found is None:
        found = (numa_nodes, False)
    return Merge(found, policy == BEST_EFFORT or found[1])


def _constraints(providers: Sequence[ProviderHints]) -> tuple[_Lists, bool]:
    """The lists that say something, and whether every resource can be satisfied at all.

    A list of (any node, preferred) changes no permutation, so "no preference" is left out. An empty list stands for
    (any node, not preferred): it makes every permutation non-preferred and changes no mask.
    """
    lists: _Lists = []
    possible = True
    for hints in providers:
        if not hints:
            continue
        for listed in hints.values():
            if listed is None:
                continue
            if listed.empty() if isinstance(listed, HintFamily) else not listed:
                possible = False
            else:
                lists.append(listed)
    return lists, possible


def _best(
    lists: _Lists, possible: bool, ground: int, behaviour: Behaviour, distances: DistanceRows | None
) -> tuple[int, bool] | None:
    if not behaviour.merge_equal_masks:
        # these releases refuse machines of more than 8 nodes, so a list is never long
        return _best_until_1_23(_written(lists), possible, ground)
    if distances is not None and rows_too_short(ground, distances):
        listed = _written(lists)
        return walk_permutations(
            listed if possible else [*listed, ((None, False),)], ground, nodes_wanted(listed), distances
        )
    explicit = [hints for hints in lists if not isinstance(hints, HintFamily)]
    if len(explicit) < len(lists):
        families = [hints for hints in lists if isinstance(hints, HintFamily)]
        # Only machines with many NUMA nodes need this, and a command starts quicker without it.
        from numafit.managers.topology.many_nodes.family_merge import merge_families

        return merge_families(explicit, families, possible, ground, distances)
    if possible:
        mask = narrowest(_common(explicit, ground), distances)
        if mask is not None:
            return mask, True
    reached = intersections(
        [{ground if mask is None else mask & ground for mask, _ in hints} for hints in explicit], ground
    )
    mask = closest_in_size(reached, nodes_wanted(explicit), distances)
    return None if mask is None else (mask, False)


def _written(lists: _Lists) -> list[tuple[Hint, ...]]:
    for hints in lists:
        if isinstance(hints, HintFamily) and hints.ground.bit_count() > 2 * EXPLICIT_NODES:
            raise too_large_to_walk()
    return [hints.listed() if isinstance(hints, HintFamily) else hints for hints in lists]


def _best_until_1_23(lists: Sequence[tuple[Hint, ...]], possible: bool, ground: int) -> tuple[int, bool] | None:
    for preferred in (True, False):
        if preferred and not possible:
            continue
        mask = narrowest(
            intersections(
                [{ground if m is None else m & ground for m, p in hints if p or not preferred} for hints in lists],
                ground,
            )
        )
        if mask is not None:
            return mask, preferred
    return None


def _common(lists: Sequence[tuple[Hint, ...]], ground: int) -> set[int]:
    """The masks, cut to `ground`, of all preferred merged hints."""
    return _shared([{mask for mask, preferred in hints if preferred} for hints in lists], ground)


def _shared(preferred: Sequence[set[int | None]], ground: int) -> set[int]:
    """What equal masks, one of each set, can give; None in a set leaves the choice to the others."""
    constrained = [masks for masks in preferred if None not in masks]
    if constrained:
        # masks are compared before they are cut: two that differ only outside the machine are different
        return {mask & ground for mask in constrained[0].intersection(*constrained[1:]) if mask is not None}
    return {ground, *[mask & ground for masks in preferred for mask in masks if mask is not None]}


def _single(providers: Sequence[ProviderHints], ground: int) -> Merge:
    """Only preferred hints of one node, or of any, take part. A mask of all nodes is stored as none."""
    pool, _ = _common_nodes(providers, ground)
    if pool < 0:
        pool = mask_union(
            [
                mask & ground
                for hints in providers
                for listed in (hints or {}).values()
                for mask, preferred in (listed if isinstance(listed, tuple) else ())
                if preferred and mask is not None and mask.bit_count() == 1
            ]
        )
        if not pool:
            return Merge((None, ground != 0), ground != 0)
    pool &= ground
    node = pool & -pool
    if not node:
        return Merge((None, False), False)
    return Merge((None if node == ground else node, True), True)


def _first_common_node(providers: Sequence[ProviderHints], ground: int) -> int:
    """The lowest node that every list prefers by itself: the best hint there can be. 0 if this does not settle it."""
    pool, wide = _common_nodes(providers, ground)
    # a wider mask that reaches beyond the machine may be cut to one node
    if pool < 0 or wide & ~ground:
        return 0
    pool &= ground
    return pool & -pool


def _common_nodes(providers: Sequence[ProviderHints], ground: int) -> tuple[int, int]:
    """The nodes that every list prefers by themselves, and all nodes of wider preferred masks, as masks.

    Lists that prefer any node leave the choice to the others; the first mask is -1 when no list constrains it.
    """
    common, wide = -1, 0
    last: HintList = None
    for hints in providers:
        if not hints:
            continue
        for listed in hints.values():
            # often all resources have the same hints
            if listed is None or listed == last:
                continue
            last = listed
            own = 0
            if isinstance(listed, HintFamily):
                own = mask_union([1 << i for i in members(ground) if listed.preferred(1 << i) and listed.holds(1 << i)])
            else:
                for mask, preferred in listed:
                    if preferred:
                        if mask is None:
                            own = -1
                            break
                        if mask & (mask - 1):
                            wide |= mask
                        else:
                            own |= mask
            if not own:
                return 0, 0
            common &= own
    return common, wide
