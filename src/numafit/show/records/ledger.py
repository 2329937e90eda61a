"""Who holds what, as the API shows it: holders, and the amounts of each NUMA node."""

from collections.abc import Iterator, Mapping

import msgspec

from numafit.advice.verdict import HolderVerdict, alignments, counted
from numafit.bits import cpuset_text
from numafit.decision.held import Holding, holdings, memory_parts
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.managers.device.manager import free_devices
from numafit.show.records.alignment import AlignmentRecord, alignment_records
from numafit.show.words import device_labels
from numafit.workload.pod import Pod

MEMORY = "memory"
OUTSIDE_KIND = "outside"
"""Of the holder who stands for what an agent may not use."""


class MemoryHeld(msgspec.Struct, frozen=True):
    nodes: tuple[int, ...]
    type: str
    bytes: int


class MemoryPart(msgspec.Struct, frozen=True):
    node: int
    type: str
    bytes: int


class Holder(msgspec.Struct, frozen=True, rename="camel"):
    """Somebody who holds a part of the machine. `kind` is `pod`, `lease`, or `shared`: runs in the shared pool only."""

    id: str
    name: str
    kind: str
    since: str | None = None
    owner: str = ""
    cpus: str = ""
    memory: tuple[MemoryHeld, ...] = ()
    devices: Mapping[str, tuple[str, ...]] = {}
    nodes: tuple[int, ...] = ()
    rung: str = ""
    """How a lease is bound."""
    new: bool = False
    """It came by the question asked."""
    gone: bool = False
    """Its pod has ended or was rejected; the kubelet frees this at the next admission."""
    alignment: AlignmentRecord | None = None
    """How it lies; null for what is gone and for what is not for this agent."""
    memory_parts: tuple[MemoryPart, ...] = ()
    """The same bytes as `memory`, as they are counted on each NUMA node."""


class Amounts(msgspec.Struct, frozen=True):
    total: int
    held: int
    free: int
    reserved: int


class DeviceAmounts(msgspec.Struct, frozen=True):
    total: int
    held: int
    free: int


class NodeAmounts(msgspec.Struct, frozen=True):
    """One NUMA node: CPUs, bytes, devices by resource. Memory of a device is held with it."""

    id: int
    cpus: Amounts
    memory: Amounts
    devices: Mapping[str, DeviceAmounts]
    hugepages: Mapping[str, Amounts] = {}
    """Type, such as `hugepages-2Mi` -> bytes: no part of what is free of the memory."""


class LedgerView(msgspec.Struct, frozen=True, rename="camel"):
    revision: int
    time: str
    simulation: bool
    holders: tuple[Holder, ...]
    reserved_cpus: str
    shared_cpus: str
    free_cpus: str
    """CPUs that could still become exclusive."""
    nodes: tuple[NodeAmounts, ...]
    alignment: Mapping[str, int] = {}
    """How many holders lie how: `aligned` first, then what there is of the others."""
    kept_cpus: str = ""
    """Of a host: CPUs that leases may have, and that the kubelet which questions ask would keep back."""


class Known(msgspec.Struct, frozen=True):
    """What a ledger does not tell about a holder."""

    name: str
    since: str | None = None
    kind: str = "pod"
    owner: str = ""
    rung: str = ""

    def kind_of(self, holding: Holding) -> str:
        """Who holds nothing runs in the shared pool, whatever it is."""
        return "shared" if holding.empty else self.kind


def ledger_view(
    node: Node,
    ledger: Ledger,
    known: Mapping[str, Known],
    *,
    revision: int,
    time: str,
    simulation: bool,
    new: frozenset[str] = frozenset(),
    kept: int = 0,
) -> LedgerView:
    """`known` and `new` go by pod UID; holders are sorted by name. What a rejected pod leaves behind is not new."""
    lying = holder_alignments(node, ledger, known)
    found = _holders(node, ledger, known, new, alignment_records(lying, device_labels(node.machine)))
    holders = sorted(found, key=lambda holder: (holder.name, holder.id))
    return LedgerView(
        revision,
        time,
        simulation,
        tuple(holders),
        cpuset_text(node.cpu.reserved if node.cpu.static else 0),
        cpuset_text(ledger.cpu.default if node.cpu.static else node.cpu.topology.cpus),
        cpuset_text(node.cpu.available(ledger.cpu) if node.cpu.static else 0),
        tuple(node_amounts(node, ledger)),
        {str(word): count for word, count in counted(lying.values()).items()},
        cpuset_text(kept),
    )


def holder_alignments(node: Node, ledger: Ledger, known: Mapping[str, Known]) -> dict[str, HolderVerdict]:
    """By UID, of all that hold something by right."""
    return {
        uid: own for uid, own in alignments(node, ledger).items() if uid not in known or known[uid].kind != OUTSIDE_KIND
    }


def _holders(
    node: Node,
    ledger: Ledger,
    known: Mapping[str, Known],
    new: frozenset[str],
    lying: Mapping[str, AlignmentRecord],
) -> Iterator[Holder]:
    held = holdings(node, ledger)
    parts = memory_parts(ledger, held)
    for uid, holding in held.items():
        pod = ledger.active.get(uid)
        told = known.get(uid) or Known(_name(pod, uid))
        yield Holder(
            uid,
            told.name,
            told.kind_of(holding),
            told.since,
            told.owner,
            cpuset_text(holding.cpus),
            tuple([MemoryHeld(block.numa, block.type, block.size) for block in holding.memory]),
            holding.devices,
            holding.nodes,
            told.rung,
            uid in new and pod is not None,
            pod is None,
            lying.get(uid),
            tuple([MemoryPart(*part) for part in parts.get(uid, ())]),
        )


def _name(pod: Pod | None, uid: str) -> str:
    """A pod known from a state file only has no name but its UID."""
    return uid if pod is None else pod.known_name


def node_amounts(node: Node, ledger: Ledger) -> Iterator[NodeAmounts]:
    free = node.cpu.available(ledger.cpu) if node.cpu.static else node.cpu.topology.cpus
    reserved = node.cpu.reserved if node.cpu.static else 0
    held = 0
    for containers in ledger.cpu.entries.values():
        for own in containers.values():
            held |= own
    for own in ledger.cpu.pod_entries.values():
        held |= own
    devices = {device for ids in ledger.device.allocated.values() for device in ids}
    for numa in sorted(node.machine.numa_nodes, key=lambda numa: numa.id):
        own = node.cpu.topology.numa_nodes.get(numa.id, 0)
        cpus = Amounts(*((own & part).bit_count() for part in (own, held, free & ~held, reserved & ~held)))
        memory = _memory_amounts(ledger, numa.id, numa.memory)
        if numa.device in devices:
            # Whoever holds a device holds its memory, though no manager counts it.
            memory = Amounts(memory.total, memory.total - memory.reserved, 0, memory.reserved)
        yield NodeAmounts(numa.id, cpus, memory, _device_amounts(ledger, numa.id), _hugepages(ledger, numa.id))


def _memory_amounts(ledger: Ledger, numa: int, total: int) -> Amounts:
    """Ordinary memory; what the memory manager does not look after is free."""
    table = ledger.memory.nodes[numa].tables.get(MEMORY) if numa in ledger.memory.nodes else None
    if table is None:
        return Amounts(total, 0, total, 0)
    return Amounts(table.total, table.reserved, table.free, table.system_reserved)


def _hugepages(ledger: Ledger, numa: int) -> dict[str, Amounts]:
    tables = ledger.memory.nodes[numa].tables if numa in ledger.memory.nodes else {}
    return {
        kind: Amounts(table.total, table.reserved, table.free, table.system_reserved)
        for kind, table in sorted(tables.items())
        if kind != MEMORY and table.total
    }


def _device_amounts(ledger: Ledger, numa: int) -> dict[str, DeviceAmounts]:
    found: dict[str, DeviceAmounts] = {}
    for resource, devices in sorted(ledger.device.devices.items()):
        here = {device_id for device_id, device in devices.items() if numa in (device.numa or ())}
        if here:
            taken = here & ledger.device.allocated.get(resource, frozenset())
            found[resource] = DeviceAmounts(len(here), len(taken), len(here & free_devices(ledger.device, resource)))
    return found
