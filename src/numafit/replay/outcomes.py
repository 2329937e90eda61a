"""Decisions in the words of a recording: the JSON that the shared recordings of real kubelet code use."""

from collections.abc import Mapping
from typing import Any

from numafit.bits import cpuset_text
from numafit.decision.decision import Decision, MergeStep, Placement
from numafit.decision.node import Node, Started
from numafit.ledger.ledger import Block, Ledger
from numafit.managers.protocol import PluginCall
from numafit.managers.topology.hint import HintFamily, HintList, ProviderHints

Json = dict[str, Any]
"""A JSON object; its shape is that of the recordings, which differs by family and step."""


def start_record(started: Started, files: Mapping[str, str]) -> Json:
    node, ledger = started.node, started.ledger
    record: Json = {
        "reservedCPUs": cpuset_text(node.cpu.reserved) if node.cpu.static else "",
        "allocatableCPUs": cpuset_text(node.cpu.allocatable(ledger.cpu)),
        "defaultCPUSet": cpuset_text(ledger.cpu.default),
        "files": dict(files),
    }
    if node.memory is not None:
        record["allocatableMemory"] = _allocatable_memory(ledger)
    if started.device_file_error:
        record["deviceCheckpointError"] = started.device_file_error
    return record


def _allocatable_memory(ledger: Ledger) -> list[Json] | None:
    blocks = [
        Block((node_id,), memory_type, table.allocatable)
        for node_id, node in ledger.memory.nodes.items()
        for memory_type, table in node.tables.items()
        if table.allocatable
    ]
    blocks.sort(key=lambda block: (block.numa, block.type))
    return [block_record(block) for block in blocks] or None


def block_record(block: Block) -> Json:
    return {"numaAffinity": list(block.numa), "type": block.type, "size": block.size}


def decision_record(decision: Decision) -> Json:
    """What a step of a recording says of an admission, without files."""
    record: Json = {
        "uid": decision.pod.uid,
        "admitted": decision.admitted,
        "merges": None if not decision.merges else [merge_record(step) for step in decision.merges],
    }
    if decision.plugin_calls:
        calls = sorted(decision.plugin_calls, key=lambda call: call.resource)
        record["pluginCalls"] = [call_record(call) for call in calls]
    if decision.panic:
        return {**record, "reason": "", "message": "", "panic": decision.panic}
    record["containers"] = {name: placement_record(placement) for name, placement in decision.containers.items()}
    if decision.reason:
        record["reason"] = decision.reason
        record["message"] = decision.message
    return record


def merge_record(step: MergeStep) -> Json:
    return {
        "providers": [hints_record(hints) for hints in step.providers],
        "best": list(step.best),
        "admit": step.admit,
    }


def hints_record(hints: ProviderHints) -> Json | None:
    return None if hints is None else {resource: hint_list_record(own) for resource, own in hints.items()}


def hint_list_record(hints: HintList) -> list[list[int | bool | None]] | Json | None:
    """On machines with many NUMA nodes a list is described, not listed: it can be longer than any file."""
    if hints is None:
        return None
    if isinstance(hints, HintFamily):
        return {"hints": hints.count(), "nodes": hints.ground.bit_count()}
    return [[mask, preferred] for mask, preferred in hints]


def placement_record(placement: Placement) -> Json:
    record: Json = {"affinity": list(placement.affinity)}
    if placement.cpus is not None:
        record["cpus"] = cpuset_text(placement.cpus)
    if placement.memory:
        blocks = sorted(placement.memory, key=lambda block: block.type)
        record["memory"] = [block_record(block) for block in blocks]
    if placement.devices:
        record["devices"] = {
            resource: {device: list(nodes) for device, nodes in devices.items()}
            for resource, devices in sorted(placement.devices.items())
        }
    return record


def call_record(call: PluginCall) -> Json:
    record: Json = {"kind": call.kind, "resource": call.resource}
    if call.devices:
        record["devices"] = list(call.devices)
    if call.kind == "preferred":
        record["available"] = list(call.available)
        record["size"] = call.size
        if call.must_include:
            record["mustInclude"] = list(call.must_include)
    return record


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
