"""Pods that were released, and that the scheduler cannot bind."""

from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place import stuck
from numafit.cluster.place.stuck import StuckBook, is_released
from tests.cluster.place.clusters import waiting

UNSCHEDULABLE = ({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no volume"},)
NODES = {"n1": ClusterNode("n1"), "n2": ClusterNode("n2")}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a cluster; the clock is the test's own."""
    monkeypatch.setattr(stuck, "PATIENCE", 60.0)
    monkeypatch.setattr(stuck, "LOST_PATIENCE", 10.0)
    monkeypatch.setattr(stuck, "BETWEEN_SECONDS", 2.0)


def released(name: str, owner: str = "web", names: str = "n1", **more: Any) -> ClusterPod:
    annotations = {"numafit.io/nodes": names} if names else {"numafit.io/scaled": "2"}
    return waiting(name, owner=owner, gates=(), annotations=annotations, conditions=UNSCHEDULABLE, **more)


def test_a_pod_has_a_minute_and_each_further_one_of_its_owner_twice_as_long() -> None:
    book, now = StuckBook(), 0.0
    for number, patience in enumerate((60, 120, 240, 480, 900, 900)):
        pod = released(f"p{number}")
        book.told(pod, now)
        assert book.answer(pod, NODES, elsewhere=True, now=now + patience - 1) == ""
        now += patience
        assert book.answer(pod, NODES, elsewhere=True, now=now) == "replace"
        book.replaced(pod, now)
    assert set(book.tried(released("next"))) == {"n1"}
    assert set(book.tried(released("other", owner="db"))) == set()


def test_one_whose_nodes_are_gone_or_closed_has_ten_seconds() -> None:
    book = StuckBook()
    pod = released("p", names="gone,n1")
    book.told(pod, 0.0)
    closed = {**NODES, "n1": ClusterNode("n1", unschedulable=True)}
    assert book.answer(pod, NODES, elsewhere=False, now=10.0) == ""
    assert book.answer(pod, closed, elsewhere=False, now=10.0) == "replace"


def test_where_no_other_node_would_take_it_it_is_told_once() -> None:
    book = StuckBook()
    pod = released("p")
    book.told(pod, 0.0)
    assert book.answer(pod, NODES, elsewhere=False, now=60.0) == "tell"
    book.was_told("p")
    assert book.answer(pod, NODES, elsewhere=False, now=61.0) == ""
    assert book.answer(pod, NODES, elsewhere=True, now=61.0) == "replace"


def test_one_that_waits_for_nodes_to_come_is_replaced_only_for_one_that_is_there() -> None:
    book = StuckBook()
    pod = released("p", names="")
    book.told(pod, 0.0)
    assert book.answer(pod, NODES, elsewhere=False, now=59.0) == ""
    assert book.answer(pod, NODES, elsewhere=False, now=600.0) == "tell"
    book.was_told("p")
    assert book.answer(pod, NODES, elsewhere=False, now=600.0) == ""
    assert book.answer(pod, NODES, elsewhere=True, now=600.0) == "replace"


def test_of_a_job_one_that_waits_for_nodes_to_come_is_replaced_where_that_is_forgiven_and_told_twice_else() -> None:
    """None has come; and a known one has room now."""
    book, pod = StuckBook(), released("p", names="")
    assert pod.owner is not None
    pod = replace(pod, owner=replace(pod.owner, kind="Job"))
    book.told(pod, 0.0)
    assert book.answer(pod, NODES, elsewhere=True, now=60.0, forgiven=True) == "replace"
    for elsewhere in (False, True):
        assert book.answer(pod, NODES, elsewhere=elsewhere, now=60.0) == "tell"
        book.was_told("p", elsewhere=elsewhere)
        assert book.answer(pod, NODES, elsewhere=elsewhere, now=61.0) == ""


def test_deletions_are_some_seconds_apart() -> None:
    book = StuckBook()
    first, second = released("p"), released("q", owner="db")
    for pod in (first, second):
        book.told(pod, 0.0)
    book.replaced(first, 60.0)
    assert book.answer(second, NODES, elsewhere=True, now=61.0) == ""
    assert book.answer(second, NODES, elsewhere=True, now=62.0) == "replace"


def test_owners_are_forgotten_after_an_hour() -> None:
    book = StuckBook()
    book.replaced(released("p"), 0.0)
    book.replaced(released("q", owner="db"), 3600.0)
    assert set(book.tried(released("r"))) == set()


def test_only_pods_that_we_released_and_that_are_not_bound_are_looked_at() -> None:
    pod = released("p")
    assert is_released(pod)
    assert not is_released(replace(pod, node="n1"))
    assert not is_released(replace(pod, gates=("other",)))
    assert not is_released(waiting("q", gates=(), conditions=UNSCHEDULABLE))
    assert not is_released(replace(pod, metadata=replace(pod.metadata, deletionTimestamp="2026-01-01T00:00:00Z")))
    book = StuckBook()
    book.told(pod, 0.0)
    assert book.stuck() == ("p",)
    book.told(replace(pod, node="n1"), 1.0)
    assert book.stuck() == ()
