"""The search for NUMA nodes to share CPUs, exactly as the kubelet walks it: one combination after the other.

It serves the machines on which a NUMA node appears twice in the order, because its CPUs lie in two sockets, and it is
the yardstick for `node_choice`, which comes to the same choice with less work.

The kubelet builds each combination by appending to a Go slice and keeps the best one without copying it. An append
writes into spare capacity where there is some, so combinations that begin alike share one array, and the one that was
kept changes under the walk. `_Slice` behaves like that.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isqrt

from numafit.managers.cpu.distribute.node_choice import ChosenNodes
from numafit.managers.cpu.pick.errors import PickHangs


class _Slice:
    """A Go slice: a length over an array that may be longer and may belong to others too."""

    def __init__(self, array: list[int], length: int) -> None:
        self.array = array
        self.length = length

    def append(self, item: int) -> "_Slice":
        capacity = len(self.array)
        array = self.array
        if self.length == capacity:
            array = [*array, *[0] * max(capacity, 1)]
        array[self.length] = item
        return _Slice(array, self.length + 1)

    def items(self) -> tuple[int, ...]:
        return tuple(self.array[: self.length])


def _each_combination(items: Sequence[int], size: int, visit: Callable[[_Slice], bool]) -> None:
    """Visits in lexicographic order until `visit` returns False."""

    def go_on(size: int, start: int, chosen: _Slice) -> bool:
        if size == 0:
            return visit(chosen)
        return all(go_on(size - 1, i + 1, chosen.append(items[i])) for i in range(start, len(items) - size + 1))

    if size >= 1:
        go_on(size, 0, _Slice([], 0))


def _imbalance(values: Iterable[int]) -> int:
    """The standard deviation in thousandths, rounded, around the mean in thousandths, rounded."""
    numbers = list(values)
    n = len(numbers)
    mean = (2000 * sum(numbers) + n) // (2 * n)
    squares = sum((1000 * number - mean) ** 2 for number in numbers)
    return (isqrt(4 * squares // n) + 1) // 2


def _give(after: dict[int, int], subset: Sequence[int], rest: int, group: int, count: int) -> None:
    while rest > 0:
        before = rest
        for numa in subset:
            if rest == 0:
                break
            if after[numa] >= group:
                after[numa] -= group
                rest -= group
        if rest == before:
            raise PickHangs(count, group)


def walk_nodes(
    order: Sequence[int],
    frees: Mapping[int, int],
    count: int,
    group: int,
    sizes: range,
    sockets: Mapping[int, frozenset[int]] | None,
) -> ChosenNodes | None:
    """See `node_choice.choose_nodes`."""
    for size in sizes:
        best: _Slice | None = None
        best_rest: _Slice | None = None
        best_balance: int | None = None
        best_in_socket = False

        def visit(combination: _Slice) -> bool:
            nonlocal best, best_rest, best_balance, best_in_socket
            if best_balance == 0 and (sockets is None or best_in_socket):
                return False
            nodes = combination.items()
            if sum(frees[numa] for numa in set(nodes)) < count:
                return True
            if sum(frees[numa] // group for numa in nodes) * group < count:
                return True
            each = count // len(nodes) // group * group
            if sockets is not None:
                each = min(each, *(frees[numa] // group * group for numa in nodes))
            if any(frees[numa] < each for numa in nodes):
                return True

            after = dict(frees)
            for numa in nodes:
                after[numa] -= each
            rest = count - each * len(nodes)
            givers = [numa for numa in nodes if after[numa] >= group]
            local: int | None = None
            local_rest: _Slice | None = None
            if rest == 0:
                local = _imbalance(after.values())

            def visit_rest(subset: _Slice) -> bool:
                nonlocal local, local_rest
                members = subset.items()
                if sum(after[numa] for numa in members) < rest:
                    return True
                left = dict(after)
                _give(left, members, rest, group, count)
                balance = _imbalance(left.values())
                if local is None or balance < local:
                    local, local_rest = balance, subset
                return True

            if rest > 0:
                for subset_size in range(len(givers), 0, -1):
                    _each_combination(givers, subset_size, visit_rest)

            in_socket = sockets is not None and len(frozenset[int]().union(*(sockets[numa] for numa in nodes))) <= 1
            better = local is not None and (best_balance is None or local < best_balance)
            if sockets is not None and in_socket != best_in_socket:
                better = in_socket
            if better:
                best, best_rest, best_balance, best_in_socket = combination, local_rest, local, in_socket
            return True

        _each_combination(order, size, visit)
        if best is not None:
            return ChosenNodes(nodes=best.items(), remainder=best_rest.items() if best_rest else ())
    return None
