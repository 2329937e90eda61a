"""Which kinds of waiting pods are asked about again."""

import pytest
from msgspec.structs import replace

from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.waiting import helped
from numafit.cluster.place.waiting.entries import EntryMaker
from numafit.cluster.place.waiting.helped import HelpedKinds, may_be_better
from numafit.cluster.place.waiting.queue import WaitingQueue
from tests.cluster.place.clusters import cluster_of, report, told_node, waiting


@pytest.fixture
def book() -> FleetBook:
    """Full nodes."""
    book = cluster_of("n1", "n2")
    for name in ("n1", "n2"):
        holder = waiting(f"holder-{name}", gpus=8, gates=(), node=name)
        book.pod_told(holder)
        report(book, name, holder)
    return book


def asleep(book: FleetBook, own: HelpedKinds, *gpus: int) -> WaitingQueue:
    """One pod for each number of GPUs, all of which nothing fits."""
    queue = WaitingQueue()
    own.kinds(queue)
    for number in gpus:
        pod = waiting(f"p{number}", gpus=number)
        book.pod_told(pod)
        entry = EntryMaker().entry(pod)
        queue.put(entry)
        queue.sleep(entry.kind)
        own.sleeps(entry.kind, others=False)
    return queue


def freed(book: FleetBook, name: str, *pods: ClusterPod) -> None:
    """Its holder has gone; it has these."""
    book.pod_gone(f"holder-{name}", 0.0)
    report(book, name, *pods)


def woken(own: HelpedKinds, queue: WaitingQueue) -> set[str]:
    return {queue.first_of(kind) for kind in own.kinds(queue)}


def test_only_kinds_that_the_changed_node_takes_are_woken(book: FleetBook) -> None:
    own = HelpedKinds(book)
    queue = asleep(book, own, 2, 6)
    assert woken(own, queue) == set()
    freed(book, "n1", waiting("half", gpus=4, gates=(), node="n1"))
    assert woken(own, queue) == {"p2"}
    assert woken(own, queue) == set()


def test_a_node_to_which_more_was_promised_helps_nobody(book: FleetBook) -> None:
    before = book.fleet.nodes["n1"]
    new = waiting("new")
    book.offer(new, ("n1",))
    promised = book.fleet.nodes["n1"]
    assert not may_be_better(before, promised)
    assert not may_be_better(before, before)
    assert may_be_better(promised, before)
    assert may_be_better(None, before)
    assert may_be_better(before, replace(before, schedulable=False))


def test_with_very_many_kinds_the_rest_is_looked_at_in_the_next_round(
    book: FleetBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = HelpedKinds(book)
    queue = asleep(book, own, 1, 2, 3)
    freed(book, "n1")
    monkeypatch.setattr(helped, "LOOK_SECONDS", -1.0)
    assert woken(own, queue) == set()
    assert own.unfinished
    monkeypatch.setattr(helped, "LOOK_SECONDS", 10.0)
    freed(book, "n2")
    assert woken(own, queue) == {"p1", "p2", "p3"}
    assert not own.unfinished


def test_an_unknown_node_that_changed_wakes_all(book: FleetBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helped, "AGAIN_SECONDS", 0.0)
    own = HelpedKinds(book)
    queue = asleep(book, own, 1, 6)
    told_node(book, "bare")
    own.node_changed("bare")
    assert woken(own, queue) == {"p1", "p6"}
    assert woken(own, queue) == set()
    own.pod_gone(waiting("x", gates=(), node="bare"))
    assert woken(own, queue) == {"p1", "p6"}


def test_kinds_that_other_pods_keep_out_are_woken_by_any_pod(book: FleetBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helped, "AGAIN_SECONDS", 0.0)
    own = HelpedKinds(book)
    queue = asleep(book, own, 1, 6)
    own.sleeps(queue.kind_of("p6"), others=True)
    own.pod_changed()
    assert woken(own, queue) == {"p6"}


def test_an_unknown_node_that_rejected_a_pod_comes_last_for_those_like_it(book: FleetBook) -> None:
    own = HelpedKinds(book)
    own.refused(waiting("p", gpus=1, gates=(), node="bare"))
    own.refused(waiting("q", gpus=2, gates=(), node="n1"))
    assert own.refusing(waiting("r", gpus=1)) == {"bare"}
    assert not own.refusing(waiting("r", gpus=2))


def test_nodes_are_not_compared_while_nobody_sleeps(book: FleetBook, monkeypatch: pytest.MonkeyPatch) -> None:
    """With thousands of nodes that would cost more than to decide about a pod."""
    own = HelpedKinds(book)
    own.kinds(WaitingQueue())
    freed(book, "n1")
    with monkeypatch.context() as patched:
        patched.setattr(helped, "may_be_better", None)
        assert own.kinds(WaitingQueue()) == set()
    queue = asleep(book, own, 2)
    assert own.kinds(queue) == set()
    freed(book, "n2")
    assert own.kinds(queue) == set(queue.sleeping)
