"""Finds out which devices of several sources are the same, and puts together what is said about each.

Two descriptions are of one device when they share its id (a UUID), its PCI address or its label, and nothing speaks
against it. The NUMA node that counts is the one that the device plugin tells the kubelet: it reads `numa_node` in
/sys, where -1 means unknown, and does not ask the driver.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from numafit.machine.model import DEVICES, Device
from numafit.machine.source import FILE, OF_DRIVER, PODRESOURCES, SYSFS, WRITTEN, Disagreement, Source, reason

T = TypeVar("T")

_SAYS_UNKNOWN = (*WRITTEN, PODRESOURCES, SYSFS)
"""From these, no NUMA node is a statement: the plugin knows none."""

DEVICE_NUMA = "device_numa"
"""Among the assumed: nobody says what the plugin would say of a device; a NUMA node that the driver names stands in."""

Descriptions = list[tuple[Source, Device]]


class CombinedDevices(msgspec.Struct, frozen=True):
    devices: tuple[Device, ...]
    names: dict[tuple[str, str], str]
    """(source, device id in it) -> id here."""
    disagreements: tuple[Disagreement, ...]
    assumed: tuple[str, ...]


def combine_devices(sources: Sequence[Source]) -> CombinedDevices:
    """`sources` in the order in which they are believed; devices in the order in which they are met first."""
    sources = _without_made_up(sources)
    devices: list[Device] = []
    names: dict[tuple[str, str], str] = {}
    disagreements: list[Disagreement] = []
    assumed = {name for source in sources for name in source.machine.assumed if name in (DEVICE_NUMA, DEVICES)}
    taken: dict[str, set[str]] = {}
    """Id -> resources that have a device of this id."""
    groups = _groups(sources)
    listed = {device.resource for source in sources if source.kind == PODRESOURCES for device in source.machine.devices}
    for said in groups:
        device = _combined(said)
        numa, stand_in, found = _numa(device, said)
        disagreements += found
        if stand_in:
            assumed.add(DEVICE_NUMA)
        if device.resource in listed - {""} and all(source.kind != PODRESOURCES for source, _ in said):
            disagreements.append(_not_offered(device, said, sources))
            device = msgspec.structs.replace(device, resource="")
        device = msgspec.structs.replace(device, numa=numa)
        if len(sources) > 1:
            device = msgspec.structs.replace(device, id=_free_id(device, said, taken))
            taken.setdefault(device.id, set()).add(device.resource)
        devices.append(device)
        names.update({(source.name, part.id): device.id for source, part in said})
    parents = {id: name for (_, id), name in names.items()}
    return CombinedDevices(
        tuple(
            msgspec.structs.replace(device, parent=parents.get(device.parent, device.parent))
            if device.parent
            else device
            for device in devices
        ),
        names,
        tuple(disagreements),
        tuple(sorted(assumed)),
    )


def _without_made_up(sources: Sequence[Source]) -> Sequence[Source]:
    """A made-up device gives way where another source lists the devices of its resource."""
    listed = {
        device.resource
        for source in sources
        if DEVICES not in source.machine.assumed
        for device in source.machine.devices
    }
    return [source if DEVICES not in source.machine.assumed else _less(source, listed) for source in sources]


def _less(source: Source, listed: set[str]) -> Source:
    machine = source.machine
    devices = tuple(device for device in machine.devices if device.resource not in listed)
    assumed = machine.assumed if devices else tuple(name for name in machine.assumed if name != DEVICES)
    return msgspec.structs.replace(source, machine=msgspec.structs.replace(machine, devices=devices, assumed=assumed))


def _marks(device: Device) -> Iterator[tuple[str, str]]:
    yield "id", device.id
    if device.bus:
        yield "id", device.bus
        yield "bus", device.bus
    if device.label:
        yield "label", device.label


def _groups(sources: Sequence[Source]) -> list[Descriptions]:
    """The descriptions of each device. One may join two groups: `nvidia-smi -L` knows UUID and label."""
    groups: list[Descriptions] = []
    by_mark: dict[tuple[str, str], list[int]] = {}
    for source in sources:
        for device in source.machine.devices:
            said: Descriptions = [(source, device)]
            home: int | None = None
            for found in (number for mark in _marks(device) for number in by_mark.get(mark, ())):
                if found != home and groups[found] and not _against(groups[found], said):
                    # the lower number is the place in the list
                    said = groups[found] + said if home is None or found < home else said + groups[found]
                    groups[found] = []
                    home = found if home is None else min(home, found)
            if home is None:
                home = len(groups)
                groups.append([])
            groups[home] = said
            for mark in {mark for _, part in said for mark in _marks(part)}:
                if home not in by_mark.setdefault(mark, []):
                    by_mark[mark].append(home)
    return [said for said in groups if said]


def _against(one: Descriptions, other: Descriptions) -> bool:
    """They cannot be one device: the same source lists both, or they differ in resource, UUID or PCI address."""
    if {id(source) for source, _ in one} & {id(source) for source, _ in other}:
        return True
    for pick in (_uuid, lambda device: device.bus, lambda device: device.resource):
        mine = {pick(device) for _, device in one} - {""}
        theirs = {pick(device) for _, device in other} - {""}
        if mine and theirs and not mine & theirs:
            return True
    return False


def _uuid(device: Device) -> str:
    return device.id if device.id.startswith(("GPU-", "MIG-")) else ""


def _combined(said: Descriptions) -> Device:
    """Each field from the first source that has it. The driver numbers its own devices."""
    parts = [device for _, device in said]
    by_driver = [device for source, device in said if source.kind in OF_DRIVER]
    return Device(
        resource=_first([part.resource for part in parts], ""),
        id=_first([_uuid(part) for part in parts], parts[0].id),
        healthy=all(part.healthy for part in parts),
        kind=_first([part.kind for part in parts], ""),
        name=_first([part.name for part in (*by_driver, *parts)], ""),
        label=_first([part.label for part in (*by_driver, *parts)], ""),
        bus=_first([part.bus for part in parts], ""),
        pci_class=next((part.pci_class for part in parts if part.pci_class is not None), None),
        switch=_first([part.switch for part in parts], ""),
        root_port=_first([part.root_port for part in parts], ""),
        memory=_first([part.memory for part in parts], 0),
        parent=_first([part.parent for part in parts], ""),
        cpus=_first([part.cpus for part in parts], 0),
        driver_numa=next((part.driver_numa for part in parts if part.driver_numa is not None), None),
    )


def _first(values: Sequence[T], default: T) -> T:
    return next((value for value in values if value), default)


def _free_id(device: Device, said: Descriptions, taken: Mapping[str, set[str]]) -> str:
    """Its id, or one with the source's name if another device has it: two GPUs that are `GPU0` to their sources. Two
    resources may use the same ids."""
    name = device.id
    while taken.get(name) and (not device.resource or taken[name] & {device.resource, ""}):
        name = f"{name} ({said[0][0].name})"
    return name


def _numa(device: Device, said: Descriptions) -> tuple[tuple[int, ...] | None, bool, list[Disagreement]]:
    """The NUMA nodes that count, whether they are a stand-in, and what is disputed about them."""
    stated = [(source, part.numa) for source, part in said if part.numa is not None or source.kind in _SAYS_UNKNOWN]
    opinions = [
        (source, f"{part.driver_numa} (the driver)")
        for source, part in said
        if part.driver_numa is not None and (not stated or stated[0][1] != (part.driver_numa,))
    ]
    if not stated:
        stand_in = device.driver_numa is not None or bool(device.resource)
        return ((device.driver_numa,) if device.driver_numa is not None else None), stand_in, []
    taken = stated[0][1]
    if not opinions and all(numa == taken for _, numa in stated):
        return taken, False, []
    values = [(source.name, _numa_text(source, numa)) for source, numa in stated]
    values += [(source.name, text) for source, text in opinions]
    first = stated[0][0]
    why = "the device plugin reads numa_node in /sys, not the driver" if first.kind == SYSFS else reason(first)
    if first.kind == FILE:
        why = "the file says so of the device plugin"
    what = f"NUMA node of {device.label or device.id}"
    return taken, False, [Disagreement(what, tuple(dict.fromkeys(values)), _numa_text(first, taken), why)]


def _numa_text(source: Source, numa: tuple[int, ...] | None) -> str:
    if numa is None:
        return "unknown (numa_node is -1)" if source.kind == SYSFS else "unknown"
    return ",".join(map(str, numa)) or "none"


def _not_offered(device: Device, said: Descriptions, sources: Sequence[Source]) -> Disagreement:
    kubelet = next(source for source in sources if source.kind == PODRESOURCES)
    values = ((kubelet.name, "nothing of it"), (said[0][0].name, f"it is a {device.resource}"))
    return Disagreement(f"device {device.label or device.id}", values, "not offered", reason(kubelet))
