"""Reads hwloc's XML, version 2 (`lstopo --of xml`): CPUs, caches, NUMA nodes, distances and PCI devices.

hwloc hangs a NUMA node without CPUs beside one that has some, with the same CPU set. Of nodes at one place, the one
with plain memory and the lowest number is taken for the owner of the CPUs, and `numa` is listed under `assumed`, as
are `core` and `socket` where the file was written without these objects. Nor does it say that the kernel knows no
NUMA node for a PCI device: such a device hangs at the top and counts as unknown.
"""

import re

import msgspec

from numafit.bits import members
from numafit.machine.model import Cache, Cpu, Device, Machine, NumaNode
from numafit.machine.order import cpus_in_kubelet_order, in_cache_order, in_kubelet_order
from numafit.machine.read.hwloc.objects import HwlocObject, HwlocTopology, read_objects
from numafit.machine.read.pci import Bridge, PciFunction, devices_of
from numafit.machine.read.text import LARGEST_AMOUNT, pci_address, text_of, whole_number
from numafit.machine.uncore import with_uncore_caches

_TYPE = re.compile(r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\].{0,60}", re.ASCII | re.IGNORECASE)
_OPEN_FABRICS = "3"


def read_functions(topology: HwlocTopology, machine: HwlocObject, owners: int) -> list[PciFunction]:
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


def _numa(topology: HwlocTopology, device: HwlocObject, machine: HwlocObject, owners: int) -> int | None:
    """None when it hangs at the whole machine, as hwloc does with a device whose place it does not know."""
    above = device.parent
    while above is not None and not above.attributes.get("nodeset"):
        above = above.parent
    if above is None or topology.mask(above, "cpuset") == topology.mask(machine, "cpuset"):
        return None
    near = topology.mask(above, "nodeset") & owners
    return near.bit_length() - 1 if near.bit_count() == 1 else None


def _bridges(device: HwlocObject) -> tuple[Bridge, ...]:
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


def _rdma(systems: list[HwlocObject]) -> str:
    names = (
        found.attributes.get("name", "") for found in systems if found.attributes.get("osdev_type") == _OPEN_FABRICS
    )
    return next(names, "")[:80]


_CACHE_KINDS = {"0": "unified", "1": "data", "2": "instruction"}
_CPU_KINDS = {"IntelCore": "performance", "IntelAtom": "efficiency"}


def read_hwloc(data: str | bytes, source: str = "lstopo --of xml") -> Machine:
    topology = read_objects(text_of(data, source), source)
    machine = next((found for found in topology.objects if found.type == "Machine"), None)
    if machine is None:
        raise topology.error("no Machine in it", cure="write it with: lstopo --of xml")
    packages = [found for found in topology.objects if found.type == "Package"]
    homes = _Homes(topology)
    caches = in_cache_order(_caches(topology))
    cpus = cpus_in_kubelet_order(_cpus(topology, homes))
    if not cpus:
        raise topology.error("no PU in it", cure="write it with lstopo --of xml and no filter")
    functions = read_functions(topology, machine, homes.owners)
    devices = devices_of(functions, nics_numbered=True)
    if len({device.id for device in devices}) != len(devices):
        raise topology.error("two PCI devices have the same address or UUID")
    guesses = (
        ("core", any(found.type == "PU" and found.up("Core") is None for found in topology.objects)),
        ("numa", homes.tie or any(cpu.id not in homes.of for cpu in cpus)),
        ("socket", not packages),
    )
    assumed = [name for name, is_assumed in guesses if is_assumed]
    return Machine(
        cpus=with_uncore_caches(cpus, caches),
        numa_nodes=_numa_nodes(topology, devices),
        devices=devices,
        sockets=len(packages) or None,
        caches=caches,
        model=next(
            (found.infos["CPUModel"] for found in [*packages, machine] if "CPUModel" in found.infos), ""
        ).strip(),
        assumed=tuple(assumed),
    )


class _Homes:
    """Which NUMA node a CPU belongs to."""

    def __init__(self, topology: HwlocTopology) -> None:
        self.of: dict[int, int] = {}
        self.tie = False
        self.owners = 0
        """The NUMA nodes that have CPUs."""
        nodes = [
            (mask.bit_count(), found.attributes.get("subtype", "DRAM") != "DRAM", topology.index(found), mask)
            for found in topology.objects
            if found.type == "NUMANode" and (mask := topology.mask(found, "cpuset"))
        ]
        met: set[int] = set()
        taken = 0
        for _, _, node, mask in sorted(nodes):
            self.tie = self.tie or mask in met
            met.add(mask)
            for cpu in members(mask & ~taken):
                self.of[cpu] = node
                self.owners |= 1 << node
            taken |= mask


def _cpus(topology: HwlocTopology, homes: _Homes) -> list[Cpu]:
    kinds = {
        cpu: _CPU_KINDS[kind.infos["CoreType"]]
        for kind in topology.cpu_kinds
        if kind.infos.get("CoreType") in _CPU_KINDS
        for cpu in members(topology.mask_of(kind.attributes.get("cpuset", "")))
    }
    if len(set(kinds.values())) < 2:
        kinds = {}
    cpus: dict[int, Cpu] = {}
    for found in topology.objects:
        if found.type != "PU":
            continue
        cpu = topology.index(found)
        if cpu in cpus:
            raise topology.error(f"CPU {cpu} stands here a second time", found.line)
        core, package, die = (found.up(type) for type in ("Core", "Package", "Die"))
        cpus[cpu] = Cpu(
            id=cpu,
            core=cpu if core is None else topology.index(core),
            socket=0 if package is None else topology.index(package),
            numa=homes.of.get(cpu, 0),
            kind=kinds.get(cpu, ""),
            die=None if die is None else topology.number(die, "os_index"),
        )
    return list(cpus.values())


def _caches(topology: HwlocTopology) -> list[Cache]:
    caches = []
    for found in topology.objects:
        if not found.type.endswith("Cache"):
            continue
        level = topology.number(found, "depth")
        caches.append(
            Cache(
                level=0 if level is None else level,
                kind=_CACHE_KINDS.get(found.attributes.get("cache_type", "0"), "unified"),
                size=topology.number(found, "cache_size", LARGEST_AMOUNT) or 0,
                cpus=topology.mask(found, "cpuset"),
                id=topology.number(found, "os_index"),
            )
        )
    return caches


def _numa_nodes(topology: HwlocTopology, devices: tuple[Device, ...]) -> tuple[NumaNode, ...]:
    by_bus = {device.bus: device.id for device in devices}
    nodes: dict[int, NumaNode] = {}
    for found in topology.objects:
        if found.type != "NUMANode":
            continue
        node = topology.index(found)
        if node in nodes:
            raise topology.error(f"NUMA node {node} stands here a second time", found.line)
        nodes[node] = NumaNode(
            id=node,
            memory=topology.number(found, "local_memory", LARGEST_AMOUNT) or 0,
            hugepages=_hugepages(topology, found),
            device=by_bus.get(pci_address(found.infos.get("PCIBusID", "")) or "", ""),
        )
    rows = _distances(topology, sorted(nodes))
    return in_kubelet_order(
        msgspec.structs.replace(node, distances=rows[id]) if id in rows else node for id, node in nodes.items()
    )


def _hugepages(topology: HwlocTopology, node: HwlocObject) -> dict[int, int]:
    """All sizes but the smallest, which is the ordinary page."""
    pages: dict[int, int] = {}
    for size_text, count_text in node.pages:
        size, count = whole_number(size_text, LARGEST_AMOUNT), whole_number(count_text, LARGEST_AMOUNT)
        if size is None or count is None:
            raise topology.error("a page type without size or count", node.line)
        pages[size] = count
    return dict(sorted(pages.items())[1:])


def _distances(topology: HwlocTopology, nodes: list[int]) -> dict[int, tuple[int, ...]]:
    """Per NUMA node its row by ascending node id, as the kernel gives it; none unless the matrix has all of them."""
    for found in topology.distances:
        if found.attributes.get("type") != "NUMANode" or found.attributes.get("name") != "NUMALatency":
            continue
        indexes = [whole_number(text) for text in found.indexes]
        values = [whole_number(text) for text in found.values]
        known = [index for index in indexes if index is not None]
        width = len(known)
        if sorted(known) != nodes or len(values) != width * width or None in values or width != len(indexes):
            continue
        places = {node: place for place, node in enumerate(known)}
        return {
            node: tuple(value for other in nodes if (value := values[places[node] * width + places[other]]) is not None)
            for node in nodes
        }
    return {}
