"""Which NUMA nodes give what equal shares leave over: one group each in turn, so that the free CPUs stay even.

The kubelet tries all subsets of the nodes, larger ones first, and keeps the first best. In a subset of at least as many
nodes as there are groups left, only the first ones give, one group each. In a smaller one all give, the first ones once
more than the others; as long as nobody runs out of CPUs, what a node saves depends on its place alone, and the first
best subset is found node by node.
"""

from collections.abc import Sequence
from itertools import combinations
from math import isqrt

import msgspec

from numafit.managers.cpu.distribute.bounds import Positions, most_saved
from numafit.managers.cpu.pick.errors import PickHangs


class Balance:
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
            # below 0 only for a limit that no giving reaches
            scaled = max(0, 1_000_000 * squares + self.offset)
            balance = (isqrt(4 * scaled // self.nodes) + 1) // 2
            self.known[squares] = balance
        return balance


class Remainder(msgspec.Struct, frozen=True):
    """`groups` of `group` CPUs each, to be given by nodes whose free CPUs squared add up to `squares` before."""

    groups: int
    group: int
    count: int
    """All CPUs asked for, the shares included."""
    squares: int
    balance_of: Balance
    whole: bool
    """Free CPUs come in whole groups: nobody gets stuck, and what cannot be best need not be looked at."""

    def balance(self, saved: int) -> int:
        return self.balance_of(self.squares - saved)

    def best_givers(self, left: Positions) -> tuple[int, Positions]:
        """The balance, and the positions in `left` that are to give: the first best, larger subsets first."""
        found: tuple[int, Positions] | None = None
        if self.groups <= len(left):
            found = self._one_each(left)
        for size in range(min(self.groups - 1, len(left)), 0, -1):
            better = self._in_turns(left, size, None if found is None else found[0])
            found = better or found
        if found is None:
            raise PickHangs(self.count, self.group)
        balance, subset = found
        return balance, as_overwritten(subset, len(left))

    def _one_each(self, left: Positions) -> tuple[int, Positions]:
        """The first subset, in the kubelet's order, that leaves the best balance when nodes give one group each."""
        rest, group = self.groups, self.group

        def balance(total: int) -> int:
            return self.balance(2 * group * total - rest * group * group)

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

    def _in_turns(self, left: Positions, size: int, limit: int | None) -> tuple[int, Positions] | None:
        """The first best subset of `size` nodes, if its balance is below `limit`."""
        if self.whole:
            if min(left) >= (self.groups // size + 1) * self.group:
                return self._nobody_runs_out(left, size, limit)
            richest = sorted(left)[-size:]
            if sum(richest) < self.groups * self.group:
                return None
            if limit is not None and self.balance(most_saved(richest, self.groups, self.group)) >= limit:
                return None
        found: tuple[int, Positions] | None = None
        for subset in combinations(range(len(left)), size):
            values = [left[i] for i in subset]
            if sum(values) < self.groups * self.group:
                continue
            balance = self.balance(self._round_robin(values))
            if limit is None or balance < limit:
                found, limit = (balance, subset), balance
        return found

    def _round_robin(self, values: list[int]) -> int:
        """By how much the sum of squares drops when the nodes give in turn, each as long as it can."""
        group, rest = self.group, self.groups
        before = sum([value * value for value in values])
        while rest:
            able = [i for i, value in enumerate(values) if value >= group]
            if not able:
                raise PickHangs(self.count, group)
            rounds = min(rest // len(able), min([values[i] for i in able]) // group)
            if rounds:
                for i in able:
                    values[i] -= rounds * group
                rest -= rounds * len(able)
            else:
                for i in able[:rest]:
                    values[i] -= group
                rest = 0
        return before - sum([value * value for value in values])

    def _nobody_runs_out(self, left: Positions, size: int, limit: int | None) -> tuple[int, Positions] | None:
        """As `_in_turns`, when any `size` nodes can give in turn to the end."""
        group = self.group
        turns, more = divmod(self.groups, size)
        squares = group * group * (size * turns * turns + more * (2 * turns + 1))

        def balance(given: int) -> int:
            return self.balance(2 * group * given - squares)

        most = _most_given(left, size, turns, more)
        best = balance(most[0][0])
        if limit is not None and best >= limit:
            return None
        givers: list[int] = []
        given = 0
        for i, value in enumerate(left):
            number = len(givers)
            if number == size:
                break
            own = value * (turns + (number < more))
            if len(left) - i >= size - number and balance(given + own + most[i + 1][number + 1]) == best:
                givers.append(i)
                given += own
        return best, tuple(givers)


def _most_given(left: Positions, size: int, turns: int, more: int) -> list[list[int]]:
    """[i][n]: the most that positions from `i` on add, after `n` others, to the sum of free CPUs times turns."""
    table = [[0] * (size + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for number in range(max(0, size - len(left) + i), size):
            most = left[i] * (turns + (number < more)) + table[i + 1][number + 1]
            # with as many positions as are missing, none can be left out
            table[i][number] = most if size - number == len(left) - i else max(most, table[i + 1][number])
    return table


def _largest(values: Sequence[int], number: int) -> int:
    return sum(sorted(values, reverse=True)[:number])


def as_overwritten(best: Positions, number: int, stop: Positions | None = None) -> Positions:
    """What stands where the kubelet kept `best`, out of `number` positions, once it walked on to `stop` or the end."""
    fresh = max(n for n in (1, 2, 3, 5, 9, 17, 33) if n <= len(best))
    beginning = best[:fresh]
    if stop is not None and stop[:fresh] == beginning:
        return stop
    return (*beginning, *range(number - (len(best) - fresh), number))
