"""The memory manager's state file `memory_manager_state`, both ways.

Three layouts: v1, v2 with the blocks of pods as a whole (1.36 with PodLevelResourceManagers), and v3, which is v1 and
`data` (since 1.37).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from numafit.golang.containers import GoField, GoStruct, List, NumberMap, Pointer, TextMap
from numafit.golang.spew import checksum
from numafit.golang.text import NIL_POINTER, go_quote
from numafit.golang.types import Text, Whole, unmarshal
from numafit.ledger.files.checkpoint import (
    DATA,
    DATA_SUM,
    SUM,
    RefusedError,
    RestoreError,
    WithData,
    corrupted,
    drain_text,
    dump_of,
    matches,
    read_data,
    unreadable,
    with_data,
)
from numafit.ledger.ledger import Block, MemoryFile, MemoryNode, MemoryTable
from numafit.ledger.state_files import MEMORY_FILE
from numafit.settings.versions import Behaviour

MemoryFormat = Literal["v1", "v2", "v3"]


# The shapes of the file with every `null` that JSON allows; the values in `ledger.ledger` have none.
class _Node(msgspec.Struct, frozen=True):
    assignments: int = 0
    tables: Mapping[str, MemoryTable | None] | None = None
    cells: tuple[int, ...] | None = None


class _Block(msgspec.Struct, frozen=True):
    numa: tuple[int, ...] | None = None
    type: str = ""
    size: int = 0


class _Pod(msgspec.Struct, frozen=True):
    blocks: tuple[_Block, ...] | None = None


class _Checkpoint(WithData, frozen=True):
    policy: str = ""
    nodes: Mapping[int, _Node | None] | None = {}
    entries: Mapping[str, Mapping[str, tuple[_Block, ...] | None] | None] | None = {}
    pod_entries: Mapping[str, _Pod] | None = {}
    checksum: int = 0


_NAME = "state.MemoryManagerCheckpoint"
_INT = Whole("int", 64, signed=True)
_UINT64 = Whole("uint64", 64, signed=False)
_TYPE = Text("v1.ResourceName")

_TABLE = GoStruct(
    "state.MemoryTable",
    MemoryTable,
    GoField("TotalMemSize", "total", "total", _UINT64),
    GoField("SystemReserved", "systemReserved", "system_reserved", _UINT64),
    GoField("Allocatable", "allocatable", "allocatable", _UINT64),
    GoField("Reserved", "reserved", "reserved", _UINT64),
    GoField("Free", "free", "free", _UINT64),
)
_NODE = GoStruct(
    "state.NUMANodeState",
    _Node,
    GoField("NumberOfAssignments", "numberOfAssignments", "assignments", _INT),
    GoField("MemoryMap", "memoryMap", "tables", TextMap(Pointer(_TABLE), key=_TYPE)),
    GoField("Cells", "cells", "cells", List(_INT)),
)
_BLOCKS = List(
    GoStruct(
        "state.Block",
        _Block,
        GoField("NUMAAffinity", "numaAffinity", "numa", List(_INT)),
        GoField("Type", "type", "type", _TYPE),
        GoField("Size", "size", "size", _UINT64),
    )
)
_POD = GoStruct("state.PodEntry", _Pod, GoField("MemoryBlocks", "memoryBlocks", "blocks", _BLOCKS, omit_empty=True))

_POLICY = GoField("PolicyName", "policyName", "policy", Text())
_STATE = GoField("MachineState", "machineState", "nodes", NumberMap(_INT, Pointer(_NODE), "state.NUMANodeMap"))
_ENTRIES = GoField(
    "Entries", "entries", "entries", TextMap(TextMap(_BLOCKS), "state.ContainerMemoryAssignments"), omit_empty=True
)
_POD_ENTRIES = GoField(
    "PodEntries", "podEntries", "pod_entries", TextMap(_POD, "state.PodMemoryAssignments"), omit_empty=True
)
_SUM = GoField("Checksum", "checksum", "checksum", SUM)

_V1 = GoStruct(f"{_NAME}V1", _Checkpoint, _POLICY, _STATE, _ENTRIES, _SUM)
_V2 = GoStruct(_NAME, _Checkpoint, _POLICY, _STATE, _ENTRIES, _POD_ENTRIES, _SUM)
_V3 = GoStruct(_NAME, _Checkpoint, _POLICY, _STATE, _ENTRIES, _SUM, DATA, DATA_SUM)
_V3_DATA = GoStruct(f"{_NAME}Data", _Checkpoint, _POLICY, _STATE, _ENTRIES, _POD_ENTRIES)
_ANY = GoStruct(_NAME, _Checkpoint, _POLICY, _STATE, _ENTRIES, _POD_ENTRIES, _SUM, DATA, DATA_SUM)


def _blocks(blocks: tuple[Block, ...]) -> tuple[_Block, ...]:
    return tuple(_Block(block.numa, block.type, block.size) for block in blocks)


def _unsealed(file: MemoryFile) -> _Checkpoint:
    return _Checkpoint(
        file.policy,
        {numa: _Node(node.assignments, node.tables, node.cells) for numa, node in file.nodes.items()},
        {
            pod_uid: {name: _blocks(blocks) for name, blocks in containers.items()}
            for pod_uid, containers in file.entries.items()
        },
        {pod_uid: _Pod(_blocks(blocks)) for pod_uid, blocks in file.pod_entries.items()},
    )


def memory_dump(file: MemoryFile, layout: MemoryFormat) -> str:
    """The text whose hash is the checksum, under one type name in all layouts; v3 has that of v1."""
    return dump_of(_V2 if layout == "v2" else _V1, _unsealed(file), _NAME)


def memory_bytes(file: MemoryFile, layout: MemoryFormat) -> str:
    contents = msgspec.structs.replace(_unsealed(file), checksum=checksum(memory_dump(file, layout)))
    if layout == "v3":
        return _V3.encode(with_data(_V3_DATA, contents))
    return (_V2 if layout == "v2" else _V1).encode(contents)


def parse_memory(data: str | bytes) -> MemoryFile:
    """The contents of the file without any verification; RestoreError with Go's text where it is not one."""
    file, error = unmarshal(data, _ANY, _Checkpoint())
    if not error and file.data:
        file, error = unmarshal(file.data, _V3_DATA, _Checkpoint())
    if error:
        raise RestoreError(str(error))
    return _restored(file)


def read_memory(data: str | bytes, *, policy: str, behaviour: Behaviour, gate: bool, state_dir: str) -> MemoryFile:
    """What the kubelet restores from the file, or RestoreError in its words.

    `gate` is PodLevelResourceManagers; releases without it ignore it.
    """
    try:
        file = _loaded(data, behaviour, gate)
        if policy != file.policy:
            found = f"differs from state checkpoint policy {go_quote(file.policy)}"
            text = f"[memorymanager] configured policy {go_quote(policy)} {found}"
            raise RefusedError(text, code="memory-restore-policy")
    except RefusedError as refusal:
        raise RestoreError(drain_text(str(refusal), "memory", state_dir, MEMORY_FILE), cause=refusal) from None
    return _restored(file)


def _loaded(data: str | bytes, behaviour: Behaviour, gate: bool) -> _Checkpoint:
    zero = behaviour.memory_zero_checksum
    if behaviour.state_data:
        file = read_data(data, _V3, _V3_DATA, _Checkpoint(), "memory", "v3") or _read_v2_or_v1(data, zero)
        return file if gate else msgspec.structs.replace(file, pod_entries={})
    if behaviour.pod_level != "managed":
        return _read_v1(data, _NAME, (_NAME,), zero)
    if not gate:
        return _read_v1(data, f"{_NAME}V1", (f"{_NAME}V1", _NAME), zero)
    newest, error = unmarshal(data, _V2, _Checkpoint())
    if not error and matches(_V2, newest, newest.checksum, _NAME):
        return newest
    # the failed attempt's pod entries stay in the value into which the older layout is then migrated (1.36)
    older = _read_v1(data, f"{_NAME}V1", (_NAME,), zero)
    return msgspec.structs.replace(older, pod_entries=newest.pod_entries)


def _read_v2_or_v1(data: str | bytes, zero: bool) -> _Checkpoint:
    """The layouts that 1.37 still reads beside its own. It copies their state before it compares the policy, so it is
    here that a null table crashes it."""
    file, error = unmarshal(data, _V2, _Checkpoint())
    if error or not matches(_V2, file, file.checksum, _NAME):
        file = _read_v1(data, f"{_NAME}V1", (_NAME,), zero)
    _restored(file)
    return file


# Advice starts many kubelets over the same file.
@lru_cache(maxsize=4)
def _read_v1(data: str | bytes, root: str, type_names: tuple[str, ...], zero: bool) -> _Checkpoint:
    file, error = unmarshal(data, _V1.renamed(root), _Checkpoint())
    if error:
        raise unreadable(str(error))
    if (file.checksum or not zero) and not matches(_V1, file, file.checksum, *type_names):
        raise corrupted()
    return file


def _restored(file: _Checkpoint) -> MemoryFile:
    return MemoryFile(
        file.policy,
        {numa: _node(node or _Node()) for numa, node in (file.nodes or {}).items()},
        {
            pod_uid: {name: _public(blocks) for name, blocks in (containers or {}).items()}
            for pod_uid, containers in (file.entries or {}).items()
        },
        {pod_uid: _public(pod.blocks) for pod_uid, pod in (file.pod_entries or {}).items()},
    )


def _node(node: _Node) -> MemoryNode:
    tables: dict[str, MemoryTable] = {}
    for name, table in (node.tables or {}).items():
        if table is None:
            # the kubelet copies every table as it restores the state, and crashes on this one (seen in 1.21 to 1.36)
            raise RestoreError(NIL_POINTER, code="memory-restore-null")
        tables[name] = table
    return MemoryNode(node.assignments, tables, node.cells or ())


def _public(blocks: tuple[_Block, ...] | None) -> tuple[Block, ...]:
    return tuple(Block(block.numa or (), block.type, block.size) for block in blocks or ())
