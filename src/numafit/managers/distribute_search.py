"""Which NUMA nodes share the CPUs: the search of distribute-cpus-across-numa, without the kubelet's detours.

The kubelet walks all combinations of nodes and, for each, all subsets that could give the remainder
(`distribute_walk`). The choice here is the same, for three reasons:

- The free CPUs left over have the same sum whatever is chosen, so the balance (their standard deviation) depends only
  on the sum of their squares.
- In a subset of at least as many nodes as there are groups left, only the first ones give, one group each. So the best
  of these subsets gives from the nodes with most free CPUs, and the first best one is found node by node.
- What a combination is worth depends on the free CPUs of its nodes only, so equal ones are looked at once.

The kubelet's best combination changes under its walk because a Go slice shares its array with later ones. The array is
fresh for each new beginning of 1, 2, 3, 5, 9, 17 or 33 nodes; so what stands there at the end is the last combination
visited with the same beginning. Its free CPUs play no part any more.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isqrt

import msgspec

from numafit.managers.pick_errors import PickHangs

Positions = tuple[int, ...]


class Choice(msgspec.Struct, frozen=True):
    nodes: tuple[int, ...]
    """NUMA node ids, each of which gives the same share."""
    remainder: tuple[int, ...] = ()
    """NUMA node ids that give one group each in turn; not always among `nodes`."""


def search(
    order: Sequence[int],
    frees: Mapping[int, int],
    count: int,
    group: int,
    sizes: range,
    sockets: Mapping[int, frozenset[int]] | None,
) -> Choice | None:
    """The nodes, or None if no combination can share the CPUs evenly.

    `order`: NUMA nodes as the kubelet sorts them. `sizes`: how many of them to try. `sockets`: those of each node,
    given only if nodes of one socket are preferred.
    """
    values = [frees[numa] for numa in order]
    table = _Balance(sum(values) - count, len(values))
    for size in sizes:
        found = _best_of_size(values, count, group, size, table, order, sockets)
        if found is not None:
            nodes, remainder = found
            return Choice(tuple(order[i] for i in nodes), tuple(order[i] for i in remainder))
    return None


class _Balance:
    """Sum of squares -> standard deviation. Mean and result are rounded to thousandths, halves up, as in the kubelet.

    Whole thousandths, computed exactly. The kubelet's floating point could differ only at an exact half, which needs
    64 NUMA nodes.
    """

    def __init__(self, total: int, nodes: int) -> None:
        self.mean = (2000 * total + nodes) // (2 * nodes)
        self.offset = nodes * self.mean * self.mean - 2000 * self.mean * total
        self.nodes = nodes
        self.known: dict[int, int] = {}

    def __call__(self, squares: int) -> int:
        balance = self.known.get(squares)
        if balance is None:
            scaled = 1_000_000 * squares + self.offset
            balance = (isqrt(4 * scaled // self.nodes) + 1) // 2
            self.known[squares] = balance
        return balance


def _best_of_size(
    values: Sequence[int],
    count: int,
    group: int,
    size: int,
    balance_of: _Balance,
    order: Sequence[int],
    sockets: Mapping[int, frozenset[int]] | None,
) -> tuple[Positions, Positions] | None:
    every = sum(value * value for value in values)
    wanted = count // group
    fair = wanted // size
    usable = [i for i, value in enumerate(values) if sockets is not None or value // group >= fair]
    known: dict[tuple[Positions, int], tuple[int, Positions]] = {}
    best: Positions | None = None
    best_remainder: Positions = ()
    best_balance, best_in_socket = -1, False
    for nodes in combinations(usable, size):
        picked = [values[i] for i in nodes]
        if sum(value // group for value in picked) < wanted:
            continue
        each = fair if sockets is None else min(fair, *(value // group for value in picked))
        share = each * group
        squares = every + size * share * share - 2 * share * sum(picked)
        rest = wanted - each * size
        remainder: Positions = ()
        if rest == 0:
            balance = balance_of(squares)
        else:
            givers = [i for i in nodes if values[i] - share >= group]
            left = tuple(values[i] - share for i in givers)
            key = left, squares
            if key not in known:
                known[key] = _best_remainder(left, rest, group, squares, balance_of, count)
            balance, chosen = known[key]
            remainder = tuple(givers[i] for i in chosen)

        in_socket = sockets is not None and len(frozenset[int]().union(*(sockets[order[i]] for i in nodes))) <= 1
        better = in_socket if in_socket != best_in_socket else best is None or balance < best_balance
        if better:
            best, best_remainder, best_balance, best_in_socket = nodes, remainder, balance, in_socket
            if balance == 0 and (sockets is None or in_socket):
                return _shown(best, len(values), stop=_successor(best, len(values))), best_remainder
    return None if best is None else (_shown(best, len(values)), best_remainder)


def _best_remainder(
    left: Positions, rest: int, group: int, squares: int, balance_of: _Balance, count: int
) -> tuple[int, Positions]:
    """The balance and the positions in `left` that are to give `rest` groups.

    Larger subsets come first; a tie stays with the first.
    """
    found: tuple[int, Positions] | None = None
    if rest <= len(left):
        found = _one_each(left, rest, group, squares, balance_of)
    for size in range(min(rest - 1, len(left)), 0, -1):
        for subset in combinations(range(len(left)), size):
            values = [left[i] for i in subset]
            if sum(values) < rest * group:
                continue
            balance = balance_of(squares + _round_robin(values, rest, group, count))
            if found is None or balance < found[0]:
                found = balance, subset
    if found is None:
        raise PickHangs(count, group)
    balance, subset = found
    return balance, _shown(subset, len(left))


def _one_each(left: Positions, rest: int, group: int, squares: int, balance_of: _Balance) -> tuple[int, Positions]:
    """The first subset, in the kubelet's order, that leaves the best balance when `rest` nodes give one group each."""

    def balance(total: int) -> int:
        return balance_of(squares + rest * group * group - 2 * group * total)

    best = balance(_largest(left, rest))
    # The larger the subset, the earlier it comes, and the nearer to the front its giving nodes must stand.
    reach = next(n for n in range(rest, len(left) + 1) if balance(_largest(left[:n], rest)) == best)
    givers: list[int] = []
    given = 0
    for i in range(reach):
        missing = rest - len(givers) - 1
        if missing < 0:
            break
        if balance(given + left[i] + _largest(left[i + 1 : reach], missing)) == best and reach - i > missing:
            givers.append(i)
            given += left[i]
    filled = len(left) - reach
    return best, (*givers, *range(givers[-1] + 1, givers[-1] + 1 + filled))


def _largest(values: Sequence[int], number: int) -> int:
    return sum(sorted(values, reverse=True)[:number])


def _round_robin(values: list[int], rest: int, group: int, count: int) -> int:
    """By how much the sum of squares changes when the nodes give `rest` groups in turn, each as long as it can."""
    before = sum(value * value for value in values)
    while rest:
        able = [i for i, value in enumerate(values) if value >= group]
        if not able:
            raise PickHangs(count, group)
        rounds = min(rest // len(able), min(values[i] for i in able) // group)
        if rounds:
            for i in able:
                values[i] -= rounds * group
            rest -= rounds * len(able)
        else:
            for i in able[:rest]:
                values[i] -= group
            rest = 0
    return sum(value * value for value in values) - before


def _shown(best: Positions, number: int, stop: Positions | None = None) -> Positions:
    """What stands where the kubelet kept `best`, out of `number` positions, once it walked on to `stop` or the end."""
    fresh = max(n for n in (1, 2, 3, 5, 9, 17, 33) if n <= len(best))
    beginning = best[:fresh]
    if stop is not None and stop[:fresh] == beginning:
        return stop
    return (*beginning, *range(number - (len(best) - fresh), number))


def _successor(positions: Positions, number: int) -> Positions:
    """The next combination in lexicographic order; the same one if it is the last."""
    size = len(positions)
    for i in range(size - 1, -1, -1):
        if positions[i] < number - size + i:
            first = positions[i] + 1
            return (*positions[:i], *range(first, first + size - i))
    return positions
