"""Bytes on NUMA nodes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import KubeletPanic
from numafit.golang.text import NIL_POINTER
from numafit.ledger.ledger import Block, MemoryNode, MemoryTable
from numafit.managers.memory.nodes import WRAP, MemoryNodes, fill, give_back, has_free, table_of, violates_group

PAGES = "hugepages-2Mi"


def node(
    node_id: int, free: int, *, reserved: int = 0, assignments: int = 0, cells: tuple[int, ...] = ()
) -> MemoryNode:
    allocatable = free + reserved & WRAP
    table = MemoryTable(allocatable, 0, allocatable, reserved, free)
    return MemoryNode(assignments, {"memory": table}, cells or (node_id,))


IDLE: MemoryNodes = {0: node(0, 10), 1: node(1, 10)}


def test_the_lowest_node_is_drained_first_and_every_node_counts_an_assignment() -> None:
    """12 of 20 bytes over two nodes; both belong to the group now (1.21 to 1.36)."""
    assert fill(IDLE, (0, 1), "memory", 12) == {
        0: node(0, 0, reserved=10, assignments=1, cells=(0, 1)),
        1: node(1, 8, reserved=2, assignments=1, cells=(0, 1)),
    }


def test_filling_with_nothing_still_counts() -> None:
    """A container that lives on reused bytes holds an assignment (1.22 to 1.36)."""
    assert fill(IDLE, (1,), "memory", 0) == {0: IDLE[0], 1: node(1, 10, assignments=1)}


def test_a_release_starts_at_the_lowest_node_too() -> None:
    """So inside a group bytes drift: what came from node 1 is given back to node 0 (1.21 to 1.36)."""
    taken = fill(fill(IDLE, (0, 1), "memory", 12), (0, 1), "memory", 4)
    assert give_back(taken, (Block((0, 1), "memory", 4),)) == {
        0: node(0, 4, reserved=6, assignments=1, cells=(0, 1)),
        1: node(1, 4, reserved=6, assignments=1, cells=(0, 1)),
    }


def test_a_group_dissolves_with_its_last_assignment() -> None:
    """Node by node, when the counter is back at zero (1.21 to 1.36)."""
    taken = fill(IDLE, (0, 1), "memory", 12)
    assert give_back(taken, (Block((0, 1), "memory", 12),)) == IDLE


def test_amounts_wrap_as_unsigned_64_bit_numbers() -> None:
    """A node that reserves more than it has looks endless; nobody checks (1.21 to 1.36)."""
    endless = {0: node(0, WRAP - 4)}
    assert has_free(endless, 0b1, {"memory": 1 << 50})
    assert not has_free({0: node(0, WRAP), 1: node(1, 8)}, 0b11, {"memory": 10})
    assert fill(endless, (0,), "memory", 5)[0].tables["memory"].free == WRAP - 9


@pytest.mark.parametrize(
    ("mask", "nodes", "expected"),
    [
        (0b01, {0: node(0, 5, assignments=1, cells=(0, 1)), 1: node(1, 5)}, False),
        (0b11, IDLE, False),
        (0b11, {0: node(0, 5, assignments=1), 1: node(1, 5)}, True),
        (0b11, {0: node(0, 5, assignments=1, cells=(0, 1)), 1: node(1, 5, assignments=1, cells=(0, 1))}, False),
        (0b11, {0: node(0, 5, assignments=1, cells=(0, 2)), 1: node(1, 5)}, True),
    ],
)
def test_a_wide_mask_may_not_touch_nodes_that_are_used_in_another_way(
    mask: int, nodes: MemoryNodes, expected: bool
) -> None:
    """One node alone never violates anything, even inside a group (1.32 and later)."""
    assert violates_group(nodes, mask) == expected


def test_a_type_that_a_node_does_not_list_crashes_the_kubelet() -> None:
    """A nil pointer in Go; a table of zeros would be enough to be safe (1.21 to 1.36)."""
    with pytest.raises(KubeletPanic, match=NIL_POINTER):
        table_of(IDLE[0], PAGES)
    with pytest.raises(KubeletPanic, match=NIL_POINTER):
        has_free(IDLE, 0b01, {PAGES: 1})
    with pytest.raises(KubeletPanic, match=NIL_POINTER):
        fill(IDLE, (0,), PAGES, 1)


@given(st.lists(st.tuples(st.sampled_from([(0,), (1,), (0, 1)]), st.integers(0, 6)), max_size=6))
def test_what_is_charged_and_given_back_in_any_order_leaves_the_counters_at_zero(
    charges: list[tuple[tuple[int, ...], int]],
) -> None:
    """Free and reserved always make up the allocatable bytes; in the end every node stands alone again."""
    nodes: MemoryNodes = IDLE
    for mask, size in charges:
        nodes = fill(nodes, mask, "memory", size)
    for mask, size in charges:
        nodes = give_back(nodes, (Block(mask, "memory", size),))
    assert {i: (each.assignments, each.cells) for i, each in nodes.items()} == {0: (0, (0,)), 1: (0, (1,))}
    assert [table_of(each, "memory").free + table_of(each, "memory").reserved for each in nodes.values()] == [10, 10]
