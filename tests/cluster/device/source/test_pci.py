"""Devices of the PCI bus, in a tree of /sys that a test makes."""

from pathlib import Path

import pytest

from numafit.cluster.device.offer import GivenNode, Handout, OfferedDevice
from numafit.cluster.device.source.pci import PciDevices, PciFilter
from numafit.errors import InputError
from numafit.machine.model import Device, Link
from numafit.machine.read.sysfs.tree import FolderTree

NVME = "example.com/nvme"
ENV = "NUMAFIT_DEVICES_EXAMPLE_COM_NVME"


def put(root: Path, address: str, pci_class: str, vendor: str, numa: int, driver: str = "", group: str = "") -> None:
    """Behind a root port of the bus that the address begins with."""
    bus = address[5:7]
    folder = root / f"sys/devices/pci0000:{bus}/0000:{bus}:01.0/{address}"
    folder.mkdir(parents=True)
    for name, value in {"class": pci_class, "vendor": vendor, "device": "0x1111", "numa_node": str(numa)}.items():
        (folder / name).write_text(value + "\n")
    for name, target in {"driver": driver, "iommu_group": group}.items():
        if target:
            (folder / name).symlink_to(f"../../../../x/{target}")
    link = root / "sys/bus/pci/devices" / address
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"../../../devices/pci0000:{bus}/0000:{bus}:01.0/{address}")


@pytest.fixture
def tree(tmp_path: Path) -> FolderTree:
    put(tmp_path, "0000:10:00.0", "0x010802", "0x144d", 0, "nvme", "7")
    put(tmp_path, "0000:10:00.1", "0x010802", "0x144d", 0, "vfio-pci", "8")
    put(tmp_path, "0000:20:00.0", "0x010802", "0x8086", 1, "vfio-pci", "9")
    put(tmp_path, "0000:30:00.0", "0x030200", "0x10de", -1)
    return FolderTree(tmp_path)


def found(tree: FolderTree, wanted: PciFilter) -> list[str]:
    (offer,) = PciDevices(tree, NVME, wanted).read()
    return [each.device.id for each in offer.devices]


def test_a_device_is_told_with_its_place(tree: FolderTree) -> None:
    """What vfio-pci has comes with the files of its group, else only its address is told."""
    (offer,) = PciDevices(tree, NVME, PciFilter(pci_class="0108"), 2).read()
    assert (offer.resource, offer.replicas) == (NVME, 2)
    assert offer.devices[1] == OfferedDevice(
        Device(
            *(NVME, "0000:10:00.1", (0,)),
            kind="nvme",
            bus="0000:10:00.1",
            pci_class=0x0108,
            root_port="0000:10:01.0",
        ),
        Handout({ENV: "0000:10:00.1"}, nodes=(GivenNode("/dev/vfio/vfio", "/dev/vfio/vfio"), node("8"))),
    )
    assert offer.devices[0].given == Handout({ENV: "0000:10:00.0"})
    assert offer.links == (
        Link("0000:10:00.0", "0000:10:00.1", "PIX"),
        Link("0000:10:00.0", "0000:20:00.0", "SYS"),
        Link("0000:10:00.1", "0000:20:00.0", "SYS"),
    )


def node(group: str) -> GivenNode:
    return GivenNode(f"/dev/vfio/{group}", f"/dev/vfio/{group}")


@pytest.mark.parametrize(
    ("wanted", "addresses"),
    [
        (PciFilter(pci_class="01"), ["0000:10:00.0", "0000:10:00.1", "0000:20:00.0"]),
        (PciFilter(pci_class="030200"), ["0000:30:00.0"]),
        (PciFilter(vendor=0x144D), ["0000:10:00.0", "0000:10:00.1"]),
        (PciFilter(driver="vfio-pci"), ["0000:10:00.1", "0000:20:00.0"]),
        (PciFilter("0108", 0x8086, 0x1111, "vfio-pci"), ["0000:20:00.0"]),
    ],
)
def test_class_vendor_and_driver_choose(tree: FolderTree, wanted: PciFilter, addresses: list[str]) -> None:
    assert found(tree, wanted) == addresses


def test_a_node_that_the_kernel_does_not_know_is_not_told(tree: FolderTree) -> None:
    """-1 in /sys: the kubelet then takes the device for one of anywhere."""
    (offer,) = PciDevices(tree, NVME, PciFilter(vendor=0x10DE)).read()
    assert offer.devices[0].device.numa is None


def test_none_at_all_is_said(tree: FolderTree) -> None:
    with pytest.raises(InputError) as error:
        found(tree, PciFilter("0200", 0x8086, 0x10, "none"))
    said = "no PCI device has class 0200, vendor 8086:0010, driver none (`lspci -nnk` shows all of them)"
    assert str(error.value) == said
