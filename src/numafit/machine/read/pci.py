"""PCI functions as `lspci` and hwloc tell of them, and the devices among them that matter to a workload."""

import re

import msgspec

from numafit.machine.model import Device

NVIDIA, AMD = 0x10DE, 0x1002

_GPU_CLASSES = {NVIDIA: (0x0300, 0x0302, 0x0380), AMD: (0x0300, 0x0380, 0x1200)}
_RESOURCES = {NVIDIA: "nvidia.com/gpu", AMD: "amd.com/gpu"}
_EDU = (0x1234, 0x11E8)
"""QEMU's teaching device, which stands in for an accelerator in test machines."""
_KINDS = ("gpu", "nic", "nvme", "other")


class Bridge(msgspec.Struct, frozen=True):
    address: str
    vendor: int | None = None


class PciFunction(msgspec.Struct, frozen=True):
    address: str
    pci_class: int
    """Two bytes, such as 0x0302."""
    vendor: int | None = None
    device: int | None = None
    numa: int | None = None
    bridges: tuple[Bridge, ...] = ()
    """What lies above it, from the root port down."""
    name: str = ""
    uuid: str = ""
    memory: int = 0
    rdma: str = ""
    """Its name as an RDMA device, such as `mlx5_0`: NVIDIA's tools number network cards by these and name them so."""

    @property
    def kind(self) -> str:
        """Empty for one that no workload asks for."""
        if self.vendor is not None and self.pci_class in _GPU_CLASSES.get(self.vendor, ()):
            return "gpu"
        if self.pci_class >> 8 == 0x02:
            return "nic"
        if self.pci_class == 0x0108:
            return "nvme"
        return "other" if (self.vendor, self.device) == _EDU else ""

    def order(self) -> tuple[object, ...]:
        """By kind, then address; NVIDIA's GPUs and RDMA devices (these by name) come first, as in NVIDIA's tools."""
        address = [int(part, 16) for part in re.split("[:.]", self.address)]
        digits = [int(part) if i % 2 else part for i, part in enumerate(re.split(r"([0-9]{1,9})", self.rdma))]
        return _KINDS.index(self.kind), self.kind == "gpu" and self.vendor != NVIDIA, not self.rdma, digits, address


def devices_of(functions: list[PciFunction], *, nics_numbered: bool) -> tuple[Device, ...]:
    """GPUs, network cards, NVMe disks, others. A source that does not know RDMA names cannot number network cards."""
    devices = []
    counts: dict[str, int] = {}
    for function in sorted((found for found in functions if found.kind), key=PciFunction.order):
        position = counts.setdefault(function.kind, 0)
        counts[function.kind] += 1
        unnumbered = function.kind == "other" or (function.kind == "nic" and not nics_numbered)
        bridges = _outer_bridges(function)
        devices.append(
            Device(
                resource=_RESOURCES[function.vendor] if function.kind == "gpu" and function.vendor is not None else "",
                id=function.uuid or function.address,
                numa=None if function.numa is None else (function.numa,),
                kind=function.kind,
                name=function.rdma or function.name,
                label="" if unnumbered else f"{function.kind.upper()}{position}",
                bus=function.address,
                pci_class=function.pci_class,
                switch=_switch(bridges),
                root_port=bridges[0] if bridges else "",
                memory=function.memory,
            )
        )
    return tuple(devices)


def placed_device(function: PciFunction) -> Device:
    """Of whatever kind: its place, without a resource and a number among its kind."""
    bridges = _outer_bridges(function)
    return Device(
        resource="",
        id=function.address,
        numa=None if function.numa is None else (function.numa,),
        kind=function.kind,
        bus=function.address,
        pci_class=function.pci_class,
        switch=_switch(bridges),
        root_port=bridges[0] if bridges else "",
    )


def _outer_bridges(function: PciFunction) -> list[str]:
    """Without the switch that an AMD GPU brings along and that nothing else hangs under."""
    end = len(function.bridges)
    while function.vendor == AMD and end > 1 and function.bridges[end - 1].vendor == AMD:
        end -= 1
    return [bridge.address for bridge in function.bridges[:end]]


def _switch(bridges: list[str]) -> str:
    """The upper port of the lowest switch; or the one bridge behind the root port."""
    if len(bridges) < 2:
        return ""
    return bridges[-2] if len(bridges) > 2 else bridges[1]
