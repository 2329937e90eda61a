"""distribute-cpus-across-numa."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.bits import cpuset_text, mask_of, parse_cpuset
from numafit.machine.model import Machine
from numafit.machine.topology import cpu_topology
from numafit.managers.cpu.distribute.kubelet_walk import walk_nodes
from numafit.managers.cpu.distribute.node_choice import ChosenNodes, choose_nodes
from numafit.managers.cpu.distribute.shares import Distribution, distributed
from numafit.managers.cpu.pick.errors import PickError, PickHangs
from numafit.settings.versions import behaviour_of, parse_version
from tests.machine.shapes import of_cores, regular, requests, tidy_machines

V136, V137 = (behaviour_of(parse_version(text)) for text in ("1.36.4", "1.37"))
Find = Callable[[Sequence[int], Mapping[int, int], int, int, range, None], ChosenNodes | None]
LARGE = regular(8, 2, 128, 2)
QUAD = regular(4, 2, 40, 2)


@pytest.mark.parametrize(
    ("machine", "free", "group", "count", "expected"),
    [
        (LARGE, "0-255", 1, 100, "0-12,16-28,32-44,112-124,128-139,144-155,160-171,240-251"),
        (LARGE, "0-255", 2, 128, "0-47,112-175,240-255"),
        (
            LARGE,
            "0-255",
            2,
            170,
            "0-14,16-29,32-45,48-61,64-77,112-125,128-142,144-157,160-173,176-189,192-205,240-253",
        ),
        (QUAD, "0-79", 1, 26, "0-6,10-16,40-45,50-55"),
        (QUAD, "0-79", 2, 26, "0-6,10-15,40-46,50-55"),
        (QUAD, "0-8,10-18,20-48,50-58,60-79", 1, 62, "0-7,10-17,20-27,30-37,40-46,50-56,60-67,70-77"),
    ],
)
def test_the_kubelet_came_to_the_same(machine: Machine, free: str, group: int, count: int, expected: str) -> None:
    """Kubelet 1.36.4: results of its own code. Of 8 equal nodes, 4 needed, it takes 0, 1, 2 and 7."""
    taken = distributed(cpu_topology(machine, V136), V136, Distribution(count, group), parse_cpuset(free))
    assert cpuset_text(taken) == expected


def test_the_endless_search_is_reported() -> None:
    """Kubelet 1.36.4 never returns here: enough CPUs for the rest, but not in whole cores."""
    free = parse_cpuset("0-2,16-17,4-6,20-21,8-9,24-25,12,28")
    topology = cpu_topology(regular(4, 1, 16, 2), V136)
    with pytest.raises(
        PickHangs, match=r"^the kubelet hangs: distribute-cpus-across-numa wants 14 CPUs in groups of 2, "
    ):
        distributed(topology, V136, Distribution(14, 2), free)


def test_a_request_that_is_no_multiple_of_the_group_is_packed() -> None:
    """Kubelet 1.23 and later."""
    topology = cpu_topology(QUAD, V136)
    assert cpuset_text(distributed(topology, V136, Distribution(21, 2), topology.cpus)) == "0-10,40-49"


def test_a_node_that_slipped_in_can_be_too_full() -> None:
    """Of the nodes 0 to 3, which have 4 free CPUs each, the last is overwritten by node 9, which has 3.

    Kubelet 1.23 to 1.36 miss the CPUs; 1.37 lowers the share to 3, has a rest to give and nobody to give it: it hangs.
    """
    machine = of_cores(*[(numa, numa // 4 and 1, 0, (4 * numa + i,)) for numa in range(10) for i in range(4)])
    free = mask_of(range(16)) | mask_of(4 * numa + i for numa in range(4, 10) for i in range(3))
    topology = cpu_topology(machine, V136)
    with pytest.raises(PickError, match=r"^accounting error, not enough CPUs allocated, remaining: 4$"):
        distributed(topology, V136, Distribution(16, 1), free)
    with pytest.raises(PickHangs):
        distributed(topology, V137, Distribution(16, 1), free)


def test_nodes_of_one_socket_are_preferred_to_balance() -> None:
    """Kubelet 1.37.0 with align-by-socket, results of its own code; without it balance alone decides."""
    topology = cpu_topology(regular(4, 2, 16), V137)
    free = topology.cpus & ~mask_of([0, 8])
    shares = (Distribution(7, 1), Distribution(7, 1, by_socket=True))
    assert [cpuset_text(distributed(topology, V137, share, free)) for share in shares] == ["4-7,12-14", "1-7"]


def test_a_numa_node_across_sockets_stands_in_the_order_twice() -> None:
    """Kubelet 1.36.4, results of its own code; the second request hangs it."""
    cores = [(0, 1)] * 2 + [(1, 1)] * 2 + [(2, 0)] * 3 + [(2, 1)]
    machine = of_cores(*[(numa, socket, 0, (cpu,)) for cpu, (numa, socket) in enumerate(cores)])
    taken = distributed(cpu_topology(machine, V136), V136, Distribution(4, 1), parse_cpuset("0,3-7"))
    assert cpuset_text(taken) == "4-7"

    cores = [(0, 0)] * 2 + [(1, 0)] + [(1, 1)] * 3 + [(2, 0)] * 3 + [(2, 1)] * 2
    machine = of_cores(*[(numa, socket, 0, (cpu,)) for cpu, (numa, socket) in enumerate(cores)])
    with pytest.raises(PickHangs):
        distributed(cpu_topology(machine, V136), V136, Distribution(8, 1), parse_cpuset("0-1,3-10"))


@pytest.mark.parametrize("find", [choose_nodes, walk_nodes])
def test_perfect_balance_ends_the_walk_one_step_late(find: Find) -> None:
    """Kubelet 1.23 and later: 0, 1, 2, 3 leave 3 CPUs everywhere; the step that notices it has put 4 in the place of
    3.
    """
    frees = dict(enumerate([6, 6, 6, 6, 3, 3, 3, 3]))
    assert find(range(8), frees, 12, 1, range(4, 5), None) == ChosenNodes(nodes=(0, 1, 2, 4))


@st.composite
def shares(draw: st.DrawFn) -> tuple[list[int], int, int]:
    """Free CPUs per NUMA node, a group size, and how many groups are wanted."""
    group = draw(st.sampled_from([1, 2, 4]))
    values = draw(st.lists(st.integers(1, 9), min_size=1, max_size=8).filter(lambda values: sum(values) >= group))
    return values, group, draw(st.integers(1, sum(values) // group))


@given(shares(), st.booleans())
def test_the_search_and_the_walk_choose_the_same(request: tuple[list[int], int, int], by_socket: bool) -> None:
    """Kubelet 1.23 to 1.37: the walk does what the kubelet does, step by step, with Go's slices."""
    values, group, wanted = request
    order = list(range(len(values)))[::-1]
    sockets = {i: frozenset([i % 2]) for i in order} if by_socket else None
    sizes = range(1, min(wanted, len(values)) + 1)
    results: list[ChosenNodes | str | None] = []
    for find in (choose_nodes, walk_nodes):
        try:
            results.append(find(order, dict(enumerate(values)), wanted * group, group, sizes, sockets))
        except PickHangs:
            results.append("hangs")
    assert results[0] == results[1]


@given(requests(tidy_machines()), st.booleans())
def test_exactly_the_wanted_number_comes_out_of_the_free_set(
    request: tuple[Machine, int, int], whole_cores: bool
) -> None:
    """Kubelet 1.36, on machines of equal cores and sockets, unless it hangs."""
    machine, free, count = request
    topology = cpu_topology(machine, V136)
    try:
        taken = distributed(topology, V136, Distribution(count, topology.cpus_per_core if whole_cores else 1), free)
    except PickHangs:
        return
    assert (taken.bit_count(), taken & ~free) == (count, 0)
