"""Pod -> the devices that its claims give to it, with the NUMA nodes that a driver, or else the machine, tells."""

import re
from collections.abc import Iterable, Iterator

from numafit.bits import cpuset_text, mask_of
from numafit.cluster.claims.objects import AllocatedDevice, Attributes, ResourceClaim, ResourceSlice
from numafit.cluster.topology.model import ClaimedDevice
from numafit.machine.model import Device, Machine

STANDARD = "resource.kubernetes.io"
NUMA_NAMES = ("numaNode", "numaNodeID", "numa")
"""How drivers call it, with a domain of their own before it or without one; the standard name comes first."""
BUS_NAMES = ("pciBusID", "pciAddress", "pcieBusID")
LAST_NUMA_NODE = 63

DeviceKey = tuple[str, str, str]
"""(driver, pool, device)."""
_ROOT = re.compile(r"pci([0-9a-f]{4,}:[0-9a-f]{2})")


def devices_by_pod(
    claims: Iterable[ResourceClaim], slices: Iterable[ResourceSlice], machine: Machine | None = None
) -> dict[str, tuple[ClaimedDevice, ...]]:
    """Pod UID -> devices, in the order of the claims' names. A claim that several pods share is told with each of them.

    `machine`: that of the node, for drivers that tell a PCI address and no NUMA node.
    """
    known = _by_key(slices)
    found: dict[str, dict[tuple[str, DeviceKey], ClaimedDevice]] = {}
    for claim in sorted(claims, key=lambda own: (own.metadata.namespace, own.metadata.name)):
        devices = tuple(_allocated(claim))
        for consumer in (claim.status.reservedFor or ()) if claim.status is not None else ():
            if consumer.resource == "pods" and consumer.uid:
                own = found.setdefault(consumer.uid, {})
                for device in devices:
                    key = (device.driver, device.pool, device.device)
                    told = _told(claim.metadata.name, device, known.get(key, {}), machine)
                    own[claim.metadata.name, key] = told
    return {uid: tuple(own.values()) for uid, own in found.items() if own}


def _by_key(slices: Iterable[ResourceSlice]) -> dict[DeviceKey, Attributes]:
    return {
        (own.spec.driver, own.spec.pool.name, device.name): device.all_attributes
        for own in slices
        for device in own.spec.devices or ()
    }


def _allocated(claim: ResourceClaim) -> Iterator[AllocatedDevice]:
    """Those that it takes; who only looks at a device holds nothing."""
    if claim.status is not None and claim.status.allocation is not None:
        yield from (own for own in claim.status.allocation.devices.results or () if not own.adminAccess)


def _told(claim: str, device: AllocatedDevice, attributes: Attributes, machine: Machine | None) -> ClaimedDevice:
    bus = _text(attributes, BUS_NAMES).lower()
    nodes = _numa(attributes)
    if nodes is None and machine is not None:
        nodes = _of_machine(attributes, bus, machine)
    text = None if nodes is None else cpuset_text(mask_of(nodes))
    return ClaimedDevice(claim, device.driver, device.pool, device.device, text, bus)


def _numa(attributes: Attributes) -> tuple[int, ...] | None:
    """None where the driver does not tell it. Of a list the first is the device's own, the others are near it."""
    for name in _named(attributes, NUMA_NAMES):
        value = attributes[name]
        number = value.number if value.number is not None else next(iter(value.numbers or ()), None)
        if number is not None and 0 <= number <= LAST_NUMA_NODE:
            return (number,)
    return None


def _of_machine(attributes: Attributes, bus: str, machine: Machine) -> tuple[int, ...] | None:
    """By its PCI address or its UUID; else by the PCIe root, where all that is known below it lies on one NUMA node."""
    uuid = _text(attributes, ("uuid",))
    for device in machine.devices:
        if device.numa and ((bus and _same_bus(device.bus, bus)) or (uuid and device.id == uuid)):
            return device.numa
    root = _ROOT.fullmatch(_text(attributes, ("pcieRoot",)).lower())
    if root is not None:
        below = {device.numa for device in machine.devices if _root_of(device) == root[1] and device.numa}
        if len(below) == 1:
            return below.pop()
    return None


def _root_of(device: Device) -> str:
    """`0000:17` of the root port 0000:17:01.0, which sits on the root bus itself."""
    return device.root_port.lower().rpartition(":")[0]


def _same_bus(one: str, other: str) -> bool:
    """NVIDIA writes the domain with eight digits, the kernel with four."""
    return bool(one) and one.lower().lstrip("0") == other.lower().lstrip("0")


def _text(attributes: Attributes, names: tuple[str, ...]) -> str:
    values = (attributes[name].string for name in _named(attributes, names))
    return next((value for value in values if value), "")


def _named(attributes: Attributes, names: tuple[str, ...]) -> list[str]:
    """The attributes of these names, of any domain; the standard ones first, then in the order of `names`."""
    found = [name for name in attributes if name.rpartition("/")[2] in names]
    return sorted(
        found, key=lambda name: (not name.startswith(f"{STANDARD}/"), names.index(name.rpartition("/")[2]), name)
    )
