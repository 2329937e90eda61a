"""All masks that arise when one mask is taken from each of several sets and they are combined by AND.

The plain way makes all pairs, set after set. For full lists over 8 nodes a transform is faster: let Z(x) be the number
of masks in a set that contain x. The Z of the AND-combination of two sets is the product of their Z, entry by entry,
and Z can be undone. The table of all Z lives in one big integer with a lane of 64 bits per mask, so that a step of the
transform is one shift, one AND and one addition for all masks together.
"""

import struct
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import compress
from operator import mul
from typing import NamedTuple

from numafit.bits import members

_LANE = 64
_PAIRS = 600
"""Up to so many pairs the plain way is faster than the transform."""
_LARGEST_TABLE = 12
"""Nodes; above it the tables grow larger than the pairs that they save."""


def intersections(sets: Iterable[Collection[int]], ground: int) -> set[int]:
    """Every AND of `ground` with one mask from each set; the empty mask too, if it arises."""
    waiting = sorted(sets, key=len, reverse=True)
    found = {ground}
    while waiting:
        masks = waiting[-1]
        if len(found) * len(masks) > _PAIRS and ground.bit_count() <= _LARGEST_TABLE:
            return _intersections_by_transform([found, *waiting], ground)
        waiting.pop()
        found = {one & other for one in found for other in masks}
    return found


class _Table(NamedTuple):
    masks: tuple[int, ...]
    """By lane: bit k of the lane number stands for the k-th id of the ground set."""
    lane: dict[int, int]
    steps: tuple[tuple[int, int], ...]
    """Per id: the distance in bits to the mask with that id, and the lanes of the masks without it."""
    layout: struct.Struct


@lru_cache(maxsize=16)
def _table(ground: int) -> _Table:
    masks = [0]
    for i in members(ground):
        masks += [mask | 1 << i for mask in masks]
    ones = (1 << _LANE) - 1
    steps = []
    for i in range(ground.bit_count()):
        without = sum(ones << _LANE * lane for lane in range(len(masks)) if not lane >> i & 1)
        steps.append((_LANE << i, without))
    return _Table(tuple(masks), {m: at for at, m in enumerate(masks)}, tuple(steps), struct.Struct(f"<{len(masks)}Q"))


def _intersections_by_transform(sets: Sequence[Collection[int]], ground: int) -> set[int]:
    table = _table(ground)
    # a lane never exceeds (number of masks) ** (number of sets)
    at_once = max(2, (_LANE - 1) // max(1, len(table.steps)))
    waiting = list(sets)
    found: Collection[int] = waiting.pop()
    while waiting:
        counts = _containing(found, ground, table)
        for _ in range(min(at_once - 1, len(waiting))):
            counts = tuple(map(mul, counts, _containing(waiting.pop(), ground, table)))
        whole = int.from_bytes(table.layout.pack(*counts), "little")
        for distance, without in table.steps:
            # no lane borrows: at each step a lane counts combinations
            whole -= whole >> distance & without
        found = set(compress(table.masks, table.layout.unpack(whole.to_bytes(table.layout.size, "little"))))
    return set(found)


def _containing(masks: Iterable[int], ground: int, table: _Table) -> tuple[int, ...]:
    """By lane: how many of `masks` contain the lane's mask."""
    lanes = bytearray(table.layout.size)
    lane, width = table.lane, _LANE // 8
    for mask in masks:
        lanes[lane[mask & ground] * width] = 1
    whole = int.from_bytes(lanes, "little")
    for distance, without in table.steps:
        whole += whole >> distance & without
    return table.layout.unpack(whole.to_bytes(table.layout.size, "little"))
