"""Bytes on NUMA nodes: charging a mask, giving back, and what stands in the way.

A node is either used by containers that sit on it alone, or it belongs to one group of nodes whose containers all have
exactly that mask (`cells`). Bytes are taken from and given back to the lowest node of a mask first, so inside a group
only the sums are exact. Sizes are unsigned 64-bit numbers that wrap, as in the kubelet.
"""

from collections.abc import Mapping, Sequence

from numafit.bits import mask_of, members
from numafit.errors import KubeletPanic
from numafit.golang.text import NIL_POINTER
from numafit.ledger.ledger import Block, MemoryNode, MemoryTable

PAGE_SIZE_MISSING = "page-size-missing"
"""A crash: a NUMA node does not have this memory type at all."""

WRAP = (1 << 64) - 1

MemoryNodes = Mapping[int, MemoryNode]


def fill(nodes: MemoryNodes, mask: Sequence[int], memory_type: str, size: int) -> dict[int, MemoryNode]:
    """Charge `size` bytes to the nodes of `mask`, lowest first; each counts an assignment, even for nothing."""
    changed = dict(nodes)
    cells = tuple(mask)
    for node_id in mask:
        node = changed[node_id]
        tables = node.tables
        if size > 0:
            table = table_of(node, memory_type)
            taken = min(table.free, size)
            if taken > 0:
                size -= taken
                tables = {
                    **tables,
                    memory_type: MemoryTable(
                        table.total,
                        table.system_reserved,
                        table.allocatable,
                        table.reserved + taken & WRAP,
                        table.free - taken,
                    ),
                }
        changed[node_id] = MemoryNode(node.assignments + 1, tables, cells)
    return changed


def give_back(nodes: MemoryNodes, blocks: Sequence[Block]) -> dict[int, MemoryNode]:
    changed = dict(nodes)
    for block in blocks:
        size = block.size
        for node_id in block.numa:
            node = changed[node_id]
            assignments = node.assignments - 1
            tables = node.tables
            if size > 0:
                table = table_of(node, block.type)
                given = min(table.reserved, size)
                if given > 0:
                    size -= given
                    tables = {
                        **tables,
                        block.type: MemoryTable(
                            table.total,
                            table.system_reserved,
                            table.allocatable,
                            table.reserved - given,
                            table.free + given & WRAP,
                        ),
                    }
            changed[node_id] = MemoryNode(assignments, tables, node.cells if assignments else (node_id,))
    return changed


def table_of(node: MemoryNode, memory_type: str) -> MemoryTable:
    table = node.tables.get(memory_type)
    if table is None:
        raise KubeletPanic(NIL_POINTER, code=PAGE_SIZE_MISSING, facts={"resource": memory_type})
    return table


def has_free(nodes: MemoryNodes, mask: int, request: Mapping[str, int]) -> bool:
    """Bytes that init containers leave are not counted here (1.21 to 1.36)."""
    for memory_type, size in request.items():
        free = 0
        for node_id in members(mask):
            free = free + table_of(nodes[node_id], memory_type).free & WRAP
        if free < size:
            return False
    return True


def violates_group(nodes: MemoryNodes, mask: int) -> bool:
    if mask.bit_count() < 2:
        return False
    for node_id in members(mask):
        node = nodes[node_id]
        if node.assignments > 0 and (len(node.cells) == 1 or mask_of(node.cells) != mask):
            return True
    return False
