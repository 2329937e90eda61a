"""hwloc's synthetic language. What is expected here is what hwloc 2.9 makes of the same texts."""

import pytest

from numafit.errors import InputError
from numafit.machine.model import Cache, Cpu, Machine, NumaNode
from numafit.machine.sketch.synthetic import is_synthetic, read_synthetic


def test_levels_multiply() -> None:
    """Each level counts within the one before; the L3 cache of a whole NUMA node is no uncore cache."""
    machine = read_synthetic("Package:2 NUMANode:1 L3:1 Core:2 PU:2")
    assert machine == Machine(
        cpus=tuple(Cpu(id, core=id // 2, socket=id // 4, numa=id // 4) for id in range(8)),
        numa_nodes=(NumaNode(0), NumaNode(1)),
        caches=(Cache(3, "unified", 0, 0x0F, 0), Cache(3, "unified", 0, 0xF0, 1)),
        sockets=2,
    )


def test_attached_nodes_attributes_and_loops_are_understood() -> None:
    """`indexes=2*4:1*2` numbers siblings n and n + 4; units are decimal (GB) or binary (GiB)."""
    machine = read_synthetic(
        "Package:2 [NUMANode(memory=1GiB indexes=1,0)] L3Cache:2(size=1MB) Core:1 PU:2(indexes=2*4:1*2)"
    )
    assert machine.numa_nodes == (NumaNode(0, 1 << 30), NumaNode(1, 1 << 30))
    assert [(cpu.id, cpu.core, cpu.socket, cpu.numa, cpu.uncore_cache) for cpu in machine.cpus] == [
        (2, 2, 1, 0, 2),
        (3, 3, 1, 0, 3),
        (6, 2, 1, 0, 2),
        (7, 3, 1, 0, 3),
        (0, 0, 0, 1, 0),
        (1, 1, 0, 1, 1),
        (4, 0, 0, 1, 0),
        (5, 1, 0, 1, 1),
    ]
    assert machine.caches[1] == Cache(3, "unified", 10**6, 0b100010, 1)


def test_a_second_bracket_is_a_node_without_cpus() -> None:
    """As Linux shows memory that is attached beside the main memory of a socket."""
    machine = read_synthetic("Package:2 [NUMANode(memory=1GB)] [NUMANode(memory=4GB)] Core:1 PU:1")
    memory = [(node.id, node.memory) for node in machine.numa_nodes]
    assert memory == [(0, 10**9), (1, 4 * 10**9), (2, 10**9), (3, 4 * 10**9)]
    assert [cpu.numa for cpu in machine.cpus] == [0, 2]


def test_levels_that_are_left_out_count_one() -> None:
    """One socket, one NUMA node, each CPU a core."""
    assert read_synthetic("PU:2").cpus == (Cpu(0, 0, 0, 0), Cpu(1, 1, 0, 0))


REFUSED = {
    "Package:2 Foo:1 PU:2": 'box:1:11: "Foo" is no level that hwloc knows',
    "Package:2": "box:1:10: the last level must be PU",
    "Package PU:2": "box:1:1: how many of Package?",
    "Core:2 Core:2 PU:1": "box:1:8: Core stands here a second time",
    "Core:999999 PU:1": "box:1:1: the number of Core must be from 1 to 16384",
    "Core:2 PU:2(indexes=0,1)": "box:1:8: indexes must name 4 different numbers",
    "Core:2 PU:2(indexes=0*2:1*2)": "indexes must name 4 different numbers",
    "Core:2 PU:2(indexes=a)": 'box:1:8: indexes: "a" is not an id or a range',
    "[NUMANode(memory=lots)] PU:2": 'box:1:1: "lots" is not an amount',
    "[Core:2 PU:2": "box:1:1: this is no level",
    "[Core:2] PU:2": "only NUMA nodes stand in brackets",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_mistake_is_shown_at_its_column(text: str) -> None:
    """The column of the level that is wrong."""
    assert is_synthetic(text) or text.startswith("Package PU")
    with pytest.raises(InputError) as caught:
        read_synthetic(text, "box")
    assert REFUSED[text] in str(caught.value)
