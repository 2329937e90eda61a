"""One look at the queue."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.host.book import serve as looks
from numafit.host.book.book import Book
from numafit.host.book.serve import serve
from numafit.host.grant import QueuePlace
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.request import JobRequest
from numafit.host.usage import MemoryUsage, Usage
from tests.host.ledgers import gone, host_named, me, small_host, taken

HOST = small_host(4)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    with Book.open(tmp_path) as book:
        yield book


def test_leases_are_given_in_order_some_at_a_time(book: Book) -> None:
    for number in range(4):
        book.enqueue(HOST, JobRequest(cpus=1, name=str(number)), me())
    first = serve(book, HOST, most=3)
    assert [place.request.name for place, _, _ in first.given] == ["0", "1", "2"]
    assert [place.request.name for place in first.waiting] == ["3"]
    second = serve(book, HOST, first.state, most=3)
    assert [place.request.name for place, _, _ in second.given] == ["3"]
    assert book.waiting() == []
    given = [lease.id for _, lease, _ in (*first.given, *second.given)]
    assert given == [lease.id for lease in book.leases()]


def test_nobody_is_asked_again_while_nothing_changes(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    held = taken(book, HOST, JobRequest(cpus=4))
    book.enqueue(HOST, JobRequest(cpus=1), me())
    before = serve(book, HOST)
    with monkeypatch.context() as patch:
        patch.setattr(looks, "turns", lambda *_: pytest.fail("asked again"))
        assert serve(book, HOST, before.state).state == before.state
    book.release(held.id)
    assert len(serve(book, HOST, before.state).given) == 1


def test_who_may_use_some_cpus_only_keeps_that_in_his_lease(book: Book) -> None:
    """The look is nobody's in particular."""
    book.enqueue(replace(HOST, allowed_cpus=0b1100), JobRequest(cpus=1), me())
    book.enqueue(replace(HOST, allowed_cpus=0b10), JobRequest(), me())
    serve(book, HOST)
    assert [(lease.exclusive & ~0b1100, lease.allowed) for lease in book.leases()] == [(0, 0b1100), (0, 0b10)]


def test_a_time_that_is_over_is_told_with_the_reason_and_kept_in_the_history(book: Book) -> None:
    taken(book, HOST, JobRequest(cpus=4))
    now = time.clock_gettime(time.CLOCK_BOOTTIME)
    book.enqueue(HOST, JobRequest(cpus=2), me("late"), until=now - 1)
    book.enqueue(HOST, JobRequest(cpus=3), me(), until=now + 1000)
    look = serve(book, HOST)
    reason = "2 CPUs are asked for and none is free"
    assert [(place.owner.command, why) for place, why in look.over] == [("late", reason)]
    assert look.due == now + 1000
    refused = book.history(1)[0]
    assert (refused.event, refused.command, refused.sentence) == ("refused", "late", reason)


def test_one_whose_time_is_over_still_gets_what_is_free(book: Book) -> None:
    book.enqueue(HOST, JobRequest(cpus=2), me(), until=time.clock_gettime(time.CLOCK_BOOTTIME) - 1)
    look = serve(book, HOST)
    assert (len(look.given), look.over) == (1, [])


def test_the_dead_are_passed_over(book: Book) -> None:
    book.enqueue(HOST, JobRequest(cpus=4), gone())
    book.enqueue(HOST, JobRequest(cpus=2, name="alive"), me())
    assert [place.request.name for place, _, _ in serve(book, HOST).given] == ["alive"]


def test_a_higher_priority_is_served_first(book: Book) -> None:
    held = taken(book, HOST, JobRequest(cpus=4))
    for number, priority in enumerate((0, 5, 5)):
        book.enqueue(HOST, JobRequest(cpus=4, priority=priority, name=str(number)), me())
    book.release(held.id)
    assert [place.request.name for place in book.waiting()] == ["1", "2", "0"]
    look = serve(book, HOST)
    assert [place.request.name for place, _, _ in look.given] == ["1"]


# What is really in use


FULL = MemoryUsage(1 << 30)
FREE = MemoryUsage(200 << 30)


def now_full(asked: list[list[str]]) -> Callable[[Sequence[QueuePlace]], Host]:
    """A host whose first node has become full; who asks is written down."""

    def host_now(queue: Sequence[QueuePlace]) -> Host:
        asked.append([place.request.name for place in queue])
        return replace(BOX, usage=Usage({0: FULL, 1: FREE}))

    return host_now


BOX = host_named("gpu8-128cpu")


def test_who_has_waited_goes_where_there_is_room_now(book: Book) -> None:
    """Nobody looks while nobody may start; what differs from the claims is told by his lease."""
    asked: list[list[str]] = []
    held = taken(book, BOX, JobRequest(cpus=126))
    book.enqueue(BOX, JobRequest(cpus=8, memory=8 << 30, name="first"), me())
    book.enqueue(BOX, JobRequest(cpus=8, memory=8 << 30, name="second"), me())
    look = serve(book, BOX, host_now=now_full(asked))
    assert (asked, look.given) == ([], [])
    assert serve(book, BOX, look.state, host_now=now_full(asked)).state == look.state
    book.release(held.id)
    look = serve(book, BOX, look.state, host_now=now_full(asked))
    assert asked == [["first", "second"]]
    remark = "8Gi on node 0 are free by the claims, and really 1Gi: the job goes to node 1"
    assert [(lease.nodes, lease.bind, lease.remarks) for _, lease, _ in look.given] == [(0b10, "bind", (remark,))] * 2
    assert [lease.remarks for lease in book.leases()] == [(remark,)] * 2


def test_what_was_found_by_the_look_counts_before_anybody_starts(book: Book) -> None:
    """A container that came back may be given its CPUs while somebody is about to get them."""
    book.enqueue(HOST, JobRequest(cpus=4), me())

    def host_now(queue: Sequence[QueuePlace]) -> Host:
        book.add(Lease("0badcafe", "", 0, "root", 1.5, exclusive=0b1, owners=me().processes), "rebuilt")
        return HOST

    look = serve(book, HOST, host_now=host_now)
    assert (look.given, len(look.waiting)) == ([], 1)


def test_cpus_that_come_back_are_a_change(book: Book) -> None:
    book.enqueue(HOST, JobRequest(cpus=4), me())
    cpus = tuple(replace(cpu, online=cpu.id > 0) for cpu in HOST.machine.cpus)
    fewer = replace(HOST, machine=replace(HOST.machine, cpus=cpus))
    look = serve(book, fewer)
    assert look.given == []
    assert len(serve(book, HOST, look.state).given) == 1
