"""How much a request needs from NUMA nodes together, and the fewest nodes that can give it."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import msgspec

from numafit.bits import members

_Vector = tuple[int, ...]


class Demand(msgspec.Struct, frozen=True):
    """A mask satisfies it if `free` of its nodes plus one for each mask in `shared` that it meets reaches `need`."""

    need: int
    free: Mapping[int, int]
    """NUMA id -> amount; an id that is missing has nothing."""
    shared: tuple[int, ...] = ()
    """Devices that sit on several nodes at once, each as the mask of its nodes."""

    def amount(self, mask: int) -> int:
        free = self.free
        amount = sum([free.get(i, 0) for i in members(mask)])
        if self.shared:
            amount += sum([1 for nodes in self.shared if nodes & mask])
        return amount

    def holds(self, mask: int) -> bool:
        return self.amount(mask) >= self.need

    def at_most(self, node: int) -> int:
        """What adding `node` to a mask can bring."""
        return self.free.get(node, 0) + sum([1 for nodes in self.shared if nodes >> node & 1])


def fewest_nodes(ground: int, demands: Sequence[Demand], touch: Sequence[int] = ()) -> int | None:
    """The size of the smallest non-empty mask in `ground` that meets all of `touch` and satisfies all demands."""
    if len(demands) == 1 and not touch and not demands[0].shared:
        return _fewest_of_one(ground, demands[0])
    if not ground:
        return None
    required = 0
    open_demands = list(demands)
    for nodes in touch:
        nodes &= ground
        if nodes & (nodes - 1):
            open_demands.append(Demand(1, {}, (nodes,)))
        else:
            required |= nodes
        if not nodes:
            return None
    if not all(demand.holds(ground) for demand in open_demands):
        return None
    open_demands = [demand for demand in open_demands if not demand.holds(required)]
    if not open_demands:
        return max(1, required.bit_count())
    rest = ground & ~required
    if any(demand.shared for demand in open_demands):
        return _fewest_by_search(required, rest, open_demands)
    return required.bit_count() + _fewest_by_fronts(required, rest, open_demands)


def _fewest_of_one(ground: int, demand: Demand) -> int | None:
    free, need = demand.free, demand.need
    amount = 0
    for count, most in enumerate(sorted([free.get(i, 0) for i in members(ground)], reverse=True), 1):
        amount += most
        if amount >= need:
            return count
    return None


def _fewest_by_fronts(required: int, rest: int, demands: Sequence[Demand]) -> int:
    """Additive demands: for each number of nodes keep the amounts that no other choice of as many nodes beats."""
    missing = tuple(demand.need - demand.amount(required) for demand in demands)
    nothing: _Vector = (0,) * len(missing)
    fronts: list[list[_Vector]] = [[nothing]]
    fewest = rest.bit_count()
    for i in members(rest):
        gain = [demand.free.get(i, 0) for demand in demands]
        fronts.append([])
        for count in range(len(fronts) - 2, -1, -1):
            grown = [
                tuple([min(a + g, most) for a, g, most in zip(v, gain, missing, strict=True)]) for v in fronts[count]
            ]
            fronts[count + 1] = _unbeaten(fronts[count + 1] + grown)
            if missing in fronts[count + 1]:
                fewest = min(fewest, count + 1)
        del fronts[fewest + 1 :]
    return fewest


def _unbeaten(vectors: Sequence[_Vector]) -> list[_Vector]:
    kept: list[_Vector] = []
    for vector in sorted(set(vectors), reverse=True):
        if not any(all(a >= b for a, b in zip(better, vector, strict=True)) for better in kept):
            kept.append(vector)
    return kept


def _fewest_by_search(required: int, rest: int, demands: Sequence[Demand]) -> int:
    """Shared devices count once however many of their nodes are chosen: try every number of nodes, pruned by what
    the best remaining nodes could bring."""
    ids = list(members(rest))
    bounds = [
        [[0, *accumulate(sorted([demand.at_most(i) for i in ids[start:]], reverse=True))] for demand in demands]
        for start in range(len(ids) + 1)
    ]

    def satisfiable(mask: int, start: int, more: int) -> bool:
        if len(ids) - start < more:
            return False
        for demand, bound in zip(demands, bounds[start], strict=True):
            if demand.amount(mask) + bound[more] < demand.need:
                return False
        if more == 0:
            return True
        return any(satisfiable(mask | 1 << ids[at], at + 1, more - 1) for at in range(start, len(ids)))

    more = 1
    while not satisfiable(required, 0, more):
        more += 1
    return required.bit_count() + more
