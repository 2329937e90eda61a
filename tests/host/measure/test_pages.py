"""Memory counts only where the kernel says that it lies on its node."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from numafit.host.measure import pages
from numafit.host.measure.pages import NodeMemory

SIZE = 1 << 20


@contextmanager
def memory(node: int = 0) -> Iterator[NodeMemory]:
    made = NodeMemory(node, SIZE)
    try:
        yield made
    finally:
        made.close()


def refused(*_: object) -> list[int]:
    raise PermissionError(1, "Operation not permitted")


def test_pages_are_looked_up_one_by_one() -> None:
    """By the running kernel; where it refuses, as in containers, by another file or not at all."""
    with memory() as own:
        own.fill(alone=False)
        assert own.proof in ("move_pages", "numa_maps") or own.refusal.startswith("the kernel does not tell")
        assert own.map[0] == own.map[SIZE - 1] == pages.TOUCHED


def test_numa_maps_proves_it_where_move_pages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "page_nodes", refused)
    if not pages.NUMA_MAPS.exists():
        pytest.skip("a kernel without NUMA")
    with memory() as own:
        own.fill(alone=False)
        assert (own.proof, own.refusal) == ("numa_maps", "")


def test_pages_elsewhere_are_no_memory_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they were asked for there, and one is enough."""
    monkeypatch.setattr(pages, "prefer", refused)
    monkeypatch.setattr(pages, "page_nodes", lambda _address, size: [1] + [0] * (size // 4096 - 1))
    with memory(1) as own:
        own.fill(alone=False)
        said = "only 0 % of the pages that were asked for are there; mbind: Operation not permitted"
        assert (own.proof, own.refusal) == ("", said)


def test_what_nobody_can_tell_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """But on a machine with one node there is no other place."""
    monkeypatch.setattr(pages, "page_nodes", refused)
    monkeypatch.setattr(pages, "NUMA_MAPS", pages.NUMA_MAPS / "none")
    with memory() as own:
        own.fill(alone=False)
        assert (own.proof, own.refusal) == ("", "the kernel does not tell where its pages are")
    with memory() as own:
        own.fill(alone=True)
        assert (own.proof, own.refusal) == ("the only node", "")


def test_what_lies_elsewhere_is_taken_again_in_small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a node has no huge page left: the kernel takes one of another node instead."""
    asked: list[int] = []

    def nodes(_address: int, size: int) -> list[int]:
        asked.append(size)
        count = size // 4096
        return [0] * (count - 16) + [1] * 16 if len(asked) == 1 else [0] * count

    monkeypatch.setattr(pages, "page_nodes", nodes)
    with memory() as own:
        own.fill(alone=False)
        assert (own.proof, own.small) == ("move_pages", 16 * 4096)
        assert set(own.map[:]) == {pages.TOUCHED}
