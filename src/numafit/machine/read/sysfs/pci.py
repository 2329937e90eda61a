"""PCI devices in /sys that matter to a workload: GPUs, network cards, NVMe disks, with their place in the machine.

The path of a device in /sys tells what lies above it: `pci0000:10/0000:10:00.0/0000:11:00.0/…` is a host bridge, then a
root port, then the ports of switches. A virtual function belongs to its card and is not listed. Where NVIDIA's driver
is loaded, /proc adds names, UUIDs, and which NUMA node is a GPU's own memory.
"""

import posixpath
import re

import msgspec

from numafit.machine.model import Device
from numafit.machine.read.pci import AMD, Bridge, PciFunction, devices_of, placed_device
from numafit.machine.read.sysfs.text import number
from numafit.machine.read.sysfs.tree import Tree

DEVICES = "sys/bus/pci/devices"
DRIVER = "proc/driver/nvidia/gpus"
"""What NVIDIA's driver says, one folder per PCI address."""

_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_HOST_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_HEX = re.compile(r"0x[0-9a-fA-F]{1,8}")
_MODEL = r"(?m)^Model:[\t ]*(.*)$"
_UUID = r"(?m)^GPU UUID:[\t ]*(GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})[\t ]*$"
_OWN_NODE = r"(?m)^Node:[\t ]*([0-9]{1,5})[\t ]*$"


class FoundDevices(msgspec.Struct, frozen=True):
    devices: tuple[Device, ...]
    memory_nodes: dict[int, str]
    """NUMA node -> id of the GPU whose own memory it is."""


def pci_addresses(tree: Tree) -> list[str]:
    return [name for name in tree.names(DEVICES) if _ADDRESS.fullmatch(name)]


def read_devices(tree: Tree) -> FoundDevices:
    functions = [function for address in pci_addresses(tree) if (function := _function(tree, address))]
    devices = devices_of(functions, nics_numbered=True)
    memory_nodes = {}
    for device in devices:
        if device.kind == "gpu":
            own_node = re.search(_OWN_NODE, tree.text(f"{DRIVER}/{device.bus}/numa_status") or "")
            if own_node:
                memory_nodes[int(own_node[1])] = device.id
    return FoundDevices(devices, memory_nodes)


def any_device(tree: Tree, address: str) -> Device | None:
    """A function of whatever kind, a virtual one too, by its place alone; None where there is none any more."""
    path = _real_path(tree, address)
    pci_class, vendor = _hex(tree, f"{path}/class"), _hex(tree, f"{path}/vendor")
    if pci_class is None or vendor is None:
        return None
    numa = number(tree.text(f"{path}/numa_node"))
    function = PciFunction(
        address,
        pci_class >> 8,
        vendor,
        _hex(tree, f"{path}/device"),
        None if numa is None or numa < 0 else numa,
        _bridges(tree, path, vendor),
    )
    return placed_device(function)


def _function(tree: Tree, address: str) -> PciFunction | None:
    path = _real_path(tree, address)
    pci_class, vendor = _hex(tree, f"{path}/class"), _hex(tree, f"{path}/vendor")
    if pci_class is None or vendor is None:
        return None
    function = PciFunction(address, pci_class >> 8, vendor)
    if not function.kind:
        function = PciFunction(address, pci_class >> 8, vendor, _hex(tree, f"{path}/device"))
    if not function.kind or tree.link(f"{path}/physfn") is not None:
        return None
    numa = number(tree.text(f"{path}/numa_node"))
    rdma = tree.names(f"{path}/infiniband") if function.kind == "nic" else []
    vram = number(tree.text(f"{path}/mem_info_vram_total")) if vendor == AMD else None
    information = (tree.text(f"{DRIVER}/{address}/information") or "") if function.kind == "gpu" else ""
    uuid, model = re.search(_UUID, information), re.search(_MODEL, information)
    return msgspec.structs.replace(
        function,
        # -1 is the kernel's word for "unknown"; a device plugin then tells the kubelet nothing.
        numa=None if numa is None or numa < 0 else numa,
        bridges=_bridges(tree, path, vendor),
        name=model[1].strip()[:80] if model else "",
        uuid=uuid[1] if uuid else "",
        memory=max(vram or 0, 0),
        rdma=rdma[0] if rdma else "",
    )


def _real_path(tree: Tree, address: str) -> str:
    path = f"{DEVICES}/{address}"
    link = tree.link(path)
    if link is None:
        return path
    real = posixpath.normpath(posixpath.join(DEVICES, link))
    return real if real.startswith("sys/devices/") else path


def _bridges(tree: Tree, path: str, vendor: int) -> tuple[Bridge, ...]:
    """What lies between the host bridge and the device, from the top."""
    parts = path.split("/")
    # Below a VMD controller a second hierarchy begins, with a host bridge of its own.
    tops = [i for i, part in enumerate(parts) if _HOST_BRIDGE.fullmatch(part)]
    if not tops:
        return ()
    bridges = []
    for i in range(tops[-1] + 1, len(parts) - 1):
        if _ADDRESS.fullmatch(parts[i]):
            # Only AMD's GPUs bring bridges of their own.
            maker = _hex(tree, "/".join(parts[: i + 1]) + "/vendor") if vendor == AMD else None
            bridges.append(Bridge(parts[i], maker))
    return tuple(bridges)


def _hex(tree: Tree, path: str) -> int | None:
    text = (tree.text(path) or "").strip()
    return int(text, 16) if _HEX.fullmatch(text) else None
