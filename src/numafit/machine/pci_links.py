"""How devices reach each other over PCIe, from their places alone, in the words of `nvidia-smi topo`.

Only what /sys shows: whether two GPUs also have NVLinks it does not say. So these links are for machines whose links no
other source tells.
"""

from collections.abc import Sequence
from itertools import combinations

from numafit.machine.model import Device, Link

_KINDS = ("gpu", "nic")


def pci_links(devices: Sequence[Device]) -> tuple[Link, ...]:
    """Between GPUs and network cards, in the order of the devices. A pair whose way is not known has no link."""
    placed = [device for device in devices if device.kind in _KINDS and device.bus]
    pairs = ((a, b, _kind(a, b)) for a, b in combinations(placed, 2))
    return tuple(Link(a.id, b.id, kind) for a, b, kind in pairs if kind)


def _kind(a: Device, b: Device) -> str:
    if a.switch and a.switch == b.switch:
        return "PIX"
    if a.root_port and a.root_port == b.root_port:
        # Functions of one card share the root port and nothing else lies between them.
        return "PXB" if a.switch or b.switch else "PIX"
    if _host_bridge(a) == _host_bridge(b):
        return "PHB"
    if a.numa is None or b.numa is None:
        return ""
    return "NODE" if a.numa == b.numa else "SYS"


def _host_bridge(device: Device) -> str:
    """The bus that hangs at the host bridge: the one of the root port, or the device's own."""
    return (device.root_port or device.bus).rpartition(":")[0]
