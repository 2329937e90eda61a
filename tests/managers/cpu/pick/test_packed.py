"""Best fit, against a plain version of the same rules and against vectors of the real kubelet."""

from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.bits import cpuset_text, mask_of, members, parse_cpuset
from numafit.machine.model import Machine
from numafit.machine.topology import CpuTopology, cpu_topology
from numafit.managers.cpu.pick.errors import PickError
from numafit.managers.cpu.pick.packed import lowest, packed
from numafit.settings.versions import Behaviour, behaviour_of, parse_version
from tests.machine.shapes import machines, of_cores, regular, requests, tidy_machines

V122, V127, V133, V136 = (behaviour_of(parse_version(text)) for text in ("1.22", "1.27", "1.33", "1.36"))
Find = Callable[[int], int]


class Plain:
    """The rules told one by one, with sets and no haste."""

    def __init__(self, topology: CpuTopology, behaviour: Behaviour, free: int, count: int) -> None:
        self.topology = topology
        self.behaviour = behaviour
        self.free = set(members(free)) & set(members(topology.cpus))
        self.need = count
        self.result: set[int] = set()
        self.numa_level = behaviour.cpu_sort == "numa"
        self.cpu_numa = {cpu: key for key, cpus in topology.numa_nodes.items() for cpu in members(cpus)}
        self.uncore = {cpu: key for key, cpus in topology.uncore_caches.items() for cpu in members(cpus)}

    def count_free(self, owner: dict[int, int], key: int) -> int:
        return sum(owner[cpu] == key for cpu in self.free)

    def sort(self, owner: dict[int, int], cpus: Iterable[int]) -> list[int]:
        return sorted({owner[cpu] for cpu in cpus}, key=lambda key: (self.count_free(owner, key), key))

    def inside(self, owner: dict[int, int], key: int) -> list[int]:
        return [cpu for cpu in self.free if owner[cpu] == key]

    def numa_nodes(self) -> list[int]:
        t = self.topology
        if t.numa_first:
            return self.sort(self.cpu_numa, self.free)
        sockets = self.sort(t.cpu_socket, self.free)
        return [numa for socket in sockets for numa in self.sort(self.cpu_numa, self.inside(t.cpu_socket, socket))]

    def sockets(self) -> list[int]:
        t = self.topology
        if not self.numa_level or not t.numa_first:
            return self.sort(t.cpu_socket, self.free)
        nodes = self.sort(self.cpu_numa, self.free)
        return [socket for numa in nodes for socket in self.sort(t.cpu_socket, self.inside(self.cpu_numa, numa))]

    def cores(self) -> list[int]:
        t = self.topology
        if not self.numa_level or t.numa_first:
            above, order = t.cpu_socket, self.sockets()
        else:
            above, order = self.cpu_numa, self.numa_nodes()
        return [core for key in order for core in self.sort(t.cpu_core, self.inside(above, key))]

    def uncore_caches(self) -> list[int]:
        return [key for numa in self.numa_nodes() for key in self.sort(self.uncore, self.inside(self.cpu_numa, numa))]

    def take(self, cpus: Iterable[int]) -> None:
        taken = set(cpus)
        self.result |= taken
        self.free -= taken
        self.need -= len(taken)

    def take_full(self, order: list[int], owner: dict[int, int], size: Find) -> None:
        whole = {key: {cpu for cpu in owner if owner[cpu] == key} for key in order}
        for key in [key for key in order if self.count_free(owner, key) == size(key)]:
            if self.need >= len(whole[key]):
                self.take(whole[key])

    def take_uncore(self) -> None:
        t = self.topology
        for key in self.uncore_caches():
            if self.need >= t.cpus_per_uncore:
                self.take_full(self.uncore_caches(), self.uncore, lambda key: t.uncore_caches[key].bit_count())
            if self.need < 1:
                return
            number = self.need // t.cpus_per_core
            if self.behaviour.uncore_odd:
                number = -(-self.need // t.cpus_per_core)
            cores = sorted({t.cpu_core[cpu] for cpu in self.inside(self.uncore, key)})[:number]
            cpus = sorted(cpu for cpu in self.free if t.cpu_core[cpu] in cores)
            if self.behaviour.uncore_odd and self.need % 2 and t.cpus_per_core > 1 and len(cpus) > self.need:
                cpus.pop()
            if len(cpus) == self.need:
                self.take(cpus)
                return

    def run(self, *, spread: bool, uncore: bool) -> int:
        t = self.topology
        for stage in (*self.stages(), *(["uncore"] if uncore else []), *([] if spread else ["core"])):
            if self.need < 1:
                break
            if stage == "numa":
                self.take_full(self.numa_nodes(), self.cpu_numa, lambda key: t.numa_nodes[key].bit_count())
            elif stage == "socket":
                self.take_full(self.sockets(), t.cpu_socket, lambda _: t.cpus_per_socket)
            elif stage == "uncore":
                self.take_uncore()
            else:
                self.take_full(self.cores(), t.cpu_core, lambda _: t.cpus_per_core)
        order, owner = (self.sockets(), t.cpu_socket) if spread else (self.cores(), t.cpu_core)
        for cpu in [cpu for key in order for cpu in sorted(self.inside(owner, key))]:
            if self.need > 0:
                self.take({cpu})
        return mask_of(self.result)

    def stages(self) -> list[str]:
        if not self.numa_level:
            return ["socket"]
        return ["numa", "socket"] if self.topology.numa_first else ["socket", "numa"]


@given(requests(machines()), st.sampled_from([V122, V127, V133, V136]), st.booleans(), st.booleans())
def test_the_result_is_that_of_the_plain_rules(
    request: tuple[Machine, int, int], behaviour: Behaviour, spread: bool, uncore: bool
) -> None:
    """Kubelet 1.22, 1.23 to 1.31, 1.32 and 1.33, 1.34 and later, on any machine."""
    machine, free, count = request
    topology = cpu_topology(machine, behaviour)
    uncore = uncore and behaviour.cpu_uncore_default
    expected = Plain(topology, behaviour, free, count).run(spread=spread, uncore=uncore)
    assert packed(topology, behaviour, free, count, spread=spread, uncore=uncore) == expected


@given(requests(tidy_machines()), st.sampled_from([V122, V127, V136]), st.booleans())
def test_exactly_the_wanted_number_comes_out_of_the_free_set(
    request: tuple[Machine, int, int], behaviour: Behaviour, spread: bool
) -> None:
    """All versions, on machines of equal cores and sockets."""
    machine, free, count = request
    taken = packed(cpu_topology(machine, behaviour), behaviour, free, count, spread=spread)
    assert (taken.bit_count(), taken & ~free) == (count, 0)


@given(st.sets(st.integers(0, 200)), st.integers(0, 210))
def test_the_lowest_members_are_taken(chosen: set[int], count: int) -> None:
    """All of them if there are fewer."""
    assert lowest(mask_of(chosen), count) == mask_of(sorted(chosen)[:count])


QUAD = regular(4, 2, 40, 2)
CACHES = of_cores(*[(0, 0, core // 4, (core, core + 8)) for core in range(8)])
HYBRID = of_cores((0, 0, 0, (0, 1)), (0, 0, 0, (2, 3)), (0, 0, 0, (4,)), (0, 0, 0, (5,)))
QUAD_USED = "1-9,12-39,41-49,51-79"


@pytest.mark.parametrize(
    ("machine", "free", "how", "count", "expected"),
    [
        (QUAD, "0-79", "", 3, "0-1,40"),
        (QUAD, "0-79", "", 21, "0-10,40-49"),
        (QUAD, "0-79", "", 60, "0-29,40-69"),
        (QUAD, QUAD_USED, "", 1, "51"),
        (QUAD, QUAD_USED, "", 3, "12,51-52"),
        (QUAD, QUAD_USED, "", 20, "20-29,60-69"),
        (QUAD, "0-79", "spread", 8, "0-7"),
        (CACHES, "1-7,9-15", "uncore", 3, "1-2,9"),
        (CACHES, "1-7,9-15", "uncore", 5, "1-3,9-10"),
        (CACHES, "1-7,9-15", "uncore", 9, "1,4-7,12-15"),
    ],
)
def test_the_kubelet_came_to_the_same(machine: Machine, free: str, how: str, count: int, expected: str) -> None:
    """Kubelet 1.36.4: results of its own code."""
    topology = cpu_topology(machine, V136)
    taken = packed(topology, V136, parse_cpuset(free), count, spread=how == "spread", uncore=how == "uncore")
    assert cpuset_text(taken) == expected


@pytest.mark.parametrize("free", ["0-15", "0-8,11-15"])
@pytest.mark.parametrize(("behaviour", "expected"), [(V133, "0-1,8"), (V136, "0,2,8")])
def test_an_odd_request_stays_in_one_cache_since_1_34(behaviour: Behaviour, expected: str, free: str) -> None:
    """Kubelet 1.33.5 and 1.36.4, results of their own code; even cores share one cache, odd cores the other."""
    machine = of_cores(*[(0, 0, core % 2, (core, core + 8)) for core in range(8)])
    topology = cpu_topology(machine, behaviour)
    assert cpuset_text(packed(topology, behaviour, parse_cpuset(free), 3, uncore=True)) == expected


def test_a_small_cache_is_taken_whole_only_for_an_average_request() -> None:
    """Kubelet 1.36.4, results of its own code: caches of 2 and 6 CPUs, 4 on average."""
    machine = of_cores(*[(0, 0, int(cpu > 1), (cpu,)) for cpu in range(8)])
    topology = cpu_topology(machine, V136)
    results = [cpuset_text(packed(topology, V136, topology.cpus, count, uncore=True)) for count in (3, 4)]
    assert results == ["2-4", "0-3"]


def test_a_socket_is_listed_only_under_numa_nodes_where_it_has_a_free_cpu() -> None:
    """Kubelet 1.36.4, result of its own code: socket 1 lies on both NUMA nodes, but is free only on node 1."""
    places = [(0, 0), (0, 0), (0, 1), (1, 1), (1, 2), (1, 2)]
    machine = of_cores(*[(numa, socket, 0, (cpu,)) for cpu, (numa, socket) in enumerate(places)])
    assert packed(cpu_topology(machine, V136), V136, parse_cpuset("0-1,3-5"), 1) == 0b1


@pytest.mark.parametrize(("count", "expected"), [(1, "4"), (2, "0-1"), (3, "0-1,4"), (4, "0-1,4-5")])
def test_on_hybrid_processors_a_cpu_that_is_not_free_can_be_taken(count: int, expected: str) -> None:
    """Kubelet 1.36.4: with one CPU per core on average, a core of two threads with one free counts as free, and gives
    both. CPU 0 is not free here."""
    assert cpuset_text(packed(cpu_topology(HYBRID, V136), V136, parse_cpuset("1-5"), count)) == expected


def test_a_socket_across_two_numa_nodes_is_paid_for_twice() -> None:
    """Kubelet 1.36.4, result of its own code: socket 1 stands in the list twice, so half of the request stays open."""
    places = [(0, 0)] * 4 + [(0, 1)] * 2 + [(1, 1)] * 2 + [(1, 2)] * 4
    machine = of_cores(*[(numa, socket, 0, (cpu,)) for cpu, (numa, socket) in enumerate(places)])
    assert cpuset_text(packed(cpu_topology(machine, V136), V136, parse_cpuset("1-7,9-11"), 8)) == "4-7"


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (V127, "not enough cpus available to satisfy request"),
        (V136, "not enough cpus available to satisfy request: requested=5, available=4"),
    ],
)
def test_too_large_a_request_is_refused(behaviour: Behaviour, message: str) -> None:
    """The numbers since 1.29. `available` counts the set as it was given, CPUs that do not exist included."""
    with pytest.raises(PickError) as error:
        packed(cpu_topology(regular(1, 1, 3), behaviour), behaviour, 0b1000011 | 1 << 40, 5)
    assert str(error.value) == message


def test_nothing_wanted_is_nothing_taken() -> None:
    """Kubelet, all versions: also for the negative rest that a hybrid core leaves."""
    topology = cpu_topology(regular(1, 1, 2), V136)
    assert [packed(topology, V136, 0b11, count) for count in (0, -1)] == [0, 0]
