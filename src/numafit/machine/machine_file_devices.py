"""Reads the devices of a machine file and the links between them."""

from collections.abc import Sequence

from numafit.machine.fields import Fields
from numafit.machine.model import Device, Link
from numafit.machine.number_list import numbers_mask

_DEVICE = (
    *("id", "resource", "numa", "healthy", "kind", "name", "label", "bus", "pciClass", "switch", "rootPort"),
    *("memory", "parent", "cpus", "driverNuma"),
)


def read_devices(root: Fields) -> tuple[Device, ...]:
    devices: dict[tuple[str, str], Device] = {}
    for index in range(len(root.items("devices"))):
        fields = root.within("devices", _DEVICE, index)
        fields.need("id")
        device = Device(
            resource=fields.text("resource"),
            id=fields.text("id"),
            # A plugin may name a node that is not there; the kubelet takes it.
            numa=fields.integers("numa"),
            healthy=fields.flag("healthy", True),
            kind=fields.text("kind"),
            name=fields.text("name"),
            label=fields.text("label"),
            bus=fields.text("bus"),
            pci_class=_pci_class(fields),
            switch=fields.text("switch"),
            root_port=fields.text("rootPort"),
            memory=fields.amount("memory") or 0,
            parent=fields.text("parent"),
            cpus=numbers_mask(fields.numbers("cpus")),
            driver_numa=fields.integer("driverNuma"),
        )
        if (device.resource, device.id) in devices:
            raise fields.error(f'the device "{device.id[:60]}" is listed twice', "id")
        devices[device.resource, device.id] = device
    return tuple(devices.values())


def _pci_class(fields: Fields) -> int | None:
    value = fields.value("pciClass")
    if not isinstance(value, str):
        return fields.integer("pciClass")
    try:
        number = int(value, 16) if len(value) <= 8 else -1
    except ValueError:
        number = -1
    if not 0 <= number < 1 << 24:
        raise fields.error(f'"{value[:40]}" is not a PCI class', "pciClass", cure="write it like 0x030200")
    return number


def read_links(root: Fields, devices: Sequence[Device]) -> tuple[Link, ...]:
    place = {device.id: index for index, device in reversed(list(enumerate(devices)))}
    named = {**{device.label: device.id for device in devices if device.label}, **{id: id for id in place}}
    links: dict[tuple[str, str], Link] = {}
    for name, step, a, b, kind in _pairs(root):
        for end in (a, b):
            if end not in named:
                raise root.error(f'there is no device "{end[:60]}"', "links", name, step)
        a, b = sorted((named[a], named[b]), key=lambda end: place[end])
        if a == b or (a, b) in links:
            fault = "a device is linked with itself" if a == b else "these two devices are linked twice"
            raise root.error(fault, "links", name, step)
        links[a, b] = Link(a, b, kind)
    return tuple(links.values())


def _pairs(root: Fields) -> list[tuple[str | int, str | int, str, str, str]]:
    """(two steps of the path for complaints, one end, the other end, kind) of each link."""
    if not isinstance(root.value("links"), dict):
        found: list[tuple[str | int, str | int, str, str, str]] = []
        for index in range(len(root.items("links"))):
            fields = root.within("links", ("a", "b", "kind"), index)
            for name in ("a", "b", "kind"):
                fields.need(name)
            found.append((index, "a", fields.text("a"), fields.text("b"), fields.text("kind")))
        return found
    fields = root.within("links", ("between", "matrix"))
    ends, rows = fields.items("between"), fields.items("matrix")
    if len(rows) != max(len(ends) - 1, 0):
        raise fields.error(f"{len(rows)} rows for {len(ends)} devices", "matrix", cure="one row less than devices")
    pairs: list[tuple[str | int, str | int, str, str, str]] = []
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(ends) - 1 - i:
            raise fields.error(f"a list of {len(ends) - 1 - i} kinds is needed here", "matrix", i)
        for kind, end in zip(row, ends[i + 1 :], strict=True):
            one = ends[i]
            if not (isinstance(kind, str) and isinstance(one, str) and isinstance(end, str)):
                raise fields.error("devices and kinds must be texts", "matrix", i)
            pairs.append(("matrix", i, one, end, kind))
    return pairs
