"""The memory manager's state as values: what each NUMA node has, and which blocks each container holds.

Amounts are bytes, as unsigned 64-bit numbers; whoever computes with them wraps as Go does.
"""

import msgspec


class MemoryTable(msgspec.Struct, frozen=True):
    """One memory type (`memory`, `hugepages-2Mi`, …) of one NUMA node."""

    total: int = 0
    system_reserved: int = 0
    allocatable: int = 0
    reserved: int = 0
    free: int = 0


class MemoryNode(msgspec.Struct, frozen=True):
    assignments: int = 0
    """Counts (container, memory type) pairs placed on this node, whatever their size."""
    tables: dict[str, MemoryTable] = {}
    cells: tuple[int, ...] = ()
    """Ids of the group that this node belongs to, itself included."""


class Block(msgspec.Struct, frozen=True):
    numa: tuple[int, ...]
    type: str
    size: int


class MemoryFile(msgspec.Struct, frozen=True):
    """The contents of `memory_manager_state`."""

    policy: str
    nodes: dict[int, MemoryNode] = {}
    entries: dict[str, dict[str, tuple[Block, ...]]] = {}
    """Pod UID -> container -> blocks, in the order of the file (the checksum depends on it)."""
    pod_entries: dict[str, tuple[Block, ...]] = {}
    """Pod UID -> blocks of the pod as a whole; written in format v2 only."""
