"""Machines in one line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numafit.bits import mask_of
from numafit.errors import InputError
from numafit.machine.model import Cache, Cpu, Device, Link, Machine, NumaNode
from numafit.machine.sketch.line import read_sketch

GI = 1 << 30


def test_a_sketch_gives_a_whole_machine() -> None:
    """Levels count within each other, siblings are n and n + cores, the kubelet's order of CPUs, default links."""
    machine = read_sketch(
        "2 sockets x 3 cores x 2 threads, 4Gi per numa, gpu 0@0 1-2@1, links PIX 1-2, distances 10 21"
    )
    places = {0: (0, 0), 1: (0, 1), 2: (0, 2), 3: (1, 0), 4: (1, 1), 5: (1, 2)}
    order = [0, 1, 2, 6, 7, 8, 10, 11, 3, 4, 5, 9]
    assert machine == Machine(
        cpus=tuple(Cpu(id, places[id % 6][1], places[id % 6][0], places[id % 6][0]) for id in order),
        numa_nodes=(NumaNode(0, 4 * GI, distances=(10, 21)), NumaNode(1, 4 * GI, distances=(21, 10))),
        devices=tuple(
            Device("nvidia.com/gpu", f"GPU{n}", (numa,), kind="gpu", label=f"GPU{n}")
            for n, numa in ((0, 0), (1, 1), (2, 1))
        ),
        links=(Link("GPU0", "GPU1", "SYS"), Link("GPU0", "GPU2", "SYS"), Link("GPU1", "GPU2", "PIX")),
        sockets=2,
    )


def test_sub_numa_nodes_have_three_distances() -> None:
    """Itself, its socket, the rest; a node without CPUs counts as the rest."""
    machine = read_sketch(
        "2 sockets x 2 numa x 1 cores, distances 10 12 21, plus 1 numa of 8Gi, memory 1Gi 2Gi 3Gi 4Gi"
    )
    assert machine.numa_nodes[0] == NumaNode(0, GI, distances=(10, 12, 21, 21, 21))
    assert machine.numa_nodes[4] == NumaNode(4, 8 * GI, distances=(21, 21, 21, 21, 10))
    assert [node.memory // GI for node in machine.numa_nodes] == [1, 2, 3, 4, 8]


def test_a_cache_smaller_than_its_node_is_an_uncore_cache() -> None:
    """As cAdvisor and with it the kubelet since 1.32 see it; neighbouring siblings."""
    machine = read_sketch("4 cores x 2 threads, l3 16Mi per 2 cores, smt near")
    assert machine.caches == (Cache(3, "unified", 16 << 20, 0x0F, 0), Cache(3, "unified", 16 << 20, 0xF0, 1))
    assert [(cpu.id, cpu.core, cpu.uncore_cache) for cpu in machine.cpus] == [(id, id // 2, id // 4) for id in range(8)]


def test_a_cache_of_a_whole_node_is_no_uncore_cache() -> None:
    """It distinguishes nothing inside the node (cAdvisor since 0.39)."""
    assert {cpu.uncore_cache for cpu in read_sketch("2 numa x 4 cores, l3 per 4 cores").cpus} == {None}


def test_numa_nodes_may_stand_above_sockets() -> None:
    """Some machines join two sockets to one NUMA node."""
    machine = read_sketch("2 numa x 2 sockets x 1 cores")
    assert [(cpu.numa, cpu.socket) for cpu in machine.cpus] == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert machine.sockets == 4


def test_a_gpu_without_a_known_node_has_no_link() -> None:
    """Nothing is claimed that nobody said."""
    machine = read_sketch("2 numa x 2 cores, gpu 0@? 1@0, nic 0@1, hugepages 2Mi 7")
    assert machine.links == ()
    assert [(device.label, device.resource, device.numa) for device in machine.devices] == [
        ("GPU0", "nvidia.com/gpu", None),
        ("GPU1", "nvidia.com/gpu", (0,)),
        ("NIC0", "", (1,)),
    ]
    assert machine.numa_nodes[1].hugepages == {2 << 20: 7}


REFUSED = {
    "2 sockets x 8 coers": 'box:1:15: "coers" is no level of a machine',
    "2 sockets x": "box:1:12: the number of sockets, numa, cores or threads is missing here",
    "2 cores x 2 sockets": "box:1:13: sockets cannot stand here",
    "2 cores 2 threads": 'box:1:9: "x" is needed here, not "2"',
    "0 cores": "box:1:1: the number of sockets",
    "4096 sockets x 4096 cores": "box:1:1: more than 16384 CPUs",
    "2 cores, gpu 0": 'box:1:14: "0" names no NUMA node',
    "2 cores, gpu 0@1": 'box:1:14: there is no NUMA node "1" (they go from 0 to 0)',
    "2 cores, gpu 0@0 0@0": "box:1:18: gpu 0 is placed twice",
    "2 cores, gpu 0-9999@0": "more than 256 devices",
    "2 cores, gpu": "box:1:13: a gpu such as 0@1 is missing here",
    "2 cores, links SYS 0": "box:1:20: there is no gpu 0",
    "2 cores, links FAST 0": 'box:1:16: "FAST" is no kind of link',
    "2 cores, l3 per 3 cores": "box:1:17: 3 does not divide the 2 cores of a socket",
    "2 cores, 4Gi": 'box:1:13: "per" is missing here',
    "2 cores, 4Gx per numa": 'box:1:10: "4Gx" is not an amount',
    "2 cores, memory 1Gi 2Gi": "box:1:17: 2 amounts for 1 NUMA nodes",
    "2 cores, distances 10": "box:1:10: two or three distances are needed",
    "2 cores, smt sideways": 'box:1:14: "near" is needed here',
    "2 cores, smt near far": 'box:1:19: "far" is too much here (put a comma between two parts)',
    "2 cores, frobs 3": 'box:1:10: "frobs" is no part of a sketch',
    "2 cores,": "box:1:9: a part of the sketch is missing here",
    "": "box:1:1: the number of sockets",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_mistake_is_shown_at_its_column(text: str) -> None:
    """The column of the word that is wrong, or of the end when something is missing."""
    with pytest.raises(InputError) as caught:
        read_sketch(text, "box")
    assert REFUSED[text] in str(caught.value)


WORDS = (
    "2 4096 0-3@0 0-3 x sockets numa cores threads , gpu links SYS l3 per 64Gi plus of memory distances Core:2 PU:2 ( )"
)
SKETCHES = st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(SKETCHES | st.text(max_size=30))
def test_any_text_gives_a_machine_or_a_sentence(text: str) -> None:
    """And the column lies in the text or right behind it."""
    error = fault(text)
    assert error is None or (error.source == "box" and 1 <= (error.column or 0) <= len(text) + 1)


def fault(text: str) -> InputError | None:
    try:
        read_sketch(text, "box")
    except InputError as error:
        return error
    return None


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5), st.integers(1, 4), st.sampled_from(["near", "far"]))
def test_every_cpu_is_there_once_and_cores_are_whole(
    sockets: int, numa: int, cores: int, threads: int, smt: str
) -> None:
    """Whatever the numbering, ids go from 0 up and each core has all its threads in one place."""
    machine = read_sketch(f"{sockets} sockets x {numa} numa x {cores} cores x {threads} threads, smt {smt}")
    assert mask_of(cpu.id for cpu in machine.cpus) == (1 << sockets * numa * cores * threads) - 1
    places: dict[tuple[int, int, int], int] = {}
    for cpu in machine.cpus:
        places[cpu.numa, cpu.socket, cpu.core] = places.get((cpu.numa, cpu.socket, cpu.core), 0) + 1
    assert list(places.values()) == [threads] * (sockets * numa * cores)
