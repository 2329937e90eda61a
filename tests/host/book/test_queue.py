"""Waiting for a lease: first come first served."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.errors import InputError
from numafit.host.book import queue
from numafit.host.book.bell import open_pipe, pipe_path
from numafit.host.book.book import Book
from numafit.host.grant import Refused, sentence_of
from numafit.host.lease import Lease
from numafit.host.request import JobRequest
from tests.host.ledgers import elsewhere, eventually, gone, me, small_host, taken

HOST = small_host(4)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    with Book.open(tmp_path) as book:
        yield book


def test_who_does_not_wait_is_refused_at_once(book: Book) -> None:
    taken(book, HOST, JobRequest(cpus=4))
    assert isinstance(queue.take(book, HOST, JobRequest(cpus=1), me(), None), Refused)
    assert book.waiting() == []


def test_what_is_free_needs_no_waiting(book: Book) -> None:
    assert isinstance(queue.take(book, HOST, JobRequest(cpus=4), me(), 60.0), Lease)
    assert book.waiting() == []


def test_a_time_ends_the_waiting_and_the_place_is_given_up(book: Book) -> None:
    taken(book, HOST, JobRequest(cpus=4))
    assert isinstance(queue.take(book, HOST, JobRequest(cpus=1), me(), 0.1), Refused)
    assert book.waiting() == []


def test_who_waits_gets_what_is_given_back(tmp_path: Path, book: Book) -> None:
    held = taken(book, HOST, JobRequest(cpus=4))

    def give_back() -> None:
        with Book.open(tmp_path) as other:
            eventually(lambda: bool(other.waiting()))
            other.release(held.id)

    helper = threading.Thread(target=give_back)
    helper.start()
    lease = queue.take(book, HOST, JobRequest(cpus=2), me(), 60.0)
    helper.join()
    assert isinstance(lease, Lease)
    assert book.waiting() == []


def test_the_history_tells_of_no_refusal_while_one_waits(book: Book) -> None:
    """It is refused only when the time is over, and once."""
    taken(book, HOST, JobRequest(cpus=4))
    queue.take(book, HOST, JobRequest(cpus=1), me(), 0.1)
    assert [entry.event for entry in book.history(10)] == ["refused", "taken"]


def test_nobody_passes_who_would_delay_one_who_waits(book: Book) -> None:
    """Two CPUs are free and one is wanted: but somebody waits for three."""
    taken(book, HOST, JobRequest(cpus=2))
    first = book.enqueue(HOST, JobRequest(cpus=3), me())
    second = book.enqueue(HOST, JobRequest(cpus=1), me())
    refused = book.take(HOST, JobRequest(cpus=1), me(), ticket=second)
    assert isinstance(refused, Refused)
    assert sentence_of(refused) == f"it would delay {me().user}, who waits for 3 CPUs"
    assert isinstance(book.take(HOST, JobRequest(cpus=1), me()), Refused)
    book.leave_queue(first)
    assert isinstance(book.take(HOST, JobRequest(cpus=1), me(), ticket=second), Lease)
    assert book.waiting() == []


def test_shared_work_that_holds_nothing_need_not_wait(book: Book) -> None:
    book.enqueue(HOST, JobRequest(cpus=3), me())
    assert isinstance(book.take(HOST, JobRequest(), me()), Lease)


def test_the_dead_do_not_wait(book: Book) -> None:
    book.enqueue(HOST, JobRequest(cpus=3), gone())
    assert isinstance(book.take(HOST, JobRequest(cpus=4), me()), Lease)
    assert book.waiting() == []


@pytest.mark.usefixtures("blind")
def test_one_of_another_pid_namespace_may_be_alive_and_keeps_its_place(book: Book) -> None:
    book.enqueue(HOST, JobRequest(cpus=4), elsewhere())
    assert isinstance(book.take(HOST, JobRequest(cpus=1), me()), Refused)
    assert len(book.waiting()) == 1


def test_what_can_never_fit_is_not_waited_for(book: Book) -> None:
    """Not even on an idle host that the caller may use one CPU of."""
    host = replace(HOST, allowed_cpus=0b1)
    with pytest.raises(InputError, match="2 CPUs would not fit this host if nobody held anything"):
        queue.take(book, host, JobRequest(cpus=2), me(), 60.0)
    assert book.waiting() == []


def waiter(folder: Path, cpus: int) -> int:
    """A process that waits for a lease, and then for its end. Its status is 3 when it was interrupted."""
    pid = os.fork()
    if not pid:
        try:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with Book.open(folder) as book:
                got = queue.take(book, HOST, JobRequest(cpus=cpus), me(str(cpus)), 60.0)
                book.release(got.id) if isinstance(got, Lease) else None
            os._exit(0)
        except KeyboardInterrupt:
            os._exit(3)
        finally:
            os._exit(1)
    return pid


def test_the_lease_of_somebody_else_is_no_answer(book: Book) -> None:
    """Whoever shares the ledger can write into the pipe of one who waits."""
    own = taken(book, small_host(), JobRequest(cpus=1))
    other = taken(book, small_host(), JobRequest(cpus=1), elsewhere())
    assert queue.answered(book, me(), "go", f"{own.id} now") == own
    assert queue.answered(book, me(), "go", other.id) is None
    assert queue.answered(book, me(), "start", other.id) is None


def test_a_pipe_is_known_behind_the_links_of_its_folder(tmp_path: Path) -> None:
    """But not where it is a link itself: to whatever file of another process."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    pipe = pipe_path(tmp_path / "link", 1, os.getpid())
    opened = open_pipe(pipe)
    try:
        assert queue._has_open(os.getpid(), pipe)
        assert queue._has_open(os.getpid(), tmp_path / "real" / pipe.name)
        (tmp_path / "real" / "trap").symlink_to(pipe.name)
        assert not queue._has_open(os.getpid(), tmp_path / "link" / "trap")
    finally:
        os.close(opened)


def test_ctrl_c_leaves_the_queue(tmp_path: Path, book: Book) -> None:
    taken(book, HOST, JobRequest(cpus=4))
    pid = waiter(tmp_path, 1)
    eventually(lambda: bool(book.waiting()))
    os.kill(pid, signal.SIGINT)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    with book._store.write() as tx:
        assert tx.waiting() == []


def test_a_waiter_that_is_killed_is_passed_over(tmp_path: Path, book: Book) -> None:
    held = taken(book, HOST, JobRequest(cpus=4))
    first = waiter(tmp_path, 4)
    eventually(lambda: len(book.waiting()) == 1)
    second = waiter(tmp_path, 2)
    eventually(lambda: len(book.waiting()) == 2)
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    book.release(held.id)
    assert os.waitstatus_to_exitcode(os.waitpid(second, 0)[1]) == 0


def test_waiters_are_served_in_the_order_of_coming(tmp_path: Path, book: Book) -> None:
    held = taken(book, HOST, JobRequest(cpus=4))
    pids = []
    for count in (4, 3, 4, 1):
        pids.append(waiter(tmp_path, count))
        eventually(lambda: len(book.waiting()) == len(pids))
    book.release(held.id)
    for pid in pids:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    served = [entry for entry in reversed(book.history(100)) if entry.event == "taken"][1:]
    commands = [entry.command for entry in served]
    assert commands == ["4", "3", "4", "1"]


def test_the_wall_clock_does_not_end_the_waiting(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that jumps ahead while one waits neither shortens nor prolongs it."""
    taken(book, HOST, JobRequest(cpus=4))
    real, began = time.time, time.monotonic()
    monkeypatch.setattr(time, "time", lambda: real() + 1e9 * (time.monotonic() - began))
    assert isinstance(queue.take(book, HOST, JobRequest(cpus=1), me(), 0.2), Refused)
    assert time.monotonic() - began >= 0.2
