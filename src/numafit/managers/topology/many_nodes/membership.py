"""The rule of one or more families as a test for masks, prepared for many questions about the same nodes."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

from numafit.bits import members
from numafit.managers.topology.demand import Demand
from numafit.managers.topology.hint import HintFamily, mask_union

_CHUNK = 8


class NodeSums:
    """Sums of an amount per NUMA id over masks, by table: eight ids at a time."""

    def __init__(self, amounts: Sequence[int]) -> None:
        self.tables: list[list[int]] = []
        for start in range(0, len(amounts), _CHUNK):
            table = [0]
            for amount in amounts[start : start + _CHUNK]:
                table += [total + amount for total in table]
            self.tables.append(table)

    def of(self, mask: int) -> int:
        total = 0
        for table in self.tables:
            total += table[mask & 255]
            mask >>= _CHUNK
        return total


class _Part:
    """One demand, prepared for masks of `pool`."""

    def __init__(self, demand: Demand, pool: int) -> None:
        self.demand = demand
        self.shared = bool(demand.shared)
        ids = list(members(pool))
        gains = [demand.at_most(i) for i in ids]
        self.sums = NodeSums([demand.free.get(i, 0) if pool >> i & 1 else 0 for i in range(pool.bit_length())])
        self.tops = [[0, *accumulate(sorted(gains[:length], reverse=True))] for length in range(len(ids) + 1)]
        """[length][more]: the most that `more` of the lowest `length` nodes can bring."""
        self.values = sorted(set(gains))
        self.at_least = [sum([1 << i for i, gain in zip(ids, gains, strict=True) if gain >= v]) for v in self.values]

    def missing(self, chosen: int) -> int:
        return self.demand.need - (self.demand.amount(chosen) if self.shared else self.sums.of(chosen))

    def enough(self, amount: int) -> int:
        """The nodes that can bring `amount`."""
        at = bisect_left(self.values, amount)
        return self.at_least[at] if at < len(self.values) else 0


def narrowed_to(family: HintFamily, pool: int) -> HintFamily:
    """The rule for the nodes in `pool` when the hint takes all other nodes of its ground set anyway.

    The empty mask may satisfy such a rule too.
    """
    base = family.ground & ~pool
    demands = [
        Demand(demand.need - demand.amount(base), demand.free, tuple([s for s in demand.shared if not s & base]))
        for demand in family.demands
    ]
    touch = tuple([nodes for nodes in family.touch if not nodes & base])
    return HintFamily(family.ground & pool, tuple(demands), touch)


class MembershipTest:
    """Passes a mask of `pool` that is in the rule of each family. The ground sets contain `pool`."""

    def __init__(self, families: Sequence[HintFamily], pool: int, *, preferred: bool = False) -> None:
        """With `preferred`, families with sockets must prefer the mask too; for others its size decides."""
        self.parts = [_Part(demand, pool) for family in families for demand in family.demands]
        touch = [nodes for family in families for nodes in family.touch]
        self.required = mask_union([nodes for nodes in touch if nodes.bit_count() == 1])
        self.touch = [nodes for nodes in touch if nodes.bit_count() != 1]
        self.judges = [family for family in families if family.sockets_wanted is not None] if preferred else []
        self.exact = not any(part.shared for part in self.parts)

    def possible(self, chosen: int, below: int, more: int) -> bool:
        if more == 1:
            # `endings` sees at least as much
            return True
        either = chosen | below
        if self.required & ~either or (self.required & ~chosen).bit_count() > more:
            return False
        for nodes in self.touch:
            if not nodes & either:
                return False
        for family in self.judges:
            if not _may_be_preferred(family, chosen, either, more):
                return False
        length = below.bit_count()
        return all(part.missing(chosen) <= part.tops[length][more] for part in self.parts)

    def endings(self, chosen: int, below: int) -> int:
        required = self.required & ~chosen
        if required:
            if required & (required - 1):
                return 0
            below &= required
        for nodes in self.touch:
            if not nodes & chosen:
                below &= nodes
        for part in self.parts:
            missing = part.missing(chosen)
            if missing > 0:
                below &= part.enough(missing)
        return below

    def passes(self, mask: int) -> bool:
        if not self.exact and any(part.missing(mask) > 0 for part in self.parts):
            return False
        return all(family.preferred(mask) for family in self.judges)


def _may_be_preferred(family: HintFamily, chosen: int, either: int, more: int) -> bool:
    if family.sockets_wanted is None or chosen.bit_count() + more == family.size:
        return True
    met = sum([1 for nodes in family.sockets if nodes & chosen])
    most = sum([1 for nodes in family.sockets if nodes & either])
    return met <= family.sockets_wanted <= most
