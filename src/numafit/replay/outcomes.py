"""Decisions in the words of a recording: the JSON that the shared recordings of real kubelet code use.

A field that a recording leaves out in a case is UNSET there; the order of the fields is that of a recording.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from numafit.bits import cpuset_text
from numafit.decision.decision import Decision, MergeStep, Placement
from numafit.decision.node import Node
from numafit.decision.start import Start
from numafit.ledger.ledger import Block, Hint, Ledger
from numafit.managers.protocol import PluginCall
from numafit.managers.topology.hint import HintFamily, HintList, ProviderHints

Json = dict[str, Any]
"""A JSON object; its shape is that of the recordings, which differs by family and step."""


class MemoryBlock(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    numa_affinity: tuple[int, ...]
    type: str
    size: int


class HintsCounted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of hints on a machine with many NUMA nodes: described, for it can be longer than any file."""

    hints: int | None
    """How many; null when finding out would take too long."""
    nodes: int


OutcomeHints = Mapping[str, tuple[Hint, ...] | HintsCounted | None] | None
"""What one manager offers, by resource. A hint is its NUMA mask (null: any node) and whether it is preferred."""


class MergeOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`providers` in the kubelet's order: device manager, CPU manager, memory manager."""

    providers: tuple[OutcomeHints, ...]
    best: Hint
    admit: bool


class PlacementOutcome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a container holds."""

    affinity: Hint
    cpus: str | UnsetType = UNSET
    memory: tuple[MemoryBlock, ...] | UnsetType = UNSET
    devices: Mapping[str, Mapping[str, tuple[int, ...]]] | UnsetType = UNSET
    """Resource -> device id -> its NUMA nodes."""


class CallOutcome(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A call to a device plugin."""

    kind: str
    resource: str
    devices: tuple[str, ...] | UnsetType = UNSET
    available: tuple[str, ...] | UnsetType = UNSET
    size: int | UnsetType = UNSET
    must_include: tuple[str, ...] | UnsetType = UNSET


class DecisionOutcome(msgspec.Struct, frozen=True, rename="camel"):
    """What a step says of an admission, without files. A crash tells of no containers."""

    uid: str
    admitted: bool
    merges: tuple[MergeOutcome, ...] | None
    plugin_calls: tuple[CallOutcome, ...] | UnsetType = UNSET
    containers: Mapping[str, PlacementOutcome] | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    panic: str | UnsetType = UNSET


class StartOutcome(msgspec.Struct, frozen=True, rename="camel"):
    reserved_cpus: str = msgspec.field(name="reservedCPUs")
    allocatable_cpus: str = msgspec.field(name="allocatableCPUs")
    default_cpus: str = msgspec.field(name="defaultCPUSet")
    files: Mapping[str, str]
    allocatable_memory: tuple[MemoryBlock, ...] | UnsetType | None = UNSET
    """Not there in releases without a memory manager."""
    device_checkpoint_error: str | UnsetType = UNSET


def as_recorded(outcome: object) -> Any:
    """`Any`: JSON as it is read from a recording, to be compared with one."""
    return msgspec.json.decode(msgspec.json.encode(outcome))


def start_outcome(known: Start, files: Mapping[str, str]) -> StartOutcome:
    node, ledger = known.node, known.ledger
    return StartOutcome(
        cpuset_text(node.cpu.reserved) if node.cpu.static else "",
        cpuset_text(node.cpu.allocatable(ledger.cpu)),
        cpuset_text(ledger.cpu.default),
        files,
        UNSET if node.memory is None else _allocatable_memory(ledger),
        known.device_state[1] or UNSET,
    )


def _allocatable_memory(ledger: Ledger) -> tuple[MemoryBlock, ...] | None:
    blocks = [
        MemoryBlock((node_id,), memory_type, table.allocatable)
        for node_id, node in ledger.memory.nodes.items()
        for memory_type, table in node.tables.items()
        if table.allocatable
    ]
    return tuple(sorted(blocks, key=lambda block: (block.numa_affinity, block.type))) or None


def block_outcome(block: Block) -> MemoryBlock:
    return MemoryBlock(block.numa, block.type, block.size)


def decision_outcome(decision: Decision) -> DecisionOutcome:
    calls = sorted(decision.plugin_calls, key=lambda call: call.resource)
    crash = bool(decision.panic)
    return DecisionOutcome(
        decision.pod.uid,
        decision.admitted,
        tuple([merge_outcome(step) for step in decision.merges]) if decision.merges else None,
        tuple([call_outcome(call) for call in calls]) if calls else UNSET,
        UNSET if crash else {name: placement_outcome(own) for name, own in decision.containers.items()},
        "" if crash else decision.reason or UNSET,
        "" if crash else decision.message if decision.reason else UNSET,
        decision.panic or UNSET,
    )


def merge_outcome(step: MergeStep) -> MergeOutcome:
    return MergeOutcome(tuple([hints_outcome(hints) for hints in step.providers]), step.best, step.admit)


def hints_outcome(hints: ProviderHints) -> OutcomeHints:
    return None if hints is None else {resource: _counted(own) for resource, own in hints.items()}


def _counted(hints: HintList) -> tuple[Hint, ...] | HintsCounted | None:
    return HintsCounted(hints.count(), hints.ground.bit_count()) if isinstance(hints, HintFamily) else hints


def placement_outcome(placement: Placement) -> PlacementOutcome:
    blocks = sorted(placement.memory or (), key=lambda block: block.type)
    return PlacementOutcome(
        placement.affinity,
        UNSET if placement.cpus is None else cpuset_text(placement.cpus),
        tuple([block_outcome(block) for block in blocks]) if blocks else UNSET,
        dict(sorted(placement.devices.items())) if placement.devices else UNSET,
    )


def call_outcome(call: PluginCall) -> CallOutcome:
    asked = call.kind == "preferred"
    return CallOutcome(
        call.kind,
        call.resource,
        call.devices or UNSET,
        call.available if asked else UNSET,
        call.size if asked else UNSET,
        (call.must_include or UNSET) if asked else UNSET,
    )


class FileLog:
    """Reports a file only when its bytes changed since the last report, as the recordings do."""

    def __init__(self) -> None:
        self.ledger: Ledger | None = None
        self.reported: dict[str, str] = {}

    def changed(self, node: Node, ledger: Ledger) -> dict[str, str]:
        from numafit.decision.files import state_files

        files = state_files(node, ledger, self.ledger)
        self.ledger = ledger
        changed = {name: text for name, text in files.items() if self.reported.get(name) != text}
        self.reported.update(changed)
        return changed
