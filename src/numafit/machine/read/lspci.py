"""Reads what `lspci -v` or `-vv` prints, with or without `-D` and `-nn`: PCI devices, their NUMA nodes and bridges.

A device without a line about its NUMA node has none that the kernel knows.
"""

import re

from numafit.errors import InputError
from numafit.machine.model import Machine
from numafit.machine.read.pci import AMD, NVIDIA, Bridge, PciFunction, devices_of
from numafit.machine.read.text import pci_address, text_of, whole_number

_HEAD = re.compile(
    r"((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) "
    r"([^:\[]{1,80}?)(?: \[([0-9a-f]{4})\])?: "
    r"(.{0,400})",
    re.ASCII,
)
_IDS = re.compile(r" \[([0-9a-f]{4}):([0-9a-f]{4})\]", re.ASCII)
_NUMA = re.compile(r"NUMA node:? (\d{1,5})\b", re.ASCII)
_BUSES = re.compile(r"Bus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})", re.ASCII)

_CLASSES = {
    "VGA compatible controller": 0x0300,
    "3D controller": 0x0302,
    "Display controller": 0x0380,
    "Processing accelerators": 0x1200,
    "Ethernet controller": 0x0200,
    "Infiniband controller": 0x0207,
    "Network controller": 0x0280,
    "Non-Volatile memory controller": 0x0108,
}
_VENDORS = {"NVIDIA Corporation": NVIDIA, "Advanced Micro Devices": AMD, "AMD": AMD}


class _Entry:
    def __init__(self, address: str, class_name: str, class_number: str | None, text: str) -> None:
        self.address = address
        self.pci_class = int(class_number, 16) if class_number else _CLASSES.get(class_name, 0)
        ids = _IDS.findall(text)
        vendor = next((number for name, number in _VENDORS.items() if text.startswith(name)), None)
        self.vendor = int(ids[-1][0], 16) if ids else vendor
        self.device = int(ids[-1][1], 16) if ids else None
        product = _IDS.sub("", text).split(" (rev ")[0]
        self.is_virtual = "Virtual Function" in product
        inner = re.search(r"\[([^\[\]]{1,80})\]$", product)
        self.name = inner[1] if inner is not None else product
        self.numa: int | None = None
        self.buses: tuple[int, int] | None = None
        """The first and last bus behind it, for a bridge."""


def read_lspci(data: str | bytes, source: str = "lspci -v") -> Machine:
    entries: dict[str, _Entry] = {}
    entry: _Entry | None = None
    for number, line in enumerate(text_of(data, source).splitlines(), 1):
        head = _HEAD.fullmatch(line.rstrip())
        if head is not None:
            address = pci_address(head[1]) or ""
            if address in entries:
                raise InputError(f"{address} stands here a second time", source=source, line=number)
            entry = entries[address] = _Entry(address, head[2], head[3], head[4])
        elif not line[:1].isspace():
            entry = None
        elif entry is not None:
            _detail(entry, line)
    if not entries:
        message = 'no line such as "3b:00.0 3D controller: NVIDIA Corporation …" in it'
        raise InputError(message, source=source, cure="paste the whole output of lspci -v")
    above = _Bridges(entries)
    functions = [
        PciFunction(
            address=found.address,
            pci_class=found.pci_class,
            vendor=found.vendor,
            device=found.device,
            numa=found.numa,
            bridges=above.of(found.address),
            name=found.name,
        )
        for found in entries.values()
        if not found.is_virtual
    ]
    return Machine(devices=devices_of(functions, nics_numbered=False))


def _detail(entry: _Entry, line: str) -> None:
    text = line.strip()
    if text.startswith(("NUMA node:", "Flags:")):
        match = _NUMA.search(text)
        if match is not None:
            entry.numa = whole_number(match[1])
    elif text.startswith("Bus:"):
        match = _BUSES.match(text)
        if match is not None and match[1] != "00":
            entry.buses = int(match[1], 16), int(match[2], 16)


class _Bridges:
    """Finds what lies above a device by the bus numbers that each bridge says are behind it."""

    def __init__(self, entries: dict[str, _Entry]) -> None:
        self._nearest: dict[tuple[str, int], tuple[int, Bridge]] = {}
        """(domain, bus) -> width and name of the narrowest bridge that leads there."""
        for entry in entries.values():
            if entry.buses is None:
                continue
            domain, (first, last) = entry.address.rpartition(":")[0].rpartition(":")[0], entry.buses
            for bus in range(first, last + 1):
                known = self._nearest.get((domain, bus))
                if known is None or last - first < known[0]:
                    self._nearest[domain, bus] = last - first, Bridge(entry.address, entry.vendor)

    def of(self, address: str) -> tuple[Bridge, ...]:
        bridges: list[Bridge] = []
        while True:
            domain, bus, _ = address.rsplit(":", 2)
            found = self._nearest.get((domain, int(bus, 16)))
            if found is None or found[1] in bridges:
                return tuple(reversed(bridges))
            bridges.append(found[1])
            address = found[1].address
