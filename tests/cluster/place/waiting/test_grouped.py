"""Pods that start together: when their group comes into the queue, and when it leaves it."""

from typing import Literal

from msgspec.structs import replace

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.waiting.grouped import GroupBook
from numafit.cluster.place.waiting.queue import WaitingQueue
from numafit.fleet.waiting.members import GroupObject, GroupSize
from tests.cluster.place.clusters import waiting


class Known:
    """Objects that were read, or are being read."""

    def __init__(self, size: GroupSize | Literal["reading"] | None = None) -> None:
        self.size = size
        self.asked: list[GroupObject] = []

    def __call__(self, source: GroupObject) -> GroupSize | Literal["reading"] | None:
        self.asked.append(source)
        return self.size


def member(name: str, size: int = 2, made: str = "2026-01-01T00:00:00Z") -> ClusterPod:
    return waiting(name, annotations={"numafit.io/group": "g", "numafit.io/group-size": str(size)}, made=made)


def test_a_group_is_in_the_queue_while_all_of_it_is_there() -> None:
    queue = WaitingQueue()
    book = GroupBook(queue, Known())
    assert book.told(member("a", made="2026-01-02T00:00:00Z"), queued=True)
    book.settle()
    assert [uid for uid, _ in book.incomplete()] == ["a"]
    assert len(queue) == 0
    assert book.told(member("b"), queued=True)
    book.settle()
    assert list(queue.round()) == ["team/group/g"]
    state = book.state("team/group/g")
    assert state is not None
    assert state.waiting == ("b", "a")
    assert "team/group/g" in book
    book.gone("b")
    book.settle()
    assert (len(queue), [uid for uid, _ in book.incomplete()]) == (0, ["a"])
    book.gone("a")
    book.settle()
    assert ("team/group/g" in book, list(book.sources())) == (False, [])


def test_a_group_that_is_being_released_is_not_decided_again() -> None:
    queue = WaitingQueue()
    book = GroupBook(queue, Known())
    pods = [member(name) for name in ("a", "b")]
    for own in pods:
        book.told(own, queued=True)
    book.settle()
    for own in pods:
        book.sent(own.uid)
    assert len(queue) == 0
    # One came to nothing, and is there again; the other one is let go.
    book.told(pods[0], queued=True)
    book.told(replace(pods[1], gates=()), queued=False)
    book.settle()
    state = book.state("team/group/g")
    assert state is not None
    assert (state.waiting, state.needed, list(queue.round())) == (("a",), 1, ["team/group/g"])


def test_a_pod_waits_while_the_size_of_its_group_is_read() -> None:
    queue, known = WaitingQueue(), Known("reading")
    book = GroupBook(queue, known)
    pod = waiting("a", labels={"scheduling.x-k8s.io/pod-group": "g"})
    assert book.told(pod, queued=True)
    book.settle()
    source = GroupObject("PodGroup", "team", "g")
    assert (len(queue), list(book.sources()), book.of_source(source)) == (0, [source], ["a"])
    known.size = GroupSize(1)
    assert not book.told(pod, queued=True)
    known.size = None
    assert not book.told(pod, queued=True)
    known.size = GroupSize(2)
    assert book.told(pod, queued=True)
    book.settle()
    assert [uid for uid, _ in book.incomplete()] == ["a"]


def test_a_pod_that_leaves_its_group_is_alone() -> None:
    queue = WaitingQueue()
    book = GroupBook(queue, Known())
    for name in ("a", "b"):
        book.told(member(name), queued=True)
    assert not book.told(waiting("a"), queued=True)
    other = waiting("b", annotations={"numafit.io/group": "h", "numafit.io/group-size": "2"})
    assert book.told(other, queued=True)
    book.settle()
    assert ("team/group/g" in book, "team/group/h" in book, len(queue)) == (False, True, 0)
