"""How a merge walked: the combinations of one hint per resource that matter, and what each becomes.

The engine reaches the kubelet's answer without combinations (`managers.topology.merge`). Here they are gone through as
the kubelet does, while they are few, for a reader who wants to see what was taken and what came near: the one that the
merge ends with, the nearest of the others, and how many there are besides.
"""

from collections.abc import Iterator
from itertools import islice, product
from typing import Literal

import msgspec

from numafit.bits import members
from numafit.decision.decision import MergeStep
from numafit.managers.topology.hint import HintFamily
from numafit.managers.topology.policy import SINGLE_NUMA_NODE

MOST_WALKED = 4096
"""Combinations that are looked at."""
MOST_LOSERS = 4

Lost = Literal["", "nothing-in-common", "not-preferred", "wider", "other-size", "tie"]
"""Why the merge does not end with it. `other-size`: on fewer nodes, while the kubelet takes of hints that are not
preferred the one that is nearest in size to what the managers need. `tie`: as good, and the other is nearer together or
has the lower numbers."""

WalkHint = tuple[int | None, bool]


class Pick(msgspec.Struct, frozen=True):
    """The hint of one resource. No nodes: any node will do."""

    resource: str
    nodes: tuple[int, ...] | None
    preferred: bool


class Combination(msgspec.Struct, frozen=True):
    picks: tuple[Pick, ...]
    nodes: tuple[int, ...]
    """What all hints have in common; empty: nothing, so the kubelet skips it."""
    preferred: bool
    best: bool
    """The merge ends with it."""
    lost: Lost = ""


class Walk(msgspec.Struct, frozen=True):
    combinations: int | None
    """How many there are; null when the hints of a machine with many NUMA nodes are described, not listed."""
    filtered: int
    """Hints that the policy dropped before: single-numa-node takes preferred hints of one node only."""
    shown: tuple[Combination, ...]
    """The best first, if there is one; then of each other result the first, the nearest results first."""
    walked: int = 0
    """So many were looked at, in the kubelet's order."""
    apart: int = 0
    """So many of these have nothing in common."""


def walk_of(step: MergeStep, policy: str, ground: int, *, equal_masks: bool) -> Walk:
    """`ground` are all NUMA nodes of the machine; `equal_masks`: only equal masks merge to a preferred hint (1.24)."""
    lists: list[tuple[str, list[WalkHint]]] = []
    filtered = 0
    for own in step.providers:
        for resource, hints in (own or {}).items():
            if isinstance(hints, HintFamily):
                return Walk(None, 0, ())
            if hints is None:
                continue
            kept = [hint for hint in hints if policy != SINGLE_NUMA_NODE or _is_single(hint)]
            filtered += len(hints) - len(kept)
            # A resource that cannot be satisfied takes part as "any node, not preferred"; single-numa-node drops that.
            lists.append((resource, kept or ([] if policy == SINGLE_NUMA_NODE else [(None, False)])))
    if not lists:
        return Walk(0, filtered, ())
    total = 1
    for _, listed in lists:
        total *= len(listed)
    names = [resource for resource, _ in lists]
    found: dict[WalkHint, tuple[WalkHint, ...]] = {}
    walked = apart = 0
    for hints in islice(_walk([listed for _, listed in lists], step.best), MOST_WALKED):
        result = _result(hints, ground, equal_masks)
        walked += 1
        apart += not result[0]
        found.setdefault(result, hints)
    winner = step.best if step.best in found and step.best[0] else None
    losers = sorted((result for result in found if result != winner), key=_nearness)
    if any(mask for mask, _ in losers) or winner:
        losers = [result for result in losers if result[0]]
    chosen = [*([winner] if winner else []), *losers[: MOST_LOSERS if losers and losers[0][0] else 1]]
    shown = tuple(_combination(names, found[result], result, winner) for result in chosen)
    return Walk(total, filtered, shown, min(walked, total), apart)


def _walk(lists: list[list[WalkHint]], best: WalkHint) -> Iterator[tuple[WalkHint, ...]]:
    """In the kubelet's order. Of more than can be looked at, one that ends in `best` comes first, where its hints say
    just that."""
    total = 1
    for listed in lists:
        total *= len(listed)
    if total > MOST_WALKED:
        same = [[hint for hint in listed if hint[0] in (best[0], None)] for listed in lists]
        if all(same) and any(hint[0] == best[0] for listed in same for hint in listed):
            yield tuple(max(listed, key=lambda hint: (hint[0] == best[0], hint[1] == best[1])) for listed in same)
    yield from product(*lists)


def _nearness(result: WalkHint) -> tuple[bool, bool, int, int]:
    """By how the kubelet compares: something in common, preferred, narrow, low."""
    mask, preferred = result
    return not mask, not preferred, (mask or 0).bit_count(), mask or 0


def _is_single(hint: WalkHint) -> bool:
    mask, preferred = hint
    return preferred and (mask is None or mask.bit_count() == 1)


def _result(hints: tuple[WalkHint, ...], ground: int, equal: bool) -> WalkHint:
    """What all have in common; 0: nothing."""
    common = ground
    for mask, _ in hints:
        common &= ground if mask is None else mask
    masks = {mask for mask, _ in hints if mask is not None}
    return common, all(good for _, good in hints) and (len(masks) <= 1 or not equal)


def _combination(
    names: list[str], hints: tuple[WalkHint, ...], result: WalkHint, winner: WalkHint | None
) -> Combination:
    picks = tuple(
        Pick(name, None if mask is None else tuple(members(mask)), good)
        for name, (mask, good) in zip(names, hints, strict=True)
    )
    return Combination(picks, tuple(members(result[0] or 0)), result[1], result == winner, _lost(result, winner))


def _lost(result: WalkHint, winner: WalkHint | None) -> Lost:
    if result == winner:
        return ""
    mask, preferred = result
    if not mask:
        return "nothing-in-common"
    if winner is None or winner[1] != preferred:
        return "not-preferred"
    more = mask.bit_count() - (winner[0] or 0).bit_count()
    return "wider" if more > 0 else "other-size" if more < 0 else "tie"
