"""The kernel's counts of allocations: this machine's own, and files made up."""

from pathlib import Path

from numafit.host.audit.numastat import NodeAllocations, allocated_between, audit_allocations, node_allocations

TEXT = "numa_hit 100\nnuma_miss 20\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 50\nother_node 70\n"


def test_counts_are_read_by_node(tmp_path: Path) -> None:
    """A node that says nothing, or something else, is left out."""
    for node, text in ((0, TEXT), (10, TEXT.replace("100", "7")), (2, "numa_hit x\n")):
        (tmp_path / f"node{node}").mkdir()
        (tmp_path / f"node{node}" / "numastat").write_text(text)
    (tmp_path / "node3").mkdir()
    assert node_allocations(tmp_path) == {
        0: NodeAllocations(100, 20, 3, 4, 50, 70),
        10: NodeAllocations(7, 20, 3, 4, 50, 70),
    }


def test_differences_are_never_negative_and_only_of_nodes_that_were_there() -> None:
    before = {0: NodeAllocations(10, 10, 10, 10, 10, 10)}
    after = {0: NodeAllocations(15, 10, 9, 11, 12, 13), 1: NodeAllocations(1, 1, 1, 1, 1, 1)}
    assert allocated_between(before, after) == {0: NodeAllocations(5, 0, 0, 1, 2, 3)}


def test_allocations_that_missed_a_promised_node_are_told() -> None:
    """Both many and a twentieth; a node that nobody was promised is nobody's matter."""
    counts = {
        0: NodeAllocations(9000, 0, 6000, 0, 9000, 0),
        1: NodeAllocations(9000, 0, 4095, 0, 9000, 0),
        2: NodeAllocations(99000, 0, 5000, 0, 9000, 0),
        3: NodeAllocations(0, 0, 9000, 0, 0, 0),
    }
    (found,) = audit_allocations(0b0111, counts, 10.0)
    assert (found.code, found.subject, found.pid) == ("NA018", "NUMA node 0", None)
    assert found.sentence == "of 15000 allocations that were wanted on it 6000 came from another node in 10 s"
