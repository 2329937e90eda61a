"""This host as jobs meet it: amounts of memory that contradict each other."""

import pytest
from msgspec.structs import replace

from numafit.host.host import HostFile, host_of
from numafit.host.place import place
from numafit.host.request import JobRequest
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Machine

GIB = 1 << 30


def told(nodes: list[int], total: int) -> Machine:
    machine = machine_named("laptop" if len(nodes) == 1 else "gpu8-128cpu")
    numa = tuple(replace(node, memory=size) for node, size in zip(machine.numa_nodes, nodes, strict=True))
    return replace(machine, numa_nodes=numa, memory=total)


def test_of_one_node_the_total_counts() -> None:
    """Seen in a virtual machine that fills its memory as it is used: 5.7 GiB on its only node, 126 GiB in all, and a
    job of 8 GiB was refused."""
    host = host_of(told([int(5.7 * GIB)], 126 * GIB), HostFile())
    assert [node.memory for node in host.machine.numa_nodes] == [126 * GIB]
    assert host.notes == ("NUMA node 0 has 5.7Gi of memory, and MemTotal tells 126Gi in all: the latter counts",)
    assert place(host, [], JobRequest(memory=8 * GIB)).admitted


def test_of_several_nodes_each_counts_and_the_difference_is_told() -> None:
    host = host_of(told([4 * GIB, 4 * GIB], 64 * GIB), HostFile())
    assert [node.memory for node in host.machine.numa_nodes] == [4 * GIB, 4 * GIB]
    assert host.notes == (
        "the 2 NUMA nodes have 8Gi of memory, and MemTotal tells 64Gi in all: what the nodes tell counts",
    )


@pytest.mark.parametrize("total", [None, 0, 100 * GIB, 95 * GIB])
def test_a_little_less_is_the_kernels_own(total: int | None) -> None:
    machine = replace(told([100 * GIB], 0), memory=total)
    host = host_of(machine, HostFile())
    assert (host.machine, host.notes) == (machine, ())
