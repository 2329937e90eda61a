"""Puts partial machines together, and says where their sources contradict each other.

What the kubelet itself would read counts first, then what is nearest to it; `KINDS` has the order. A stand-in of a
reader (`Machine.assumed`) gives way to whoever states the thing, without a word. What nobody states is listed there in
the end, too.
"""

from collections.abc import Sequence

import msgspec

from numafit.amounts import amount_text
from numafit.bits import cpuset_text
from numafit.machine.combine.cpus import combine_cpus
from numafit.machine.combine.devices import CombinedDevices, combine_devices
from numafit.machine.combine.nodes import close, combine_nodes
from numafit.machine.combine.unstated import unstated
from numafit.machine.links import pci_links
from numafit.machine.model import Cache, Link, Machine
from numafit.machine.notes import disagreement_notes
from numafit.machine.source import OF_DRIVER, WRITTEN, Disagreement, Source, compared, ranked
from numafit.notes import Note


class CombinedMachine(msgspec.Struct, frozen=True):
    machine: Machine
    disagreements: tuple[Disagreement, ...] = ()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What its sources disagree about; what they do not tell is in the machine itself."""
        return disagreement_notes(self.disagreements) if self.disagreements else ()


def combine(sources: Sequence[Source]) -> CombinedMachine:
    """Of equals, the source given first is believed first."""
    order = ranked(sources)
    devices = combine_devices(order)
    combined = _alone(order[0], devices) if len(order) == 1 else _together(order, devices)
    machine = combined.machine
    if not machine.links and not any(source.kind in WRITTEN for source in order):
        machine = _with_pci_links(machine)
    missing = [word for word in unstated(machine, {source.kind for source in order}) if word not in machine.assumed]
    if missing:
        machine = msgspec.structs.replace(machine, assumed=(*machine.assumed, *missing))
    return msgspec.structs.replace(combined, machine=machine)


def _with_pci_links(machine: Machine) -> Machine:
    """Where nobody tells of links, the way over PCI is better than nothing; NVLinks may be missing."""
    links = pci_links(machine.devices) if any(device.kind == "gpu" for device in machine.devices) else ()
    if not links:
        return machine
    return msgspec.structs.replace(machine, links=links, assumed=(*machine.assumed, "links"))


def _alone(source: Source, devices: CombinedDevices) -> CombinedMachine:
    assumed = tuple(dict.fromkeys((*source.machine.assumed, *devices.assumed)))
    machine = msgspec.structs.replace(source.machine, devices=devices.devices, assumed=assumed)
    return CombinedMachine(machine, devices.disagreements)


def _together(sources: Sequence[Source], devices: CombinedDevices) -> CombinedMachine:
    cpus = combine_cpus(sources)
    nodes = combine_nodes(sources, devices.names, {cpu.numa for cpu in cpus.cpus if cpu.numa >= 0})
    links, of_links = _links(sources, devices)
    caches, of_caches = _caches(sources)
    memory = [(source, source.machine.memory) for source in sources if source.machine.memory is not None]
    sockets = [(source, source.machine.sockets) for source in sources if source.machine.sockets is not None]
    of_whole = compared("memory of the machine", memory, close, amount_text) if memory else []
    of_whole += compared("number of sockets", sockets, int.__eq__, str) if sockets else []
    machine = Machine(
        cpus=cpus.cpus,
        numa_nodes=nodes.nodes,
        devices=devices.devices,
        links=links,
        memory=memory[0][1] if memory else None,
        sockets=sockets[0][1] if sockets else None,
        name=next((source.machine.name for source in sources if source.machine.name), ""),
        caches=caches,
        model=next((source.machine.model for source in sources if source.machine.model), ""),
        assumed=(*cpus.assumed, *nodes.assumed, *devices.assumed),
    )
    found = (*cpus.disagreements, *of_caches, *nodes.disagreements, *of_whole, *devices.disagreements, *of_links)
    return CombinedMachine(machine, tuple(found))


def _links(sources: Sequence[Source], devices: CombinedDevices) -> tuple[tuple[Link, ...], list[Disagreement]]:
    """The driver knows links best: it sees NVLink, which is beside the way over PCI and no contradiction to it."""
    place = {device.id: index for index, device in enumerate(devices.devices)}
    said: dict[tuple[str, str], list[tuple[Source, str]]] = {}
    for source in sorted(sources, key=lambda source: source.kind not in OF_DRIVER):
        for link in source.machine.links:
            ends = sorted(
                (devices.names.get((source.name, end), end) for end in (link.a, link.b)),
                key=lambda end: place.get(end, -1),
            )
            said.setdefault((ends[0], ends[1]), []).append((source, link.kind))
    labels = {device.id: device.label or device.id for device in devices.devices}
    pairs = sorted(said, key=lambda pair: (place.get(pair[0], -1), place.get(pair[1], -1)))
    disagreements = [
        found
        for pair in pairs
        for found in compared(f"link of {labels.get(pair[0])} and {labels.get(pair[1])}", said[pair], _same_link, str)
    ]
    return tuple(Link(a, b, _best(said[a, b])) for a, b in pairs), disagreements


def _best(said: Sequence[tuple[Source, str]]) -> str:
    kinds = [kind for _, kind in said]
    return next((kind for kind in kinds if kind.startswith("NV")), kinds[0])


def _same_link(one: str, other: str) -> bool:
    return one == other or one.startswith("NV") != other.startswith("NV")


def _caches(sources: Sequence[Source]) -> tuple[tuple[Cache, ...], list[Disagreement]]:
    """All caches from one source; the others are compared level by level where they know which CPUs share one."""
    speaking = [source for source in sources if source.machine.caches]
    if not speaking:
        return (), []
    disagreements = []
    for level, kind in sorted({(cache.level, cache.kind) for cache in speaking[0].machine.caches}):
        said = [(source, _sets(source, level, kind)) for source in speaking]
        name = f"L{level} {kind} caches" if level == 1 else f"L{level} caches"
        disagreements += compared(name, [(source, sets) for source, sets in said if sets], list.__eq__, _sets_text)
    sizes = {
        (cache.level, cache.kind, cache.cpus): cache.size
        for source in reversed(speaking)
        for cache in source.machine.caches
        if cache.size
    }
    return tuple(
        cache
        if cache.size
        else msgspec.structs.replace(cache, size=sizes.get((cache.level, cache.kind, cache.cpus), 0))
        for cache in speaking[0].machine.caches
    ), disagreements


def _sets(source: Source, level: int, kind: str) -> list[int]:
    caches = [cache for cache in source.machine.caches if (cache.level, cache.kind) == (level, kind) and cache.cpus]
    return sorted(cache.cpus for cache in caches)


def _sets_text(sets: list[int]) -> str:
    texts = [cpuset_text(cpus) for cpus in sets]
    return f"{len(texts)}: {' '.join(texts[:4])}" + (" …" if len(texts) > 4 else "")
