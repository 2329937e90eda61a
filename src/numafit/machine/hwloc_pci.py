"""The PCI devices of an hwloc topology: where they hang, and what their drivers call them."""

import re

from numafit.machine.hwloc_xml import Object, Topology
from numafit.machine.pci_functions import Bridge, PciFunction
from numafit.machine.reading import LARGEST_AMOUNT, pci_address, whole_number

_TYPE = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\].{0,60}", re.ASCII | re.IGNORECASE)
_OPEN_FABRICS = "3"


def read_functions(topology: Topology, machine: Object, owners: int) -> list[PciFunction]:
    """`owners` are the NUMA nodes that have CPUs: a device near one of them hangs at the place of its CPUs."""
    functions = []
    for found in topology.objects:
        if found.type != "PCIDev":
            continue
        address = pci_address(found.attributes.get("pci_busid", ""))
        match = _TYPE.fullmatch(found.attributes.get("pci_type", ""))
        if address is None or match is None:
            raise topology.error("a PCI device without pci_busid or pci_type", found.line)
        systems = [child for child in found.children if child.type == "OSDev"]
        infos = {name: value for child in systems for name, value in child.infos.items()}
        functions.append(
            PciFunction(
                address=address,
                pci_class=int(match[1], 16),
                vendor=int(match[2], 16),
                device=int(match[3], 16),
                numa=_numa(topology, found, machine, owners),
                bridges=_bridges(found),
                name=infos.get("GPUModel", found.infos.get("PCIDevice", ""))[:80],
                uuid=infos.get("NVIDIAUUID", ""),
                memory=_memory(infos),
                rdma=_rdma(systems),
            )
        )
    return functions


def _numa(topology: Topology, device: Object, machine: Object, owners: int) -> int | None:
    """None when it hangs at the whole machine, as hwloc does with a device whose place it does not know."""
    above = device.parent
    while above is not None and not above.attributes.get("nodeset"):
        above = above.parent
    if above is None or topology.mask(above, "cpuset") == topology.mask(machine, "cpuset"):
        return None
    near = topology.mask(above, "nodeset") & owners
    return near.bit_length() - 1 if near.bit_count() == 1 else None


def _bridges(device: Object) -> tuple[Bridge, ...]:
    """Without the host bridge, which has no PCI address."""
    bridges: list[Bridge] = []
    above = device.parent
    while above is not None:
        address = pci_address(above.attributes.get("pci_busid", "")) if above.type == "Bridge" else None
        if address is not None:
            match = _TYPE.fullmatch(above.attributes.get("pci_type", ""))
            bridges.append(Bridge(address, int(match[2], 16) if match is not None else None))
        above = above.parent
    return tuple(reversed(bridges))


def _memory(infos: dict[str, str]) -> int:
    kib = whole_number(infos.get("CUDAGlobalMemorySize", ""), LARGEST_AMOUNT >> 10)
    return 0 if kib is None else kib << 10


def _rdma(systems: list[Object]) -> str:
    names = (
        found.attributes.get("name", "") for found in systems if found.attributes.get("osdev_type") == _OPEN_FABRICS
    )
    return next(names, "")[:80]
