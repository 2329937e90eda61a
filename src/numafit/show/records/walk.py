"""How a merge walked: the combinations of one hint per resource, and what each becomes.

The engine reaches the kubelet's answer without combinations (`managers.topology.merge`). Here they are written out for
a reader, as the kubelet goes through them, while they are few.
"""

from itertools import islice, product

import msgspec

from numafit.bits import members
from numafit.decision.decision import MergeStep
from numafit.managers.topology.hint import HintFamily
from numafit.managers.topology.policy import SINGLE_NUMA_NODE

MOST_SHOWN = 64

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


class Walk(msgspec.Struct, frozen=True):
    combinations: int | None
    """How many there are; null when the hints of a machine with many NUMA nodes are described, not listed."""
    filtered: int
    """Hints that the policy dropped before: single-numa-node takes preferred hints of one node only."""
    shown: tuple[Combination, ...]


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
    picked = islice(product(*(hints for _, hints in lists)), MOST_SHOWN)
    return Walk(total, filtered, tuple(_combination(names, hints, ground, step.best, equal_masks) for hints in picked))


def _is_single(hint: WalkHint) -> bool:
    mask, preferred = hint
    return preferred and (mask is None or mask.bit_count() == 1)


def _combination(
    names: list[str], hints: tuple[WalkHint, ...], ground: int, best: WalkHint, equal: bool
) -> Combination:
    common = ground
    for mask, _ in hints:
        common &= ground if mask is None else mask
    masks = {mask for mask, _ in hints if mask is not None}
    preferred = all(good for _, good in hints) and (len(masks) <= 1 or not equal)
    picks = tuple(
        Pick(name, None if mask is None else tuple(members(mask)), good)
        for name, (mask, good) in zip(names, hints, strict=True)
    )
    return Combination(picks, tuple(members(common)), preferred, bool(common) and (common, preferred) == best)
