"""From a node with its ledger to the object."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from numafit import __version__
from numafit.amounts import amount_text
from numafit.bits import cpuset_text, numbers_text
from numafit.cluster.topology.digest import machine_digest, state_digest
from numafit.cluster.topology.model import (
    FORMAT,
    LONGEST_NOTE,
    MOST_NOTES,
    NO_BASELINE,
    ClaimedDevice,
    ContainerHolding,
    MemoryBlockHeld,
    MemoryTypeState,
    NodeTopology,
    NumaMemoryState,
    PodHolding,
    ResourceDevices,
    TopologyMeta,
    TopologyStatus,
    TopologySummary,
)
from numafit.decision.node import Node
from numafit.decision.stage import Stage
from numafit.ledger.ledger import Block, DeviceLedger, Ledger, MemoryLedger
from numafit.machine.file.write import machine_value
from numafit.machine.model import Machine
from numafit.managers.device.manager import allocated_devices
from numafit.notes import Note
from numafit.settings.config import ROOT_DIR, KubeletConfig, fields_of

UPKEEP = frozenset(
    {
        *("imageGCHighThresholdPercent", "imageGCLowThresholdPercent", "maxParallelImagePulls", "serializeImagePulls"),
        *("shutdownGracePeriod", "shutdownGracePeriodCriticalPods", "memorySwap"),
        *("containerLogMaxFiles", "containerLogMaxWorkers", "containerLogMonitorInterval"),
    }
)
"""Fields that keep a kubelet from starting where they are wrong. This one runs."""
POLICIES = ("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy", "topologyManagerScope")


class MachinePart(msgspec.Struct, frozen=True):
    """What the object says of the machine: long, and the same until other devices are listed."""

    value: dict[str, Any]
    """A machine file. `Any`: its values."""
    digest: str


def machine_part(node: Node, ledger: DeviceLedger) -> MachinePart:
    value = machine_value(listed_machine(node, ledger))
    return MachinePart(value, machine_digest(value))


def topology_of(
    name: str,
    stage: Stage,
    *,
    notes: Sequence[Note] = (),
    claims: Mapping[str, Sequence[ClaimedDevice]] | None = None,
    machine: MachinePart | None = None,
) -> NodeTopology:
    """`name`: of the node. `claims`: pod UID -> devices that resource claims give to it. `machine`: where it was made
    before, which takes most of the time.

    Pods are called by the names that they have in `stage.ledger.active`; one that is called by its UID has none. Of
    the stage's own notes none is taken over.
    """
    node, ledger = stage.node, stage.ledger
    machine = machine or machine_part(node, ledger.device)
    status = TopologyStatus(
        digest="",
        format=FORMAT,
        release=str(node.settings.version),
        kubelet=kubelet_fields(stage.config),
        root_dir="" if stage.config.root_dir == ROOT_DIR else stage.config.root_dir,
        ignore_eviction=stage.config.ignore_eviction,
        machine_digest=machine.digest,
        machine=machine.value,
        shared_pool=cpuset_text(ledger.cpu.default),
        holders=tuple(_holders(ledger, claims or {})),
        memory=tuple(_memory(ledger.memory)),
        devices=tuple(_devices(node, ledger.device)),
        notes=tuple(_short(note) for note in notes[:MOST_NOTES]),
        numafit=__version__,
        summary=_summary(node, ledger),
    )
    return NodeTopology(TopologyMeta(name), replace(status, digest=state_digest(status)))


def topology_bytes(topology: NodeTopology) -> bytes:
    return msgspec.json.encode(topology)


def kubelet_fields(config: KubeletConfig) -> dict[str, Any]:
    """What decides of a configuration, so that `restore` makes the same of it. `Any`: values of many types."""
    default = fields_of(KubeletConfig())
    fields = {name: value for name, value in fields_of(config).items() if name not in UPKEEP}
    told = {name: value for name, value in fields.items() if name in POLICIES or value != default.get(name)}
    if config.enforce_node_allocatable != ("pods",):
        told["enforceNodeAllocatable"] = list(config.enforce_node_allocatable)
    for name, options in (
        ("cpuManagerPolicyOptions", config.cpu_manager_policy_options),
        ("topologyManagerPolicyOptions", config.topology_manager_policy_options),
    ):
        # The kubelet tells a map that is empty from one that is not there.
        if options is not None:
            told[name] = dict(options)
    return told


def listed_machine(node: Node, ledger: DeviceLedger) -> Machine:
    """With the devices that plugins list now, also new ones; how they are is no matter of the machine."""
    now = {(resource, id): device for resource, own in ledger.devices.items() for id, device in own.items()}
    kept = [now.pop((device.resource, device.id), device) for device in node.machine.devices]
    devices = tuple(replace(device, healthy=True) for device in (*kept, *now.values()))
    return replace(node.machine, devices=devices)


def _holders(ledger: Ledger, claims: Mapping[str, Sequence[ClaimedDevice]]) -> Iterator[PodHolding]:
    cpu, memory, device = ledger.cpu, ledger.memory, ledger.device
    others = sorted({*cpu.entries, *cpu.pod_entries, *memory.entries, *memory.pod_entries, *device.held})
    for uid in dict.fromkeys((*ledger.active, *others)):
        pod = ledger.active.get(uid)
        blocks = memory.pod_entries.get(uid)
        yield PodHolding(
            uid,
            name="" if pod is None or pod.name == uid else pod.full_name,
            containers=tuple(_containers(ledger, uid)),
            cpus=cpuset_text(cpu.pod_entries[uid]) if uid in cpu.pod_entries else None,
            memory=None if blocks is None else tuple(_block(block) for block in blocks),
            gone=pod is None,
            claims=tuple(claims.get(uid, ())),
        )


def _containers(ledger: Ledger, uid: str) -> Iterator[ContainerHolding]:
    cpus, blocks = ledger.cpu.entries.get(uid, {}), ledger.memory.entries.get(uid, {})
    devices, baselines = ledger.device.held.get(uid, {}), ledger.cpu.baselines.get(uid, {})
    pod = ledger.active.get(uid)
    order = () if pod is None else (container.name for container in pod.all_containers)
    there = {*cpus, *blocks, *devices, *baselines}
    for name in dict.fromkeys((*(own for own in order if own in there), *sorted(there))):
        baseline = baselines.get(name)
        yield ContainerHolding(
            name,
            cpus=cpuset_text(cpus[name]) if name in cpus else None,
            memory=tuple(_block(block) for block in blocks[name]) if name in blocks else None,
            devices={resource: tuple(sorted(held.ids)) for resource, held in devices.get(name, {}).items()},
            baseline=None if name not in baselines else NO_BASELINE if baseline is None else cpuset_text(baseline),
        )


def _block(block: Block) -> MemoryBlockHeld:
    return MemoryBlockHeld(numbers_text(block.numa), amount_text(block.size), block.type)


def _memory(ledger: MemoryLedger) -> Iterator[NumaMemoryState]:
    for numa, node in sorted(ledger.nodes.items()):
        types = {
            name: MemoryTypeState(
                total=amount_text(table.total),
                system_reserved=amount_text(table.system_reserved),
                allocatable=amount_text(table.allocatable),
                reserved=amount_text(table.reserved),
                free=amount_text(table.free),
            )
            for name, table in sorted(node.tables.items())
        }
        yield NumaMemoryState(numa, numbers_text(node.cells), types, node.assignments)


def _devices(node: Node, ledger: DeviceLedger) -> Iterator[ResourceDevices]:
    plugins = node.device.plugins
    held = allocated_devices(ledger)
    for resource in sorted({*ledger.devices, *ledger.healthy, *ledger.connected, *ledger.allocated, *plugins}):
        listed = ledger.devices.get(resource, {})
        healthy = ledger.healthy.get(resource)
        yield ResourceDevices(
            resource,
            devices=tuple(listed),
            unhealthy=tuple(sorted(listed.keys() - (healthy or frozenset()))),
            connected=resource in ledger.connected,
            registered=healthy is not None,
            preference=plugins[resource].preference if resource in plugins else "none",
            unheld=tuple(sorted(ledger.allocated.get(resource, frozenset()) - held.get(resource, frozenset()))),
        )


def _summary(node: Node, ledger: Ledger) -> TopologySummary:
    healthy = {resource: own for resource, own in ledger.device.healthy.items() if own}
    return TopologySummary(
        cpus=sum(cpu.online for cpu in node.machine.cpus),
        shared_cpus=ledger.cpu.default.bit_count(),
        pods=len(ledger.active),
        devices=sum(len(own) for own in healthy.values()),
        free_devices=sum(len(own - ledger.device.allocated.get(name, frozenset())) for name, own in healthy.items()),
    )


def _short(note: Note) -> Note:
    return note if len(note.text) <= LONGEST_NOTE else replace(note, text=f"{note.text[: LONGEST_NOTE - 1]}…")
