"""Other machines that the sources do not rule out."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.machine.alternatives import MOST_ALTERNATIVES, alternatives
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.machine.read.lscpu import read_lscpu
from numafit.machine.read.numactl import read_numactl
from numafit.machine.sketch.line import read_sketch
from tests.machine.test_notes import NUMACTL

WORDS = ("numa", "core", "socket", "uncore_cache", "distances")


def cores(machine: Machine) -> set[frozenset[int]]:
    found: dict[tuple[int, int, int], set[int]] = {}
    for cpu in machine.cpus:
        found.setdefault((cpu.numa, cpu.socket, cpu.core), set()).add(cpu.id)
    return {frozenset(own) for own in found.values()}


def test_numactl_leaves_four_numberings_of_threads_open() -> None:
    """CPUs 0, 1, 4 and 5 on one NUMA node: no SMT, pairs far apart, neighbours, or one core of four threads."""
    others = [found.machine for found in alternatives(read_numactl(NUMACTL), ["core"])]
    assert [sorted(map(sorted, cores(other))) for other in others] == [
        [[0, 4], [1, 5], [2, 6], [3, 7]],
        [[0, 1], [2, 3], [4, 5], [6, 7]],
        [[0, 1, 4, 5], [2, 3, 6, 7]],
    ]


def test_a_told_number_of_threads_stays() -> None:
    """`lscpu` alone tells how many threads a core has, and not which ones."""
    text = "CPU(s): 8\nOn-line CPU(s) list: 0-7\nThread(s) per core: 2\nSocket(s): 1\nNUMA node0 CPU(s): 0-7\n"
    others = alternatives(read_lscpu(text), ["core"])
    assert [sorted(map(sorted, cores(found.machine))) for found in others] == [[[0, 1], [2, 3], [4, 5], [6, 7]]]


def test_sockets_that_nobody_counts_may_hold_several_numa_nodes() -> None:
    others = alternatives(read_numactl(NUMACTL), ["socket"])
    assert [{cpu.socket for cpu in found.machine.cpus} for found in others] == [{0}]


def homes(machine: Machine) -> list[int]:
    return [cpu.numa for cpu in sorted(machine.cpus, key=lambda cpu: cpu.id)]


def test_made_up_numbers_may_be_others_but_each_numa_node_keeps_its_count() -> None:
    """Of 4 and 2 CPUs: in turn, or a half of each NUMA node after the other."""
    cpus = tuple(Cpu(id, id, int(id > 3), int(id > 3)) for id in range(6))
    machine = Machine(cpus, (NumaNode(0, 0), NumaNode(1, 0)), assumed=("cpu_ids", "core"))
    others = [found.machine for found in alternatives(machine, ["cpu_ids"])]
    assert [homes(other) for other in others] == [[0, 1, 0, 1, 0, 0], [0, 0, 1, 0, 0, 1]]
    assert alternatives(replace(machine, cpus=cpus[:4], numa_nodes=machine.numa_nodes[:1]), ["cpu_ids"]) == []


def test_nothing_that_is_told_has_an_alternative() -> None:
    assert alternatives(machine_named("dgx-h100"), []) == []


def box(sockets: int, numa: int, cores: int, threads: int, words: list[str]) -> Machine:
    machine = read_sketch(f"{sockets} sockets x {numa} numa x {cores} cores x {threads} threads")
    return replace(machine, assumed=tuple(words), sockets=None if "socket" in words else machine.sockets)


boxes = st.builds(
    box,
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(1, 6),
    st.sampled_from([1, 2]),
    st.lists(st.sampled_from(WORDS), unique=True),
)


@settings(max_examples=60, deadline=None)
@given(boxes)
def test_an_alternative_differs_in_its_words_and_in_nothing_else(machine: Machine) -> None:
    """No two are the same, those with one difference come first, and what is told stays as it is."""
    found = alternatives(machine, machine.assumed)
    assert len(found) <= MOST_ALTERNATIVES
    assert [len(other.words) for other in found] == sorted(len(other.words) for other in found)
    before = {cpu.id: cpu for cpu in machine.cpus}
    for other in found:
        assert other.words
        assert set(other.words) <= set(machine.assumed)
        assert other.machine != machine
        for cpu in other.machine.cpus:
            same = {word: getattr(cpu, word) == getattr(before[cpu.id], word) for word in WORDS[:4]}
            assert all(same[word] for word in WORDS[:4] if word not in other.words)
        if "distances" not in other.words:
            assert other.machine.numa_nodes == machine.numa_nodes
        # threads of one core lie on one NUMA node, and nobody is lost
        assert set().union(*cores(other.machine)) == before.keys()
    assert len({str(other.machine) for other in found}) == len(found)
