"""From the object back to machine, configuration, ledger and stage.

A value that makes no sense is refused with its field. Nothing that the kubelet keeps for itself only is restored: what
init containers left to their own pod, the answers of plugins, how state files lie on the disk.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar, get_args

import msgspec
from msgspec.structs import replace

from numafit.bits import parse_cpuset, parse_numbers
from numafit.cluster.topology.amounts import parse_bytes
from numafit.cluster.topology.checks import check_ledger
from numafit.cluster.topology.model import (
    KIND,
    NO_BASELINE,
    ContainerHolding,
    MemoryBlockHeld,
    NodeTopology,
    PodHolding,
)
from numafit.decision.node import Node
from numafit.decision.notes import start_notes
from numafit.decision.stage import Stage
from numafit.decision.start import Start, active, start
from numafit.errors import InputError, KubeletError, StartError
from numafit.ledger.ledger import (
    Block,
    CpuLedger,
    DeviceLedger,
    Held,
    Ledger,
    MemoryLedger,
    MemoryNode,
    MemoryTable,
)
from numafit.machine.file.plain import json_text
from numafit.machine.file.read import read_machine_file
from numafit.machine.model import Device, Machine
from numafit.managers.device.manager import allocated_devices
from numafit.managers.device.plugin import Plugin, Preference, plugins_of
from numafit.quantity import QuantityError, quantity_of
from numafit.settings.config import ROOT_DIR, KubeletConfig, config_of_merged
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.settings.read.decoder import API_VERSION
from numafit.settings.read.decoder import KIND as KUBELET_KIND
from numafit.settings.versions import KubeVersion, parse_version
from numafit.workload.pod import Pod

T = TypeVar("T")

PREFERENCES: dict[str, Preference] = {word: word for word in get_args(Preference)}


class _NodeReservation(msgspec.Struct, rename="camel"):
    numa_node: int = 0
    limits: dict[str, str] = {}


def stage_of(
    topology: NodeTopology, pods: Mapping[str, Pod] | None = None, facts: NodeFacts = NO_FACTS, source: str = ""
) -> Stage:
    """The node as it was published, with nobody to come.

    `pods`: UID -> the pod as the API server has it, which tells more of a holder than what it holds; those that hold
    nothing in the object are not added. Raises InputError for what makes no node.
    """
    source = source or f"{KIND} {topology.name}"
    known = start_of(topology, facts, source)
    ledger = ledger_of(topology, known.node, pods, source)
    notes = (*start_notes(known), *topology.status.notes)
    return Stage(known.node, ledger, known.allocatable, known.config, notes=notes)


def machine_of(topology: NodeTopology, source: str = "") -> Machine:
    """With the health of its devices, as plugins tell it."""
    source = source or f"{KIND} {topology.name}"
    machine = read_machine_file(msgspec.json.encode(topology.status.machine), f"{source}: status.machine")
    unhealthy = {(own.resource, id) for own in topology.status.devices for id in own.unhealthy}
    if not unhealthy:
        return machine
    devices = tuple(
        replace(device, healthy=(device.resource, device.id) not in unhealthy) for device in machine.devices
    )
    return replace(machine, devices=devices)


def config_of(topology: NodeTopology, source: str = "") -> KubeletConfig:
    status = topology.status
    source = source or f"{KIND} {topology.name}"
    try:
        reserved = msgspec.convert(status.kubelet.get("reservedMemory", ()), tuple[_NodeReservation, ...])
        memory = [
            {"numaNode": own.numa_node, "limits": {name: quantity_of(text) for name, text in own.limits.items()}}
            for own in reserved
        ]
        config = config_of_merged({**status.kubelet, "reservedMemory": memory})
    except (msgspec.MsgspecError, QuantityError) as error:
        raise InputError(f"is no configuration of a kubelet: {error}", source=source, field="status.kubelet") from None
    return replace(config, root_dir=status.root_dir or ROOT_DIR, ignore_eviction=status.ignore_eviction)


def kubelet_text(topology: NodeTopology) -> str:
    """A KubeletConfiguration for whoever reads a file. What only flags say is not in it."""
    # A file that names no thresholds would get the default ones.
    fields = {"apiVersion": API_VERSION, "kind": KUBELET_KIND, "evictionHard": {}, **topology.status.kubelet}
    return json_text(fields)


def release_of(topology: NodeTopology, source: str = "") -> KubeVersion:
    try:
        return parse_version(topology.status.release)
    except InputError as error:
        source = source or f"{KIND} {topology.name}"
        raise InputError(error.message, source=source, field="status.release", cure=error.cure) from None


def plugins_in(topology: NodeTopology, machine: Machine) -> dict[str, Plugin]:
    """Each with the preference that it had."""
    plugins = plugins_of(machine)
    for own in topology.status.devices:
        if own.resource in plugins and own.preference in PREFERENCES:
            plugins[own.resource] = replace(plugins[own.resource], preference=PREFERENCES[own.preference])
    return plugins


def start_of(topology: NodeTopology, facts: NodeFacts = NO_FACTS, source: str = "") -> Start:
    """All but who is there."""
    source = source or f"{KIND} {topology.name}"
    machine = machine_of(topology, source)
    known = Start(
        version=release_of(topology, source),
        config=config_of(topology, source),
        machine=machine,
        plugins=plugins_in(topology, machine),
        facts=facts,
        cpu_state=CpuLedger(),
        memory_state=MemoryLedger(),
        device_state=(DeviceLedger(), ""),
    )
    try:
        return start(known, "allocatable")
    except StartError as error:
        raise InputError(f"a kubelet like this would not start: {error}", source=source) from None


def ledger_of(topology: NodeTopology, node: Node, pods: Mapping[str, Pod] | None = None, source: str = "") -> Ledger:
    """Who holds what, for a node that was made of `topology` or of one with the same machine and configuration."""
    holders = topology.status.holders
    reader = _Reader(source or f"{KIND} {topology.name}")
    cpu = reader.cpu(topology)
    memory = reader.memory(topology)
    device = reader.device(topology, node)
    told = active(cpu, memory, (device, ""))
    there = {holder.uid: _pod(holder, told, pods or {}) for holder in holders if not holder.gone}
    ledger = Ledger(cpu, memory, device, active=there)
    check_ledger(node, ledger, reader.source)
    return ledger


def _pod(holder: PodHolding, told: Mapping[str, Pod], pods: Mapping[str, Pod]) -> Pod:
    if holder.uid in pods:
        return pods[holder.uid]
    pod = told.get(holder.uid) or Pod(holder.uid, holder.uid, ())
    namespace, slash, name = holder.name.partition("/")
    return replace(pod, namespace=namespace, name=name) if slash else pod


class _Reader:
    """The parts of a ledger; a text that is none of its kind is refused with its field."""

    def __init__(self, source: str) -> None:
        self.source = source

    def cpu(self, topology: NodeTopology) -> CpuLedger:
        entries: dict[str, dict[str, int]] = {}
        baselines: dict[str, dict[str, int | None]] = {}
        pods: dict[str, int] = {}
        for place, holder in _places(topology):
            if holder.cpus is not None:
                pods[holder.uid] = self._text(parse_cpuset, holder.cpus, f"{place}.cpus")
            for field, own in _containers(place, holder):
                if own.cpus is not None:
                    cpus = self._text(parse_cpuset, own.cpus, f"{field}.cpus")
                    entries.setdefault(holder.uid, {})[own.name] = cpus
                if own.baseline is not None:
                    none = own.baseline == NO_BASELINE
                    baseline = None if none else self._text(parse_cpuset, own.baseline, f"{field}.baseline")
                    baselines.setdefault(holder.uid, {})[own.name] = baseline
        default = self._text(parse_cpuset, topology.status.shared_pool, "status.sharedPool")
        return CpuLedger(default, entries, pods, baselines)

    def memory(self, topology: NodeTopology) -> MemoryLedger:
        entries: dict[str, dict[str, tuple[Block, ...]]] = {}
        pods: dict[str, tuple[Block, ...]] = {}
        for place, holder in _places(topology):
            if holder.memory is not None:
                pods[holder.uid] = self._blocks(holder.memory, place)
            for field, own in _containers(place, holder):
                if own.memory is not None:
                    entries.setdefault(holder.uid, {})[own.name] = self._blocks(own.memory, field)
        return MemoryLedger(self._nodes(topology), entries, pods)

    def _blocks(self, blocks: tuple[MemoryBlockHeld, ...], place: str) -> tuple[Block, ...]:
        return tuple(
            Block(
                tuple(self._text(parse_numbers, block.numa, f"{place}.memory[{index}].numa")),
                block.type,
                self._text(parse_bytes, block.size, f"{place}.memory[{index}].size"),
            )
            for index, block in enumerate(blocks)
        )

    def _nodes(self, topology: NodeTopology) -> dict[int, MemoryNode]:
        nodes = {}
        for index, own in enumerate(topology.status.memory):
            place = f"status.memory[{index}]"
            tables = {}
            for name, amounts in own.types.items():
                field = f"{place}.types.{name}"
                texts = msgspec.structs.astuple(amounts)
                tables[name] = MemoryTable(*(self._text(parse_bytes, text, field) for text in texts))
            cells = tuple(self._text(parse_numbers, own.group, f"{place}.group"))
            nodes[own.numa] = MemoryNode(own.assignments, tables, cells)
        for index, own in enumerate(topology.status.memory):
            if not nodes.keys() >= set(nodes[own.numa].cells):
                field = f"status.memory[{index}].group"
                raise InputError(f'"{own.group}" names a NUMA node that is not listed', source=self.source, field=field)
        return nodes

    def device(self, topology: NodeTopology, node: Node) -> DeviceLedger:
        known = {(device.resource, device.id): device for device in node.machine.devices}
        devices: dict[str, dict[str, Device]] = {}
        healthy: dict[str, frozenset[str]] = {}
        unheld: dict[str, frozenset[str]] = {}
        for index, own in enumerate(topology.status.devices):
            unknown = [id for id in own.devices if (own.resource, id) not in known]
            if unknown:
                message = f'"{unknown[0][:60]}" is no device of the machine'
                raise InputError(message, source=self.source, field=f"status.devices[{index}].devices")
            bad = frozenset(own.unhealthy)
            if own.devices:
                devices[own.resource] = {id: _judged(known[own.resource, id], id not in bad) for id in own.devices}
            if own.registered:
                healthy[own.resource] = frozenset(own.devices) - bad
            if own.unheld:
                unheld[own.resource] = frozenset(own.unheld)
        ledger = DeviceLedger(
            devices=devices,
            healthy=healthy,
            held=_held(topology, known, node.settings.behaviour.device_unplaced),
            connected=frozenset(own.resource for own in topology.status.devices if own.connected),
        )
        allocated = allocated_devices(ledger)
        taken = {name: allocated.get(name, frozenset()) | unheld.get(name, frozenset()) for name in allocated | unheld}
        # As if the kubelet had just written its file: what it says is what is held.
        written = (ledger.held, ledger.healthy) if ledger.held or ledger.healthy else None
        return replace(ledger, allocated=taken, written=written)

    def _text(self, parse: Callable[[str], T], text: str, field: str) -> T:
        try:
            return parse(text)
        except (ValueError, KubeletError) as error:
            raise InputError(f"is damaged: {error}", source=self.source, field=field) from None


def _judged(device: Device, healthy: bool) -> Device:
    return device if device.healthy == healthy else replace(device, healthy=healthy)


def _held(
    topology: NodeTopology, known: Mapping[tuple[str, str], Device], unplaced: int
) -> dict[str, dict[str, dict[str, Held]]]:
    found: dict[str, dict[str, dict[str, Held]]] = {}
    for _, holder in _places(topology):
        for own in holder.containers:
            for resource, ids in own.devices.items():
                by_numa: dict[int, list[str]] = {}
                for id in ids:
                    device = known.get((resource, id))
                    for numa in (device and device.numa) or (unplaced,):
                        by_numa.setdefault(numa, []).append(id)
                held = Held({numa: tuple(here) for numa, here in sorted(by_numa.items())}, frozenset(ids), b"")
                found.setdefault(holder.uid, {}).setdefault(own.name, {})[resource] = held
    return found


def _places(topology: NodeTopology) -> list[tuple[str, PodHolding]]:
    return [(f"status.holders[{index}]", holder) for index, holder in enumerate(topology.status.holders)]


def _containers(place: str, holder: PodHolding) -> list[tuple[str, ContainerHolding]]:
    return [(f"{place}.containers[{index}]", own) for index, own in enumerate(holder.containers)]
