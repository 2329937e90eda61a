"""A machine sorted for drawing: packages, their NUMA nodes, cores under shared caches, and bundles of devices.

A package is a socket, or several where a NUMA node spans them. Drawings walk this plan, so that all of them show the
same machine. CPUs that are offline have no place in it; they are listed.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from numafit.amounts import size_text
from numafit.bits import mask_of, members
from numafit.machine.model import Cache, Cpu, Device, Machine, NumaNode
from numafit.show.words import distinct_caches, ids_text

KIND_ORDER = {"gpu": 0, "mig": 1, "nic": 2, "nvme": 3}


class Core(msgspec.Struct, frozen=True):
    id: int
    socket: int
    cpus: tuple[int, ...]
    """Ascending."""
    kind: str
    isolated: bool


class Group(msgspec.Struct, frozen=True):
    """Cores under one shared cache; `label` is empty for cores that share none smaller than their node."""

    label: str
    cores: tuple[Core, ...]


class Bundle(msgspec.Struct, frozen=True):
    """Devices behind one PCIe switch, or a single device."""

    devices: tuple[Device, ...]


class DrawnNode(msgspec.Struct, frozen=True):
    numa: NumaNode
    groups: tuple[Group, ...]
    bundles: tuple[Bundle, ...]
    caches: tuple[str, ...] = ()
    """Shared by exactly this node, such as `L3 32Mi`."""

    @property
    def cores(self) -> list[Core]:
        return [core for group in self.groups for core in group.cores]

    @property
    def cpus(self) -> list[int]:
        return sorted(cpu for core in self.cores for cpu in core.cpus)


class Package(msgspec.Struct, frozen=True):
    sockets: tuple[int, ...]
    nodes: tuple[DrawnNode, ...]
    caches: tuple[str, ...]
    """Shared by CPUs of more than one NUMA node."""

    @property
    def title(self) -> str:
        return f"Socket {self.sockets[0]}" if len(self.sockets) == 1 else f"Sockets {ids_text(self.sockets)}"


class DrawnMachine(msgspec.Struct, frozen=True):
    packages: tuple[Package, ...]
    memory_nodes: tuple[DrawnNode, ...]
    """NUMA nodes without a CPU that is online."""
    unplaced: tuple[Bundle, ...]
    """Devices without a NUMA node, or with several."""
    offline: tuple[int, ...]
    slices: Mapping[str, int]
    """Device id -> number of MIG slices cut from it; the slices are not drawn on their own."""
    common_names: frozenset[str]
    """Products that all devices of their kind are."""


def plan_of(machine: Machine) -> DrawnMachine:
    online = [cpu for cpu in machine.cpus if cpu.online]
    known = {device.id for device in machine.devices}
    slices: dict[str, int] = {}
    shown: list[Device] = []
    for device in machine.devices:
        if device.parent in known and device.parent != device.id:
            slices[device.parent] = slices.get(device.parent, 0) + 1
        else:
            shown.append(device)
    numa_nodes = {node.id: node for node in machine.numa_nodes}
    for cpu in online:
        numa_nodes.setdefault(cpu.numa, NumaNode(cpu.numa))
    at_node: dict[int, list[Device]] = {}
    unplaced: list[Device] = []
    for device in shown:
        if device.numa is not None and len(device.numa) == 1 and device.numa[0] in numa_nodes:
            at_node.setdefault(device.numa[0], []).append(device)
        else:
            unplaced.append(device)
    switches = _Switches(machine)
    caches = distinct_caches(machine)
    cores = _cores(online)
    nodes = {
        number: _node(numa_nodes[number], cores.get(number, []), switches.bundles(at_node.get(number, ())), caches)
        for number in sorted(numa_nodes)
    }
    return DrawnMachine(
        packages=_packages([node for node in nodes.values() if node.groups], caches),
        memory_nodes=tuple(node for node in nodes.values() if not node.groups),
        unplaced=switches.bundles(unplaced),
        offline=tuple(sorted(cpu.id for cpu in machine.cpus if not cpu.online)),
        slices=slices,
        common_names=_common_names(shown),
    )


def _common_names(devices: Sequence[Device]) -> frozenset[str]:
    names: dict[str, set[str]] = {}
    for device in devices:
        names.setdefault(device.kind, set()).add(device.name)
    return frozenset(name for found in names.values() if len(found) == 1 for name in found)


def _cores(cpus: Sequence[Cpu]) -> dict[int, list[tuple[Core, Cpu]]]:
    """NUMA node -> its cores by lowest CPU, each with one of its CPUs."""
    threads: dict[tuple[int, int, int], list[Cpu]] = {}
    for cpu in sorted(cpus, key=lambda cpu: cpu.id):
        threads.setdefault((cpu.numa, cpu.socket, cpu.core), []).append(cpu)
    cores: dict[int, list[tuple[Core, Cpu]]] = {}
    for (numa, socket, core), members_ in threads.items():
        isolated = all(cpu.isolated for cpu in members_)
        made = Core(core, socket, tuple(cpu.id for cpu in members_), members_[0].kind, isolated)
        cores.setdefault(numa, []).append((made, members_[0]))
    return cores


def _node(
    numa: NumaNode, cores: Sequence[tuple[Core, Cpu]], bundles: tuple[Bundle, ...], caches: Sequence[Cache]
) -> DrawnNode:
    own = mask_of(cpu for core, _ in cores for cpu in core.cpus)
    whole = [cache for cache in caches if own and cache.cpus == own and cache.level > 2]
    place = _shared_below(own, cores, caches)
    groups: dict[tuple[int, str], list[Core]] = {}
    sockets = len({core.socket for core, _ in cores})
    for core, cpu in cores:
        label = place.get(cpu.id, "")
        if not place and cpu.uncore_cache is not None:
            label = f"uncore cache {cpu.uncore_cache}"
        groups.setdefault((core.socket, label), []).append(core)
    if len(groups) == 1 and not place:
        groups = {(socket, ""): cores_ for (socket, _), cores_ in groups.items()}
    return DrawnNode(
        numa=numa,
        groups=tuple(
            Group(_group_label(label, socket if sockets > 1 else None), tuple(cores_))
            for (socket, label), cores_ in groups.items()
        ),
        bundles=bundles,
        caches=tuple(f"L{cache.level} {size_text(cache.size)}" for cache in whole),
    )


def _group_label(label: str, socket: int | None) -> str:
    cache = label.partition("@")[0]
    if socket is None:
        return cache
    return f"socket {socket}, {cache}" if cache else f"socket {socket}"


def _shared_below(own: int, cores: Sequence[tuple[Core, Cpu]], caches: Sequence[Cache]) -> dict[int, str]:
    """First CPU of a core -> the cache above it, of the highest level at which a node's cores part into groups."""
    first = {cpu: core.cpus[0] for core, _ in cores for cpu in core.cpus}
    levels: dict[int, dict[int, str]] = {}
    for number, cache in enumerate(caches):
        inside = cache.cpus & own
        if not inside or inside == own or cache.level < 2:
            continue
        leaders = {first[cpu] for cpu in members(inside)}
        if len(leaders) > 1:
            label = f"L{cache.level} {size_text(cache.size)}@{number}"
            levels.setdefault(cache.level, {}).update(dict.fromkeys(leaders, label))
    return levels[max(levels)] if levels else {}


def _packages(nodes: Sequence[DrawnNode], caches: Sequence[Cache]) -> tuple[Package, ...]:
    """Sockets that share a NUMA node belong together."""
    part_of: dict[int, tuple[set[int], list[DrawnNode]]] = {}
    for node in nodes:
        merged: tuple[set[int], list[DrawnNode]] = (set(), [])
        for socket in sorted({core.socket for core in node.cores}):
            if part_of.get(socket) is not merged:
                sockets, own = part_of.get(socket, ({socket}, []))
                merged[0].update(sockets)
                merged[1].extend(own)
                part_of.update(dict.fromkeys(sockets, merged))
        merged[1].append(node)
    parts = {id(part): part for part in part_of.values()}.values()
    return tuple(
        Package(tuple(sorted(sockets)), tuple(own), _package_caches(own, caches))
        for sockets, own in sorted(parts, key=lambda part: min(part[0]))
    )


def _package_caches(nodes: Sequence[DrawnNode], caches: Sequence[Cache]) -> tuple[str, ...]:
    if len(nodes) < 2:
        return ()
    masks = [mask_of(node.cpus) for node in nodes]
    spanning = [
        f"L{cache.level} {size_text(cache.size)}"
        for cache in caches
        if cache.level > 1 and sum(1 for mask in masks if cache.cpus & mask) > 1
    ]
    return tuple(
        text if spanning.count(text) == 1 else f"{spanning.count(text)} x {text}" for text in dict.fromkeys(spanning)
    )


class _Switches:
    """Which devices sit behind one switch: they name the same one, or a PIX link joins them."""

    def __init__(self, machine: Machine) -> None:
        self.above: dict[str, str] = {}
        """Device -> another of the same bundle, up to one that stands for all."""
        for link in machine.links:
            if link.kind == "PIX":
                self._join(link.a, link.b)
        first_at: dict[str, str] = {}
        for device in machine.devices:
            if device.switch:
                self._join(first_at.setdefault(device.switch, device.id), device.id)

    def _top(self, device: str) -> str:
        while (above := self.above.get(device, device)) != device:
            self.above[device] = device = self.above.get(above, above)
        return device

    def _join(self, a: str, b: str) -> None:
        self.above[self._top(b)] = self._top(a)

    def bundles(self, devices: Iterable[Device]) -> tuple[Bundle, ...]:
        """GPUs first, then network cards; each bundle stands where its first device does."""
        together: dict[str, list[Device]] = {}
        for device in sorted(devices, key=lambda device: KIND_ORDER.get(device.kind, len(KIND_ORDER))):
            together.setdefault(self._top(device.id), []).append(device)
        return tuple(Bundle(tuple(bundle)) for bundle in together.values())


def distances_text(machine: Machine, plan: DrawnMachine) -> str:
    """`10 local, 12 same socket, 32 other socket`; ranges where a relation has several values.

    Seen from nodes with CPUs; nodes that have neither CPUs nor memory are left out.
    """
    socket_of = {node.numa.id: package.title for package in plan.packages for node in package.nodes}
    found: dict[str, list[int]] = {"local": [], "same socket": [], "other socket": [], "to nodes without CPUs": []}
    empty = {node.id for node in machine.numa_nodes if not node.memory and node.id not in socket_of}
    # A row of distances counts the nodes in ascending order, as /sys does.
    nodes = sorted(machine.numa_nodes, key=lambda node: node.id)
    for node in nodes:
        for other, distance in zip(nodes, node.distances or (), strict=False):
            if node.id in empty or other.id in empty:
                continue
            if other.id == node.id:
                relation = "local"
            elif node.id not in socket_of:
                continue
            elif other.id not in socket_of:
                relation = "to nodes without CPUs"
            else:
                relation = "same socket" if socket_of[node.id] == socket_of[other.id] else "other socket"
            found[relation].append(distance)
    parts = []
    for relation, values in found.items():
        if values:
            low, high = min(values), max(values)
            parts.append(f"{low if low == high else f'{low} to {high}'} {relation}")
    return ", ".join(parts)
