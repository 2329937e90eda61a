"""Memory hints: the examples of two nodes, groups, reuse, and machines with many nodes."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.bits import members
from numafit.errors import KubeletPanic
from numafit.ledger.ledger import Hint, MemoryNode, MemoryTable
from numafit.managers.memory.hints import best_memory_hint, memory_hints
from numafit.managers.memory.nodes import WRAP, MemoryNodes, fill
from numafit.managers.topology.hint import HintFamily, HintList

PAGES = "hugepages-2Mi"


def idle(*sizes: int, pages: int | None = None) -> MemoryNodes:
    """One node per size."""
    nodes = {}
    for i, size in enumerate(sizes):
        tables = {"memory": MemoryTable(size, 0, size, 0, size)}
        if pages is not None:
            tables[PAGES] = MemoryTable(pages, 0, pages, 0, pages)
        nodes[i] = MemoryNode(0, tables, (i,))
    return nodes


TWO = idle(10, 10)


@pytest.mark.parametrize(
    ("nodes", "wanted", "expected"),
    [
        (TWO, 4, ((1, True), (2, True), (3, False))),
        (TWO, 15, ((3, True),)),
        (TWO, 25, ()),
        (fill(TWO, (0,), "memory", 8), 4, ((2, True),)),
        (fill(TWO, (0,), "memory", 1), 15, ()),
        (fill(TWO, (0, 1), "memory", 12), 1, ((3, False),)),
        (fill(fill(TWO, (0,), "memory", 9), (1,), "memory", 9), 4, ()),
    ],
    ids=["idle", "wide", "too much", "half full", "barred though free", "group", "both full"],
)
def test_hints_on_two_nodes_of_10(nodes: MemoryNodes, wanted: int, expected: tuple[Hint, ...]) -> None:
    """A node is used alone or as part of one group, whatever is free; capacity decides on preferred (1.23 to 1.36)."""
    assert memory_hints(nodes, {"memory": wanted}, {}, False) == expected


@pytest.mark.parametrize(("group_first", "preferred"), [(True, True), (False, False)])
def test_up_to_1_22_barred_masks_do_not_count_for_what_is_preferred(group_first: bool, preferred: bool) -> None:
    """One node would do by capacity, but both are in a group: 1.21 and 1.22 call the group preferred."""
    nodes = fill(TWO, (0, 1), "memory", 12)
    assert memory_hints(nodes, {"memory": 1}, {}, group_first) == ((3, preferred),)


def test_all_types_must_fit_the_same_mask() -> None:
    """One list stands for all types (1.21 to 1.36)."""
    nodes = idle(10, 10, pages=4)
    assert memory_hints(nodes, {"memory": 4, PAGES: 4}, {}, False) == ((1, True), (2, True), (3, False))
    assert memory_hints(nodes, {"memory": 4, PAGES: 6}, {}, False) == ((3, True),)


def test_bytes_to_reuse_count_for_exactly_their_mask() -> None:
    """An init container left 6 on node 0: they help mask 01, not 11 (1.22 to 1.36)."""
    nodes = fill(TWO, (0,), "memory", 6)
    assert memory_hints(nodes, {"memory": 9}, {(0b01, "memory"): 6}, False) == ((1, True), (2, True))
    assert memory_hints(nodes, {"memory": 9}, {(0b11, "memory"): 6}, False) == ((2, True),)


def test_no_request_has_no_hints() -> None:
    """Containers of a managed pod that have no request of their own (1.36)."""
    assert memory_hints(TWO, {}, {}, False) == ()


def test_a_type_that_some_node_lacks_crashes_the_kubelet() -> None:
    """Whatever the other nodes have (1.21 to 1.36)."""
    nodes = {0: idle(10, pages=4)[0], 1: TWO[1]}
    with pytest.raises(KubeletPanic):
        memory_hints(nodes, {"memory": 1, PAGES: 1}, {}, False)


def test_sums_wrap() -> None:
    """Two endless nodes have together almost nothing (1.21 to 1.36)."""
    nodes = idle(WRAP, 9)
    assert memory_hints(nodes, {"memory": 10}, {}, False) == ((1, True),)


@pytest.mark.parametrize(
    ("hints", "inside", "expected"),
    [
        (((1, True), (2, True), (3, False)), 0, (1, True)),
        (((3, False), (2, True)), 0, (2, True)),
        (((7, True), (6, True), (5, True)), 0, (5, True)),
        (((1, True), (3, False), (7, False)), 0b10, (3, False)),
        (((1, True),), 0b10, None),
        ((), 0, None),
        (None, 0, None),
    ],
)
def test_the_best_hint_is_preferred_then_narrow_then_low(hints: HintList, inside: int, expected: Hint | None) -> None:
    """Among those that contain the nodes already chosen (1.21 to 1.36)."""
    assert best_memory_hint(hints, inside) == expected


@st.composite
def used_nodes(draw: st.DrawFn) -> MemoryNodes:
    """Up to five nodes, some of them used alone, some in one group."""
    nodes = idle(*draw(st.lists(st.integers(0, 9), min_size=1, max_size=5)))
    roles = draw(st.lists(st.sampled_from(["idle", "alone", "group"]), min_size=len(nodes), max_size=len(nodes)))
    for i, role in enumerate(roles):
        if role == "alone":
            nodes = fill(nodes, (i,), "memory", draw(st.integers(0, 9)))
    group = tuple(i for i, role in enumerate(roles) if role == "group")
    return fill(nodes, group, "memory", draw(st.integers(0, 20))) if len(group) > 1 else nodes


@given(st.data(), used_nodes(), st.integers(1, 30), st.booleans())
def test_a_described_list_is_the_written_one(
    data: st.DataObject, nodes: MemoryNodes, wanted: int, group_first: bool
) -> None:
    """On machines with many nodes the list is kept as a rule; it means the same hints and the same best one."""
    ids = st.sets(st.sampled_from(sorted(nodes)), min_size=1)
    reuse = {(sum(1 << i for i in data.draw(ids)), "memory"): data.draw(st.integers(0, 9))}
    inside = sum(1 << i for i in data.draw(st.sets(st.sampled_from(sorted(nodes)))))
    written = memory_hints(nodes, {"memory": wanted}, reuse, group_first)
    with patch("numafit.managers.memory.hints.EXPLICIT_NODES", 0):
        described = memory_hints(nodes, {"memory": wanted}, reuse, group_first)
    assert (described.listed() if isinstance(described, HintFamily) else described) == written
    above = data.draw(st.integers(0, len(nodes)))
    assert best_memory_hint(described, inside, above) == best_memory_hint(written, inside, above)


def test_a_mask_of_many_nodes_is_described() -> None:
    """Sixteen nodes have 65,535 masks: nobody writes them down."""
    nodes = idle(*[10] * 16)
    hints = memory_hints(nodes, {"memory": 15}, {}, False)
    assert isinstance(hints, HintFamily)
    assert best_memory_hint(hints) == (0b11, True)
    assert best_memory_hint(hints, 1 << 9) == (1 << 9 | 1, True)
    assert list(members(hints.ground)) == list(range(16))
