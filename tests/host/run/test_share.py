"""How a job's CPUs are shared out between its processes."""

from hypothesis import assume, given
from hypothesis import strategies as st

from numafit.bits import mask_of, members
from numafit.host.host import distances
from numafit.host.run.share import RankShare, cores_by_node, nearest_nics, partition, shares
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Cpu, Device, Link, Machine, NumaNode


def flat(a: int, b: int) -> int:
    return 10 if a == b else 20


@st.composite
def jobs(draw: st.DrawFn) -> tuple[dict[int, list[int]], list[int | None]]:
    """The cores of up to four NUMA nodes, of one to three threads each, and where the processes would like to be."""
    following = 0
    nodes: dict[int, list[int]] = {}
    for node in draw(st.sets(st.integers(0, 5), min_size=1, max_size=4)):
        for threads in draw(st.lists(st.integers(1, 3), max_size=9)):
            nodes.setdefault(node, []).append(mask_of(range(following, following + threads)))
            following += threads
    wishes = draw(st.lists(st.none() | st.integers(0, 6), min_size=1, max_size=10))
    return nodes, wishes


def all_cpus(nodes: dict[int, list[int]]) -> int:
    return mask_of(cpu for cores in nodes.values() for core in cores for cpu in members(core))


@given(jobs())
def test_everything_is_used_and_nothing_twice(job: tuple[dict[int, list[int]], list[int | None]]) -> None:
    """As long as there is a CPU for each."""
    nodes, wishes = job
    assume(all_cpus(nodes).bit_count() >= len(wishes))
    parts = partition(nodes, wishes, flat)
    assert all(parts)
    assert sum(part.bit_count() for part in parts) == all_cpus(nodes).bit_count()
    assert mask_of(cpu for part in parts for cpu in members(part)) == all_cpus(nodes)


@given(jobs())
def test_cores_stay_whole_while_there_is_one_for_each(job: tuple[dict[int, list[int]], list[int | None]]) -> None:
    nodes, wishes = job
    cores = [core for own in nodes.values() for core in own]
    assume(len(cores) >= len(wishes))
    for part in partition(nodes, wishes, flat):
        assert all(part & core in (0, core) for core in cores)


@given(jobs())
def test_the_processes_of_a_node_differ_by_one_core_at_most(
    job: tuple[dict[int, list[int]], list[int | None]],
) -> None:
    """Those whose wish came true; cores of nodes without a process are dealt as evenly."""
    nodes, wishes = job
    assume(sum(map(len, nodes.values())) >= len(wishes))
    parts = partition(nodes, wishes, flat)
    for node, own in nodes.items():
        at_home = [part for part, wish in zip(parts, wishes, strict=True) if wish == node]
        if len(at_home) > len(own):
            continue
        counts = [sum(1 for core in own if core & part) for part in at_home]
        totals = [sum(1 for cores in nodes.values() for core in cores if core & part) for part in at_home]
        assert not counts or max(counts) - min(counts) <= 1
        assert not totals or max(totals) - min(totals) <= 1
        assert all(counts)


@given(st.integers(1, 5), st.integers(1, 9))
def test_processes_without_a_cpu_for_each_share_them_evenly(cpus: int, more: int) -> None:
    """They cannot be kept apart, but each runs somewhere."""
    parts = partition({0: [(1 << cpus) - 1]}, [None] * (cpus + more), flat)
    counts = [parts.count(1 << cpu) for cpu in range(cpus)]
    assert sum(counts) == cpus + more
    assert max(counts) - min(counts) <= 1


def test_without_a_cpu_there_is_nothing_to_share() -> None:
    assert partition({}, [None, 0], flat) == [0, 0]


def test_neighbours_get_neighbouring_cores() -> None:
    """They share caches."""
    nodes = {0: [1 << cpu for cpu in range(5)], 1: [1 << cpu for cpu in range(5, 9)]}
    assert partition(nodes, [0, 0, 1, 1], flat) == [0b111, 0b11000, 0b110_0000, 0b1_1000_0000]


def test_a_process_goes_to_the_nearest_node_with_room() -> None:
    """Its GPU hangs on a node without cores in the lease."""

    def distance(a: int, b: int) -> int:
        return {frozenset((3, 1)): 12, frozenset((3, 0)): 21}.get(frozenset((a, b)), flat(a, b))

    assert partition({0: [0b1, 0b10], 1: [0b100, 0b1000]}, [3, 3], distance) == [0b101, 0b1010]


def test_the_same_facts_give_the_same_shares() -> None:
    """Each process computes them alone."""
    machine = machine_named("dgx-h100")
    gpus = tuple((f"GPU{i}", i // 4) for i in range(8))
    assert shares(machine, 0xFFFF, 0b11, gpus, 8) == shares(machine, 0xFFFF, 0b11, gpus, 8)


def test_cpus_and_memory_are_near_the_gpu() -> None:
    """Two GPUs on each of two nodes, cores with two threads numbered n and n+4."""
    cpus = tuple(Cpu(id, core=id % 4, socket=0, numa=id % 4 // 2) for id in range(8))
    machine = Machine(cpus, (NumaNode(0, 1 << 30), NumaNode(1, 1 << 30)))
    gpus = [("a", 1), ("b", 0), ("c", 1), ("d", 0)]
    assert shares(machine, 0xFF, 0b11, gpus, 4) == (
        RankShare(0, "a", 1, 0b0100_0100, 1),
        RankShare(1, "b", 0, 0b0001_0001, 0),
        RankShare(2, "c", 1, 0b1000_1000, 1),
        RankShare(3, "d", 0, 0b0010_0010, 0),
    )


def test_more_processes_than_gpus_count_around() -> None:
    machine = Machine(tuple(Cpu(id, id, 0, 0) for id in range(3)))
    assert [share.gpu for share in shares(machine, 0b111, 0, [("a", 0), ("b", 0)], 3)] == ["a", "b", "a"]


def test_memory_comes_from_the_nearest_node_that_is_allowed() -> None:
    """By distance from the GPU, or from most of the CPUs without one; of equals the lowest."""
    nodes = (NumaNode(0, distances=(10, 20, 15)), NumaNode(1, distances=(20, 10, 30)), NumaNode(2))
    machine = Machine(tuple(Cpu(id, id, 0, 1) for id in range(2)), nodes)
    assert shares(machine, 0b11, 0b110, [("a", 0)], 1)[0].memory_node == 2
    assert shares(machine, 0b11, 0b101, [], 1)[0].memory_node == 0
    assert shares(machine, 0b11, 0, [("a", 0)], 1)[0].memory_node is None


def test_a_machine_without_distances_has_near_and_far() -> None:
    distance = distances(Machine())
    assert (distance(1, 1), distance(1, 2)) == (10, 20)


def test_cpus_that_the_machine_does_not_know_are_shared_out_as_well() -> None:
    machine = Machine((Cpu(0, 0, 0, 1),))
    assert cores_by_node(machine, 0b111) == {0: [0b10, 0b100], 1: [0b1]}


def nic(id: str, numa: int, switch: str = "") -> Device:
    return Device("", id, (numa,), kind="nic", switch=switch)


def gpu(id: str, numa: int, switch: str = "") -> Device:
    return Device("nvidia.com/gpu", id, (numa,), kind="gpu", switch=switch)


def test_the_card_on_the_switch_of_the_gpu_is_nearest_and_others_of_the_node_are_shared_evenly() -> None:
    machine = Machine(
        devices=(nic("a", 0), nic("b", 0, "s"), nic("c", 1), nic("d", 1), gpu("g0", 0, "s"), gpu("g1", 1), gpu("g2", 1))
    )
    assert nearest_nics(machine, [("g0", 0), ("g1", 1), ("g2", 1)]) == ["b", "c", "d"]


def test_a_link_that_a_tool_tells_of_counts_before_places() -> None:
    """`nvidia-smi topo` knows the way from the GPU to each card."""
    machine = Machine(
        devices=(nic("a", 0, "s"), nic("b", 0), gpu("g0", 0, "s")),
        links=(Link("a", "g0", "SYS"), Link("b", "g0", "PIX")),
    )
    assert nearest_nics(machine, [("g0", 0)]) == ["b"]


def test_no_card_is_named_that_is_far_or_of_no_gpu() -> None:
    machine = Machine(devices=(nic("a", 1), gpu("g0", 0)))
    assert nearest_nics(machine, [("g0", 0), ("", None)]) == ["", ""]
