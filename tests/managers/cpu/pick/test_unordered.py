"""The assignment of 1.20 and 1.21."""

from itertools import permutations

import pytest
from hypothesis import given

from numafit.bits import cpuset_text, parse_cpuset
from numafit.machine.model import Machine
from numafit.machine.topology import cpu_topology
from numafit.managers.cpu.pick.errors import PickError
from numafit.managers.cpu.pick.unordered import outcomes_unordered, take_unordered
from numafit.settings.versions import behaviour_of, parse_version
from tests.machine.shapes import machines, of_cores, regular, requests

V120, V121 = (behaviour_of(parse_version(text)) for text in ("1.20.1", "1.21"))
FIELD = regular(2, 2, 28)


def test_the_emptier_socket_comes_first_if_go_starts_at_socket_0() -> None:
    """Kubelet 1.20, 16 CPUs wanted, 13 free on socket 0 and 11 on socket 1: both outcomes were seen in the field."""
    topology = cpu_topology(FIELD, V120)
    free = parse_cpuset("1-13,17-27")
    assert cpuset_text(take_unordered(topology, V120, free, 16)) == "1-5,17-27"
    assert cpuset_text(take_unordered(topology, V120, free, 16, start_order=(1, 0))) == "1-13,17-19"
    outcomes = [cpuset_text(outcome) for outcome in outcomes_unordered(topology, V120, free, 16)]
    assert outcomes == ["1-5,17-27", "1-13,17-19"]


def test_a_socket_counts_as_free_by_the_number_of_numa_nodes() -> None:
    """Kubelet 1.20, 2 sockets of 2 NUMA nodes of 8 CPUs: a socket with half of its CPUs free is taken whole; not in
    1.21.
    """
    machine = regular(4, 2, 32)
    free = parse_cpuset("0-23")
    results = [cpuset_text(take_unordered(cpu_topology(machine, v), v, free, 20)) for v in (V120, V121)]
    assert results == ["0-11,16-23", "0-19"]


def test_a_socket_gives_only_its_free_cpus() -> None:
    """Kubelet 1.20, sockets of 6 and 10 CPUs, 8 on average: the larger one with 8 free is "free" and gives these."""
    cores = [(0, 0, 0, (cpu,)) for cpu in range(6)] + [(1, 1, 0, (cpu,)) for cpu in range(6, 16)]
    topology = cpu_topology(of_cores(*cores), V120)
    assert cpuset_text(take_unordered(topology, V120, parse_cpuset("0-5,8-15"), 8)) == "8-15"


@pytest.mark.parametrize(
    ("machine", "free", "count", "expected"),
    [
        (regular(2, 2, 10, 2), "0-18", 11, "0-4,9-14"),
        (regular(4, 4, 24, 2), "0-26,28-47", 3, "0,3,24"),
        (regular(2, 2, 16, 2), "0-5,28-31", 5, "0-4"),
        (regular(2, 2, 64, 2), "0-41,99-127", 42, "0-25,32,35-41,99-106"),
        (regular(1, 1, 16, 2), "0-9,13-31", 13, "0-6,16-21"),
    ],
)
def test_single_cpus_come_from_where_the_sort_leaves_them(
    machine: Machine, free: str, count: int, expected: str
) -> None:
    """Kubelet 1.20.1: recorded results in which a real sort by the same five criteria would differ."""
    taken = take_unordered(cpu_topology(machine, V120), V120, parse_cpuset(free), count)
    assert cpuset_text(taken) == expected


def test_too_large_a_request_is_refused_without_numbers() -> None:
    """Kubelet up to 1.28."""
    with pytest.raises(PickError, match=r"^not enough cpus available to satisfy request$"):
        take_unordered(cpu_topology(FIELD, V120), V120, 0b11, 3)


@given(requests(machines()))
def test_exactly_the_wanted_number_comes_out_of_the_free_set(request: tuple[Machine, int, int]) -> None:
    """Kubelet 1.20 and 1.21, on any machine: whole cores and sockets give free CPUs only."""
    machine, free, count = request
    for behaviour in (V120, V121):
        taken = take_unordered(cpu_topology(machine, behaviour), behaviour, free, count)
        assert (taken.bit_count(), taken & ~free) == (count, 0)


@given(requests(machines()))
def test_the_outcomes_are_those_of_all_start_orders(request: tuple[Machine, int, int]) -> None:
    """Kubelet 1.20: each start order of the sockets gives one of them, the ascending one the first, and none is told
    twice.
    """
    machine, free, count = request
    topology = cpu_topology(machine, V120)
    outcomes = list(outcomes_unordered(topology, V120, free, count))
    starts = permutations(sorted({cpu.socket for cpu in machine.cpus}))
    expected = [take_unordered(topology, V120, free, count, start_order=start) for start in starts]
    assert outcomes == list(dict.fromkeys(expected))
