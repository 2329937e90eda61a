"""The definition of a virtual machine and QEMU's words for it."""

import pytest

from tests.vm import Node, Pci, Shape
from tests.vm.facts import Facts, facts_of_shape

SMALL = Shape(
    nodes=(Node(cpus=4, memory=512), Node(cpus=0, memory=256)),
    threads=2,
    distances=((10, 17), (17, 10)),
    devices=(Pci(node=1), Pci(node=0), Pci(node=1, model="virtio-rng-pci")),
)


def test_a_shape_in_qemus_words() -> None:
    """A NUMA node without CPUs names none; each node with devices has a host bridge, each device a port."""
    assert " ".join(SMALL.arguments()).replace(" -", "\n-").split("\n") == [
        "-m 768M",
        "-smp 4,sockets=1,dies=1,cores=2,threads=2",
        "-object memory-backend-ram,size=512M,id=memory0",
        "-numa node,nodeid=0,cpus=0-3,memdev=memory0",
        "-object memory-backend-ram,size=256M,id=memory1",
        "-numa node,nodeid=1,memdev=memory1",
        "-numa dist,src=0,dst=1,val=17",
        "-numa dist,src=1,dst=0,val=17",
        "-device pxb-pcie,id=bridge32,bus_nr=32,numa_node=1,bus=pcie.0",
        "-device pcie-root-port,id=port1,bus=bridge32,addr=0,chassis=1,slot=1",
        "-device edu,bus=port1",
        "-device pxb-pcie,id=bridge16,bus_nr=16,numa_node=0,bus=pcie.0",
        "-device pcie-root-port,id=port2,bus=bridge16,addr=0,chassis=2,slot=2",
        "-device edu,bus=port2",
        "-device pcie-root-port,id=port3,bus=bridge32,addr=1,chassis=3,slot=3",
        "-device virtio-rng-pci,bus=port3",
    ]


def test_a_shape_foretells_what_the_kernel_will_say() -> None:
    """Threads of a core side by side; the address of a device follows from its node and its port."""
    assert facts_of_shape(SMALL) == Facts(
        1,
        frozenset({(0, 0, (0, 1)), (0, 0, (2, 3))}),
        {0: (10, 17), 1: (17, 10)},
        {"0000:00:10.0": None, "0000:21:00.0": (1,), "0000:11:00.0": (0,), "0000:22:00.0": (1,)},
    )


def test_without_distances_a_node_is_10_from_itself_and_20_from_others() -> None:
    """As QEMU and the kernel have it."""
    assert Shape((Node(1, 256), Node(1, 256))).row(1) == (20, 10)


@pytest.mark.parametrize(
    "shape",
    [Shape((Node(3, 512),), threads=2), Shape((Node(0, 512),)), Shape((Node(1, 512),), devices=(Pci(0),) * 16)],
    ids=["half a core", "no CPU", "too many devices"],
)
def test_an_impossible_shape_is_refused(shape: Shape) -> None:
    """Before QEMU does it, in its own words."""
    with pytest.raises(ValueError, match=r"CPUs do not make|more than 15 devices"):
        shape.arguments()
