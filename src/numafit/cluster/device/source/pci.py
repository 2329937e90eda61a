"""Devices of the PCI bus by class, vendor or driver, from /sys.

A container gets their addresses in an environment variable. What is bound to vfio-pci comes with the device files of
its IOMMU group.
"""

import posixpath

import msgspec
from msgspec.structs import replace

from numafit.cluster.device.offer import GivenNode, Handout, OfferedDevice, ResourceOffer, require_resource_name
from numafit.cluster.device.source.described import env_name
from numafit.errors import InputError
from numafit.machine.links import pci_links
from numafit.machine.model import Device
from numafit.machine.read.sysfs.pci import DEVICES, any_device, pci_addresses
from numafit.machine.read.sysfs.tree import Tree

VFIO = "vfio-pci"
_VFIO_FOLDER = "/dev/vfio"


class PciFilter(msgspec.Struct, frozen=True):
    """Which devices; what is None does not matter."""

    pci_class: str | None = None
    """Two, four or six digits in hex: `02`, `0302`, `010802`."""
    vendor: int | None = None
    product: int | None = None
    driver: str | None = None

    @property
    def text(self) -> str:
        vendor = "" if self.vendor is None else f"{self.vendor:04x}"
        parts = {
            "class": self.pci_class,
            "vendor": vendor if self.product is None else f"{vendor}:{self.product:04x}",
            "driver": self.driver,
        }
        return ", ".join(f"{name} {value}" for name, value in parts.items() if value)


class PciDevices:
    lost_is_sick = True
    waits = False

    def __init__(self, tree: Tree, resource: str, wanted: PciFilter, replicas: int = 1) -> None:
        require_resource_name(resource)
        self.tree = tree
        self.resource = resource
        self.wanted = wanted
        self.replicas = replicas

    def read(self) -> tuple[ResourceOffer, ...]:
        devices = [
            replace(device, resource=self.resource)
            for address in pci_addresses(self.tree)
            if self._is_wanted(address) and (device := any_device(self.tree, address))
        ]
        if not devices:
            raise InputError(f"no PCI device has {self.wanted.text}", cure="`lspci -nnk` shows all of them")
        offered = tuple(OfferedDevice(device, self._given(device)) for device in devices)
        # Ways between devices are known for those of kinds that people pair; here each counts.
        links = pci_links([replace(device, kind="gpu") for device in devices])
        return (ResourceOffer(self.resource, offered, links, self.replicas),)

    def _is_wanted(self, address: str) -> bool:
        wanted = self.wanted
        digits = self._digits(address, "class").rjust(6, "0")
        return (
            (wanted.pci_class is None or digits.startswith(wanted.pci_class.lower()))
            and (wanted.vendor is None or self._number(address, "vendor") == wanted.vendor)
            and (wanted.product is None or self._number(address, "device") == wanted.product)
            and (wanted.driver is None or self._driver(address) == wanted.driver)
        )

    def _digits(self, address: str, file: str) -> str:
        return (self.tree.text(f"{DEVICES}/{address}/{file}") or "").strip().lower().removeprefix("0x")

    def _number(self, address: str, file: str) -> int | None:
        try:
            return int(self._digits(address, file), 16)
        except ValueError:
            return None

    def _driver(self, address: str) -> str:
        return self._linked(address, "driver")

    def _linked(self, address: str, name: str) -> str:
        return posixpath.basename(self.tree.link(f"{DEVICES}/{address}/{name}") or "")

    def _given(self, device: Device) -> Handout:
        group = self._linked(device.bus, "iommu_group")
        paths = (
            [_VFIO_FOLDER + "/vfio", f"{_VFIO_FOLDER}/{group}"] if group and self._driver(device.bus) == VFIO else []
        )
        return Handout(envs={env_name(self.resource): device.bus}, nodes=tuple(GivenNode(path, path) for path in paths))
