"""A machine as numactl prints it."""

import pytest

from numafit.machine.catalogue.names import machine_named
from numafit.machine.convert.numactl import numactl_text
from numafit.machine.read.numactl import read_numactl
from numafit.machine.read.sysfs.archive import archive_tree
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.machine.sketch.line import read_sketch
from tests.machine.read.readers import MACHINES, capture


def test_the_text_is_that_of_the_tool() -> None:
    """Nodes ascend, also where the kubelet lists node10 before node2; sizes are whole MiB."""
    assert numactl_text(read_sketch("2 sockets x 2 cores, 1Gi per numa, plus 1 numa of 1500Ki, distances 10 21")) == (
        "available: 3 nodes (0-2)\n"
        "node 0 cpus: 0 1\n"
        "node 0 size: 1024 MB\n"
        "node 1 cpus: 2 3\n"
        "node 1 size: 1024 MB\n"
        "node 2 cpus:\n"
        "node 2 size: 1 MB\n"
        "node distances:\n"
        "node   0   1   2 \n"
        "  0:  10  21  21 \n"
        "  1:  21  10  21 \n"
        "  2:  21  21  10 \n"
    )


@pytest.mark.parametrize("box", MACHINES)
def test_a_captured_box_is_printed_as_numactl_printed_it_there(box: str) -> None:
    """From /sys to the very bytes of the tool, less its lines about free memory."""
    machine = read_sysfs(archive_tree(capture(box, "sys.tgz"), box), box)
    printed = capture(box, "numactl-hardware.txt").decode().splitlines()
    assert numactl_text(machine).splitlines() == [line for line in printed if " free:" not in line]


@pytest.mark.parametrize("name", ["gb200", "epyc-l3-numa"])
def test_what_is_printed_can_be_read(name: str) -> None:
    """Nodes, CPUs, memory and distances come back, with 34 nodes and without distances."""
    machine = machine_named(name)
    back = read_numactl(numactl_text(machine))
    places = {cpu.id: cpu.numa for cpu in machine.cpus}
    assert {cpu.id: cpu.numa for cpu in back.cpus} == places
    told = [(node.id, node.memory, node.distances) for node in back.numa_nodes]
    assert told == [(node.id, node.memory, node.distances) for node in machine.numa_nodes]
