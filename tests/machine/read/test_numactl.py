"""What `numactl --hardware` prints."""

import pytest
from hypothesis import given

from numafit.errors import InputError
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.machine.read.numactl import read_numactl
from tests.machine.read.readers import capture, damaged, reads_or_refuses

POWER = """\
$ numactl -H
available: 3 nodes (0,8,250)
node 0 cpus: 0 4
node 0 size: 261713 MB
node 0 free: 1 MB
node 8 cpus: 8 12
node 8 size: 261770 MB
node 8 free: 2 MB
node 250 cpus:
node 250 size: 0 MB
node 250 free: 0 MB
node distances:
node   0   8  250
  0:  10  40  80
  8:  40  10  80
 250:  80  80  10
"""


def test_node_ids_need_not_be_contiguous() -> None:
    """POWER with GPU memory: NUMA nodes 0, 8, 250. Nodes stand in the kubelet's order (as text), distances by id."""
    assert read_numactl(POWER) == Machine(
        cpus=tuple(Cpu(id=cpu, core=cpu, socket=numa, numa=numa) for cpu, numa in ((0, 0), (4, 0), (12, 8), (8, 8))),
        numa_nodes=(
            NumaNode(id=0, memory=261713 << 20, distances=(10, 40, 80)),
            NumaNode(id=250, memory=0, distances=(80, 80, 10)),
            NumaNode(id=8, memory=261770 << 20, distances=(40, 10, 80)),
        ),
        assumed=("core", "socket", "uncore_cache"),
    )


def test_what_the_tool_could_not_find_out_stays_unknown() -> None:
    """A node without a CPU mask has no CPUs that we know of, a node without a size no memory."""
    text = "node 0 cpus: <cpumask not available>\nnode 0 size: <not available>\nNo distance information available.\n"
    assert read_numactl(text) == Machine(numa_nodes=(NumaNode(id=0),), assumed=("memory",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("No NUMA available on this system\n", "a file: numactl found no NUMA support on that system"),
        ("hello", 'a file: no line such as "node 0 cpus: 0 1 2 3" in it'),
        ("node 0 cpus: 0 1 x", 'a file:1: "x" is not a CPU number'),
        ("node 0 cpus: 0\nnode 1 cpus: 0", "a file:2: CPU 0 stands on the NUMA nodes 0 and 1"),
        ("node 0 size: 12 GB", 'a file:1: "12 GB" is not a size in MB'),
        ("node 0 cpus: 0\nnode   0   1\n  0:  10\n", "a file:3: 1 distances for 2 NUMA nodes"),
        ("node 0 cpus: 99999", 'a file:1: "99999" is not a CPU number'),
    ],
)
def test_text_that_says_nothing_is_refused_with_its_line(text: str, message: str) -> None:
    """One sentence with file and line."""
    with pytest.raises(InputError) as error:
        read_numactl(text, "a file")
    assert str(error.value).startswith(message)


@given(damaged("lscpu-2.23.txt"))
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Never a traceback."""
    reads_or_refuses(read_numactl, data)
    reads_or_refuses(read_numactl, POWER.encode()[: len(data)] + data)


def test_a_capture_of_a_node_without_cpus_is_read() -> None:
    """numactl 2.0.16 on a machine of three NUMA nodes, one of them memory only."""
    machine = read_numactl(capture("numa3memonly", "numactl-hardware.txt"))
    assert {cpu.id: cpu.numa for cpu in machine.cpus} == {0: 0, 1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 1, 7: 1}
    assert machine.numa_nodes[2] == NumaNode(id=2, memory=974 << 20, distances=(17, 28, 10))
