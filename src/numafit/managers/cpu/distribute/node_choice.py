"""Which NUMA nodes share the CPUs: the search of distribute-cpus-across-numa, without the kubelet's detours.

The kubelet walks all combinations of nodes and, for each, all subsets that could give the remainder
(`kubelet_walk`). The choice here is the same, for three reasons:

- The free CPUs left over have the same sum whatever is chosen, so the balance (their standard deviation) depends only
  on the sum of their squares.
- Nodes with many free CPUs make the best combinations, so most others can be ruled out beforehand
  (`bounds`), and the best subset for the remainder is found without trying all (`remainder`).
- What a combination is worth depends on the free CPUs of its nodes only, so equal ones are looked at once.

The kubelet's best combination changes under its walk because a Go slice shares its array with later ones. The array is
fresh for each new beginning of 1, 2, 3, 5, 9, 17 or 33 nodes; so what stands there at the end is the last combination
visited with the same beginning. Its free CPUs play no part any more.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

from numafit.managers.cpu.distribute.bounds import HeavyCombinations, Positions, most_saved
from numafit.managers.cpu.distribute.remainder import Balance, Remainder, as_overwritten


class ChosenNodes(msgspec.Struct, frozen=True):
    nodes: tuple[int, ...]
    """NUMA node ids, each of which gives the same share."""
    remainder: tuple[int, ...] = ()
    """NUMA node ids that give one group each in turn; not always among `nodes`."""


def choose_nodes(
    order: Sequence[int],
    frees: Mapping[int, int],
    count: int,
    group: int,
    sizes: range,
    sockets: Mapping[int, frozenset[int]] | None,
) -> ChosenNodes | None:
    """The nodes, or None if no combination can share the CPUs evenly.

    `order`: NUMA nodes as the kubelet sorts them. `sizes`: how many of them to try. `sockets`: those of each node,
    given only if nodes of one socket are preferred.
    """
    values = [frees[numa] for numa in order]
    table = Balance(sum(values) - count, len(values))
    for size in sizes:
        found = _best_of_size(values, count, group, size, table, order, sockets)
        if found is not None:
            nodes, remainder = found
            return ChosenNodes(tuple(order[i] for i in nodes), tuple(order[i] for i in remainder))
    return None


def _best_of_size(
    values: Sequence[int],
    count: int,
    group: int,
    size: int,
    balance_of: Balance,
    order: Sequence[int],
    sockets: Mapping[int, frozenset[int]] | None,
) -> tuple[Positions, Positions] | None:
    sharing = _Sharing(values, count, group, size, balance_of)
    if sockets is None:
        return sharing.first_best()
    best: Positions | None = None
    best_remainder: Positions = ()
    best_balance, best_in_socket = -1, False
    for nodes in combinations(range(len(values)), size):
        picked = [values[i] // group for i in nodes]
        if sum(picked) < sharing.wanted:
            continue
        balance, remainder = sharing.outcome(nodes, min(sharing.fair, *picked))
        in_socket = len(frozenset[int]().union(*(sockets[order[i]] for i in nodes))) <= 1
        better = in_socket if in_socket != best_in_socket else best is None or balance < best_balance
        if better:
            best, best_remainder, best_balance, best_in_socket = nodes, remainder, balance, in_socket
            if balance == 0 and in_socket:
                return as_overwritten(best, len(values), stop=_successor(best, len(values))), best_remainder
    return None if best is None else (as_overwritten(best, len(values)), best_remainder)


class _Sharing:
    """All combinations of one number of nodes."""

    def __init__(self, values: Sequence[int], count: int, group: int, size: int, balance_of: Balance) -> None:
        self.values = values
        self.count = count
        self.group = group
        self.size = size
        self.balance_of = balance_of
        self.wanted = count // group
        """In groups; likewise the next one."""
        self.fair = self.wanted // size
        self.every = sum(value * value for value in values)
        self.whole = group == 1 or not any(value % group for value in values)
        """Free CPUs come in whole groups: nobody gets stuck, and what cannot be best need not be looked at."""
        self.known: dict[tuple[Positions, int], tuple[int, Positions]] = {}

    def first_best(self) -> tuple[Positions, Positions] | None:
        """The first combination that leaves the best balance, and the nodes that give the rest."""
        values, number = self.values, len(self.values)
        usable = [i for i, value in enumerate(values) if value // self.group >= self.fair]
        heavy = self._heavy(usable) if self.whole and len(usable) >= self.size else None
        best: Positions | None = None
        best_remainder: Positions = ()
        best_balance = -1
        for nodes in combinations(usable, self.size) if heavy is None else heavy:
            if sum([values[i] // self.group for i in nodes]) < self.wanted:
                continue
            if best is not None and self.whole and self._at_best(nodes) >= best_balance:
                continue
            balance, remainder = self.outcome(nodes, self.fair)
            if best is None or balance < best_balance:
                best, best_remainder, best_balance = nodes, remainder, balance
                if balance == 0:
                    return as_overwritten(best, number, stop=_successor(best, number)), best_remainder
                if heavy is not None:
                    heavy.least = self._least_sum(usable, balance - 1)
        return None if best is None else (as_overwritten(best, number), best_remainder)

    def _heavy(self, usable: Sequence[int]) -> HeavyCombinations:
        """The combinations that may be as good as the one of the nodes with most free CPUs."""
        richest = tuple(sorted(sorted(usable, key=lambda i: self.values[i])[-self.size :]))
        least = self.count
        if sum([self.values[i] for i in richest]) >= self.count:
            balance, _ = self.outcome(richest, self.fair)
            least = self._least_sum(usable, balance)
        return HeavyCombinations(self.values, usable, self.size, least)

    def _least_sum(self, usable: Sequence[int], limit: int) -> int:
        """The free CPUs that a combination must have to leave a balance of `limit` or better."""
        share = self.fair * self.group
        most = sum(sorted([self.values[i] for i in usable])[-self.size :])
        saved = most_saved([self.values[i] - share for i in usable], self.wanted - self.fair * self.size, self.group)

        def may_do(total: int) -> bool:
            return self.balance_of(self._squares(total, share) - saved) <= limit

        return self.count + bisect_left(range(self.count, most + 1), True, key=may_do)

    def _squares(self, total: int, share: int) -> int:
        """What all free CPUs squared add up to when nodes with `total` free CPUs have given `share` each."""
        return self.every + self.size * share * share - 2 * share * total

    def _at_best(self, nodes: Positions) -> int:
        share = self.fair * self.group
        picked = [self.values[i] for i in nodes]
        saved = most_saved([value - share for value in picked], self.wanted - self.fair * self.size, self.group)
        return self.balance_of(self._squares(sum(picked), share) - saved)

    def outcome(self, nodes: Positions, each: int) -> tuple[int, Positions]:
        """The balance when each node gives `each` groups, and the nodes that give the rest."""
        values, share = self.values, each * self.group
        squares = self._squares(sum([values[i] for i in nodes]), share)
        rest = self.wanted - each * self.size
        if rest == 0:
            return self.balance_of(squares), ()
        givers = [i for i in nodes if values[i] - share >= self.group]
        left = tuple([values[i] - share for i in givers])
        key = left, squares
        if key not in self.known:
            remainder = Remainder(rest, self.group, self.count, squares, self.balance_of, self.whole)
            self.known[key] = remainder.best_givers(left)
        balance, chosen = self.known[key]
        return balance, tuple([givers[i] for i in chosen])


def _successor(positions: Positions, number: int) -> Positions:
    """The next combination in lexicographic order; the same one if it is the last."""
    size = len(positions)
    for i in range(size - 1, -1, -1):
        if positions[i] < number - size + i:
            first = positions[i] + 1
            return (*positions[:i], *range(first, first + size - i))
    return positions
