"""One recorded checkpoint case: what the kubelet writes for given contents, or what it makes of given bytes."""

import base64
from collections.abc import Mapping

import msgspec

from numafit.bits import cpuset_text
from numafit.ledger.files.checkpoint import RestoreError
from numafit.ledger.files.cpu import (
    RESIZE_GATE,
    CpuFormat,
    cpu_bytes,
    cpu_dump,
    legacy_cpu_bytes,
    legacy_cpu_dump,
    parse_cpu,
    parse_legacy_cpu,
    read_cpu,
)
from numafit.ledger.files.device import DeviceFile, device_bytes, device_dump, parse_device, read_device
from numafit.ledger.files.memory import MemoryFormat, memory_bytes, memory_dump, parse_memory, read_memory
from numafit.ledger.ledger import Block, MemoryNode
from numafit.replay.inputs import STATE_DIR
from numafit.settings.versions import KubeVersion, behaviour_of

_IN_TREE_V1 = "state.CPUManagerCheckpointV1"
_CPU_FORMATS: dict[str, CpuFormat] = {"cpu-v2": "v2", "cpu-v3": "v3", "cpu-v4": "v4"}
_MEMORY_FORMATS: dict[str, MemoryFormat] = {"memory-v1": "v1", "memory-v2": "v2", "memory-v3": "v3"}


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    format: str
    state: dict[str, object] = {}
    bytes: str = ""
    policy_name: str = ""
    initial_containers: tuple[tuple[str, str, str], ...] = ()


class _Config(msgspec.Struct, frozen=True, rename="camel"):
    feature_gates: dict[str, bool] = {}


class _Case(msgspec.Struct, frozen=True):
    kind: str
    spec: _Spec
    config: _Config = _Config()


def checkpoint_case(case: Mapping[str, object], version: KubeVersion) -> dict[str, object]:
    """`expect` of a recording of the family checkpoint, from its `input`."""
    given = msgspec.convert(case, _Case)
    if given.kind == "write":
        return _written(given.spec.format, msgspec.json.encode(given.spec.state))
    try:
        result = _read(given.spec, version, given.config.feature_gates)
    except RestoreError as error:
        result = {"error": str(error)}
    if given.spec.format != "device":
        result["bytesAfter"] = given.spec.bytes
    return result


def _written(layout: str, state: bytes) -> dict[str, object]:
    written: dict[str, object] = {"error": None}
    if layout == "cpu-v1":
        legacy = parse_legacy_cpu(state)
        written["bytes"] = legacy_cpu_bytes(legacy, _IN_TREE_V1)
        written["dump"] = legacy_cpu_dump(legacy, _IN_TREE_V1)
        written["legacyBytes"] = legacy_cpu_bytes(legacy)
    elif layout in _CPU_FORMATS:
        cpu = parse_cpu(state)
        written["bytes"] = cpu_bytes(cpu, _CPU_FORMATS[layout])
        written["dump"] = cpu_dump(cpu, _CPU_FORMATS[layout])
    elif layout in _MEMORY_FORMATS:
        memory = parse_memory(state)
        written["bytes"] = memory_bytes(memory, _MEMORY_FORMATS[layout])
        written["dump"] = memory_dump(memory, _MEMORY_FORMATS[layout])
    else:
        devices = parse_device(b'{"Data":' + state + b"}")
        written["bytes"] = device_bytes(devices)
        written["dump"] = device_dump(devices)
    return written


def _read(spec: _Spec, version: KubeVersion, gates: Mapping[str, bool]) -> dict[str, object]:
    behaviour = behaviour_of(version)
    gate = gates.get("PodLevelResourceManagers", False)
    if spec.format == "cpu":
        cpu = read_cpu(
            spec.bytes,
            policy=spec.policy_name,
            behaviour=behaviour,
            gate=gate,
            resize_gate=gates.get(RESIZE_GATE, False),
            containers=spec.initial_containers,
            state_dir=STATE_DIR,
        )
        entries = {
            pod_uid: {name: cpuset_text(cpus) for name, cpus in containers.items()}
            for pod_uid, containers in cpu.entries.items()
        }
        return {"error": None, "defaultCPUSet": cpuset_text(cpu.default), "entries": entries}
    if spec.format == "memory":
        memory = read_memory(spec.bytes, policy=spec.policy_name, behaviour=behaviour, gate=gate, state_dir=STATE_DIR)
        return {
            "error": None,
            "machineState": {str(numa): _node(node) for numa, node in memory.nodes.items()},
            "entries": {
                pod_uid: {name: [_block(block) for block in blocks] for name, blocks in containers.items()}
                for pod_uid, containers in memory.entries.items()
            },
        }
    return {"error": None, **_devices(read_device(spec.bytes, behaviour))}


def _node(node: MemoryNode) -> dict[str, object]:
    tables = {
        name: {
            "total": table.total,
            "systemReserved": table.system_reserved,
            "allocatable": table.allocatable,
            "reserved": table.reserved,
            "free": table.free,
        }
        for name, table in node.tables.items()
    }
    return {"numberOfAssignments": node.assignments, "memoryMap": tables, "cells": list(node.cells)}


def _block(block: Block) -> dict[str, object]:
    return {"numaAffinity": list(block.numa), "type": block.type, "size": block.size}


def _devices(file: DeviceFile) -> dict[str, object]:
    entries = None
    if file.entries is not None:
        entries = [
            {
                "PodUID": entry.pod_uid,
                "ContainerName": entry.container,
                "ResourceName": entry.resource,
                "DeviceIDs": {str(numa): list(ids) for numa, ids in entry.devices.items()},
                "AllocResp": base64.b64encode(entry.response).decode(),
            }
            for entry in file.entries
        ]
    registered = {resource: list(ids) for resource, ids in file.registered.items()}
    return {"PodDeviceEntries": entries, "RegisteredDevices": registered}
