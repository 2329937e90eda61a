"""Nodes whose agents publish a NodeTopology: their machines, configurations and releases are told, nothing is
assumed. Equal ones make a kind."""

from collections.abc import Iterator

import msgspec

from numafit.cluster.sim.dump import PlacedObjects
from numafit.cluster.sim.file import STORAGE, SimulatedGroup
from numafit.cluster.sim.node_object import NodeMark
from numafit.cluster.topology.model import NodeTopology
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.restore import kubelet_text, machine_of, plugins_in, release_of
from numafit.errors import InputError
from numafit.quantity import parse_quantity
from numafit.settings.read.loader import ConfigFile


class ExactNodes(msgspec.Struct, frozen=True):
    kinds: tuple[tuple[SimulatedGroup, tuple[str, ...]], ...]
    skipped: tuple[str, ...] = ()
    """Why others could not be read."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for _, names in self.kinds for name in names)


def exact_nodes(objects: PlacedObjects) -> ExactNodes:
    kinds: dict[bytes, tuple[NodeTopology, list[str]]] = {}
    skipped = []
    for place, data in objects:
        try:
            topology = read_topology(bytes(data), place)
            kinds.setdefault(_told(topology), (topology, []))[1].append(topology.name)
        except InputError as error:
            skipped.append(str(error))
    found = []
    for topology, names in kinds.values():
        try:
            found.append((_group(topology, len(names)), tuple(sorted(names))))
        except InputError as error:
            skipped.append(str(error))
    return ExactNodes(tuple(_unlike(found)), tuple(skipped))


def _told(topology: NodeTopology) -> bytes:
    """Equal for nodes of one kind."""
    own = topology.status
    devices = [(each.resource, each.preference, each.unhealthy) for each in own.devices]
    return msgspec.json.encode((own.machine_digest, own.release, own.kubelet, devices), order="sorted")


def _group(topology: NodeTopology, many: int) -> SimulatedGroup:
    machine = machine_of(topology)
    config = ConfigFile(f"status.kubelet of {topology.name}", kubelet_text(topology))
    plugins = plugins_in(topology, machine)
    gpus = sum(bool(device.resource) for device in machine.devices)
    name = f"{machine.name or 'machine'}-{len(machine.cpus)}cpu" + (f"-{gpus}devices" if gpus else "")
    mark = NodeMark(storage=parse_quantity(STORAGE))
    return SimulatedGroup(name, many, machine, config, release_of(topology), mark, plugins=plugins)


def _unlike(
    kinds: list[tuple[SimulatedGroup, tuple[str, ...]]],
) -> Iterator[tuple[SimulatedGroup, tuple[str, ...]]]:
    """With names that tell them apart."""
    seen: dict[str, int] = {}
    for group, names in kinds:
        seen[group.name] = seen.get(group.name, 0) + 1
        number = seen[group.name]
        yield (msgspec.structs.replace(group, name=f"{group.name}-{number}") if number > 1 else group), names
