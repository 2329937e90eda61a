"""The assignment of the kubelet 1.20 and 1.21: sockets, cores, CPUs, sorted by relations that are no order.

Two sorts matter. The sockets of the free cores come out of a Go map, so in random order, and "fewer free cores or
lower id" leaves part of that order standing: the result can be random. The cores of single CPUs start in ascending
order, so there the result is only peculiar. Whole sockets and cores give their free CPUs, never others.
"""

from collections.abc import Iterator, Sequence
from itertools import permutations

from numafit.golang.sort import go_sort
from numafit.machine.topology import CpuTopology
from numafit.managers.cpu.pick.errors import FAILED, PickError, not_enough
from numafit.managers.cpu.pick.packed import lowest
from numafit.settings.versions import Behaviour


def take_unordered(
    topology: CpuTopology, behaviour: Behaviour, free: int, count: int, start_order: Sequence[int] | None = None
) -> int:
    """`start_order`: socket ids as they come out of the Go map; ascending unless told. Sockets not named come last."""
    left, result, need = _after_sockets(topology, behaviour, free, count)
    if need < 1:
        return result
    sockets = _sockets_with_free(topology, left)
    if start_order is not None:
        place = {socket: i for i, socket in enumerate(start_order)}
        sockets.sort(key=lambda socket: place.get(socket, len(place)))
    free_cores = _free_cores(topology, left)
    _sort_sockets(sockets, free_cores)
    return _finish(topology, left, result, need, sockets, free_cores)


def outcomes_unordered(topology: CpuTopology, behaviour: Behaviour, free: int, count: int) -> Iterator[int]:
    """The distinct results over all start orders of the sockets, that of the ascending order first."""
    left, result, need = _after_sockets(topology, behaviour, free, count)
    if need < 1:
        yield result
        return
    ascending = _sockets_with_free(topology, left)
    free_cores = _free_cores(topology, left)
    numbers = [len(free_cores[socket]) for socket in ascending]
    starts: Iterator[tuple[int, ...]] = permutations(ascending)
    if need < topology.cpus_per_core or numbers == sorted(numbers):
        # no whole cores, or both halves of the relation agree and make it an order: one outcome
        starts = iter([tuple(ascending)])
    orders: set[tuple[int, ...]] = set()
    outcomes: set[int] = set()
    for start in starts:
        sockets = list(start)
        _sort_sockets(sockets, free_cores)
        order = tuple(sockets)
        if order in orders:
            continue
        orders.add(order)
        outcome = _finish(topology, left, result, need, sockets, free_cores)
        if outcome not in outcomes:
            outcomes.add(outcome)
            yield outcome


FreeCores = dict[int, list[int]]
"""Socket id -> the free CPUs of its free cores, by ascending core id."""


def _after_sockets(topology: CpuTopology, behaviour: Behaviour, free: int, count: int) -> tuple[int, int, int]:
    """Whole sockets by ascending id. Returns what is still free, the CPUs taken, and how many are still wanted."""
    left = free & topology.cpus
    if count > left.bit_count():
        raise not_enough(behaviour, count, free)
    result, need, size = 0, count, topology.cpus_per_socket
    if need >= size:
        for cpus in topology.sockets.values():
            if need < 1 or need < size:
                break
            part = left & cpus
            if part and part.bit_count() == size:
                result |= part
                need -= size
    return left & ~result, result, need


def _sockets_with_free(topology: CpuTopology, free: int) -> list[int]:
    return [socket for socket, cpus in topology.sockets.items() if free & cpus]


def _free_cores(topology: CpuTopology, free: int) -> FreeCores:
    size = topology.cpus_per_core
    return {
        socket: [free & core for core in cores if (free & core).bit_count() == size]
        for socket, cores in topology.socket_cores.items()
    }


def _sort_sockets(sockets: list[int], free_cores: FreeCores) -> None:
    go_sort(sockets, lambda one, other: len(free_cores[one]) < len(free_cores[other]) or one < other)


def _finish(
    topology: CpuTopology, free: int, result: int, need: int, sockets: Sequence[int], free_cores: FreeCores
) -> int:
    size = topology.cpus_per_core
    for core in (core for socket in sockets for core in free_cores[socket]):
        if need < size:
            break
        result |= core
        need -= size
        if need < 1:
            return result
    free &= ~result
    for part in _cpus_by_core(topology, free, result):
        if part.bit_count() >= need:
            return result | lowest(part, need)
        result |= part
        need -= part.bit_count()
    raise PickError(FAILED)


def _cpus_by_core(topology: CpuTopology, free: int, taken: int) -> list[int]:
    """The free CPUs of each core that has some, in the order in which single CPUs are taken."""
    sockets = {
        socket: (-(taken & cpus).bit_count(), (free & cpus).bit_count()) for socket, cpus in topology.sockets.items()
    }
    ranked = []
    for core, cpus in topology.cores.items():
        if part := free & cpus:
            socket = topology.cpu_socket[core]
            ranked.append((*sockets[socket], part.bit_count(), socket, core, part))
    # not a comparison of tuples: one smaller entry is enough, wherever it stands
    go_sort(ranked, lambda a, b: a[0] < b[0] or a[1] < b[1] or a[2] < b[2] or a[3] < b[3] or a[4] < b[4])
    return [part for *_, part in ranked]
