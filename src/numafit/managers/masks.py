"""NUMA masks in the kubelet's order, and the bare hint made of one."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import combinations

from numafit.machine.bits import members

Hint = tuple[int | None, bool]
"""(NUMA mask, preferred); mask None means any node."""


@lru_cache(maxsize=16)
def masks_in_order(ground: int) -> tuple[int, ...]:
    """All non-empty masks over `ground` in the kubelet's order: by size, then lexicographic on ascending ids."""
    bits = [1 << i for i in members(ground)]
    return tuple(sum(chosen) for size in range(1, len(bits) + 1) for chosen in combinations(bits, size))


def place_in_order(mask: int) -> tuple[int, int]:
    """Sort key of the same order for masks of any ground (ids 0 to 63)."""
    # lexicographic on ascending ids = the lowest id decides first: compare the masks with their bits reversed
    return mask.bit_count(), -int(f"{mask:064b}"[::-1], 2)


def mask_union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
