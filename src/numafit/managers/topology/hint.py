"""Hints: NUMA masks in the kubelet's order, lists of them, and lists that are described instead of written.

Every provider emits the masks of a ground set that hold enough of something. A machine of 34 NUMA nodes has 2^34
masks, so a long list is kept as a family, by its rule: a mask is a hint if it lies in the ground set, meets every
mask in `touch` and satisfies every demand (a rule that is closed under supersets inside the ground set), or if it is
one of a few `extras`. On small machines `hints_of` writes the list out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, compress
from operator import itemgetter
from typing import NamedTuple

import msgspec

from numafit.bits import members
from numafit.ledger.ledger import Hint
from numafit.managers.topology.demand import Demand, fewest_nodes


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


EXPLICIT_NODES = 8
"""Ground sets up to this size are listed. A list doubles with each node, a search does not."""

_COUNTED_STATES = 50_000


class HintFamily(msgspec.Struct, frozen=True):
    ground: int
    demands: tuple[Demand, ...]
    touch: tuple[int, ...] = ()
    """Each of these masks must share a node with the hint."""
    size: int = 0
    """Hints of this many nodes are preferred; 0: none for its size."""
    sockets: tuple[int, ...] = ()
    sockets_wanted: int | None = None
    """Hints that meet this many masks of `sockets` are preferred as well (align-by-socket)."""
    extras: tuple[int, ...] = ()
    """Masks that are hints whatever the rule says."""

    def in_rule(self, mask: int) -> bool:
        """`holds` without the extras."""
        if mask & ~self.ground or not mask:
            return False
        for nodes in self.touch:
            if not nodes & mask:
                return False
        for demand in self.demands:  # noqa: SIM110 - a loop is faster than a generator here
            if not demand.holds(mask):
                return False
        return True

    def holds(self, mask: int) -> bool:
        return mask in self.extras or self.in_rule(mask)

    def preferred(self, mask: int) -> bool:
        if mask.bit_count() == self.size:
            return True
        if self.sockets_wanted is None:
            return False
        return sum([1 for nodes in self.sockets if nodes & mask]) == self.sockets_wanted

    def empty(self) -> bool:
        return not self.extras and not self.in_rule(self.ground)

    def narrowest(self) -> int | None:
        """The number of nodes in the smallest hint; None when there is no hint."""
        sizes = [extra.bit_count() for extra in self.extras]
        fewest = fewest_nodes(self.ground, self.demands, self.touch)
        if fewest is not None:
            sizes.append(fewest)
        return min(sizes, default=None)

    def listed(self) -> tuple[Hint, ...]:
        """Every hint, in the kubelet's order."""
        table = _table(self.ground, self.size, self.sockets, self.sockets_wanted)
        hints = tuple(_satisfying(table, self.demands))
        for nodes in self.touch:
            hints = tuple([hint for hint in hints if nodes & hint[0]])
        if not self.extras:
            return hints
        masks = {mask for mask, _ in hints}.union(self.extras)
        return tuple([(mask, self.preferred(mask)) for mask in sorted(masks, key=place_in_order)])

    def count(self) -> int | None:
        """How many hints there are, for a reader; None when finding out would take too long."""
        unlisted = sum([1 for extra in set(self.extras) if not self.in_rule(extra)])
        required = 0
        for nodes in self.touch:
            required |= nodes
        simple = all(nodes.bit_count() == 1 for nodes in self.touch) and not any(d.shared for d in self.demands)
        if not simple or required & ~self.ground:
            if self.ground.bit_count() > 2 * EXPLICIT_NODES:
                return None
            return unlisted + sum([1 for mask in masks_in_order(self.ground) if self.in_rule(mask)])
        missing = tuple([max(0, demand.need - demand.amount(required)) for demand in self.demands])
        ways = {missing: 1}
        for i in members(self.ground & ~required):
            gains = [demand.free.get(i, 0) for demand in self.demands]
            for still, number in list(ways.items()):
                less = tuple([max(0, a - gain) for a, gain in zip(still, gains, strict=True)])
                ways[less] = ways.get(less, 0) + number
            if len(ways) > _COUNTED_STATES:
                return None
        found = ways.get((0,) * len(missing), 0)
        # the empty mask is never a hint
        return unlisted + found - (1 if not required and not any(missing) else 0)


def hints_of(family: HintFamily) -> tuple[Hint, ...] | HintFamily:
    """The hints written out where the ground set is small, else the family; no hint at all gives the empty tuple."""
    if family.ground.bit_count() <= EXPLICIT_NODES:
        return family.listed()
    return () if family.empty() else family


def smallest_size(ground: int, demands: Sequence[Demand], default: int) -> int:
    """The number of nodes in the smallest mask of `ground` that satisfies all demands; `default` if none does."""
    if len(demands) != 1 and ground.bit_count() <= EXPLICIT_NODES:
        first = next(_satisfying(_table(ground, 0, (), None), demands), None)
        return default if first is None else first[0].bit_count()
    fewest = fewest_nodes(ground, demands)
    return default if fewest is None else fewest


class _Table(NamedTuple):
    """What all families over a ground set share. An index numbers a mask: bit k of it stands for the k-th id."""

    ids: tuple[int, ...]
    masks: tuple[int, ...]
    """By index, from 0."""
    reorder: Callable[[list[int]], Sequence[int]]
    """From index order, without the empty mask, to the kubelet's order."""
    hints: tuple[tuple[int, bool], ...]
    """All masks in the kubelet's order."""


@lru_cache(maxsize=64)
def _table(ground: int, size: int, sockets: tuple[int, ...], sockets_wanted: int | None) -> _Table:
    ids = tuple(members(ground))
    masks = [0]
    for i in ids:
        masks += [mask | 1 << i for mask in masks]
    index = {mask: at for at, mask in enumerate(masks)}
    ordered = masks_in_order(ground)
    # itemgetter with one item gives the item itself, so up to one mask a slice stands in
    reorder: Callable[[list[int]], Sequence[int]] = (
        itemgetter(*[index[mask] for mask in ordered]) if len(ordered) > 1 else itemgetter(slice(1, len(ordered) + 1))
    )
    judge = HintFamily(ground, (), size=size, sockets=sockets, sockets_wanted=sockets_wanted).preferred
    return _Table(ids, tuple(masks), reorder, tuple([(mask, judge(mask)) for mask in ordered]))


def _amounts(table: _Table, demand: Demand) -> list[int]:
    """What each mask holds, by index."""
    free = demand.free
    amounts = [0]
    for i in table.ids:
        here = free.get(i, 0)
        amounts += [amount + here for amount in amounts]
    for nodes in demand.shared:
        amounts = [amount + 1 if mask & nodes else amount for amount, mask in zip(amounts, table.masks, strict=True)]
    return amounts


def _satisfying(table: _Table, demands: Sequence[Demand]) -> Iterator[tuple[int, bool]]:
    """The hints of the table that satisfy all demands, in order."""
    if not demands:
        return iter(table.hints)
    enough = [map(demand.need.__le__, table.reorder(_amounts(table, demand))) for demand in demands]
    return compress(table.hints, enough[0] if len(enough) == 1 else map(all, zip(*enough, strict=True)))


HintList = tuple[Hint, ...] | HintFamily | None
"""Hints for one resource. None: no preference; the empty tuple: it cannot be satisfied."""

ProviderHints = Mapping[str, HintList] | None
"""Resource name -> hints. None and the empty mapping alike: no preference for anything."""
