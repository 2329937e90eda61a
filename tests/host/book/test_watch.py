"""One process watches for all that wait."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from numafit.host.book import serve
from numafit.host.book.bell import try_watch
from numafit.host.book.book import Book
from numafit.host.book.watch import Watcher
from numafit.host.grant import QueuePlace
from numafit.host.host import Host
from numafit.host.request import JobRequest
from tests.host.ledgers import me, small_host

HOST = small_host(4)


@pytest.mark.parametrize(("further", "left"), [(0, ["2", "3", "4"]), (1, ["4"]), (9, ["4"])])
def test_those_behind_start_before_the_watch_is_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, further: int, left: list[str]
) -> None:
    """Two start by each look, four in all; the watch is for the sake of the first one."""
    monkeypatch.setattr(serve.serve, "__defaults__", (b"", 2))
    with Book.open(tmp_path) as book:
        tickets = [book.enqueue(HOST, JobRequest(cpus=1, name=str(number)), me()) for number in range(5)]
        lock = try_watch(tmp_path)
        assert lock is not None
        watcher = Watcher(book, tmp_path, lock, lambda: HOST)
        watcher.until_left(tickets[0], further)
        watcher.close()
        assert [place.request.name for place in book.waiting()] == left


def test_one_look_around_is_enough_for_all_who_start_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two start by each look at the queue; a look at the machine may take longer than to let them start."""
    monkeypatch.setattr(serve.serve, "__defaults__", (b"", 2))
    asked = []

    def host_now(queue: Sequence[QueuePlace]) -> Host:
        asked.append(len(queue))
        return HOST

    with Book.open(tmp_path) as book:
        tickets = [book.enqueue(HOST, JobRequest(cpus=1), me()) for _ in range(4)]
        lock = try_watch(tmp_path)
        assert lock is not None
        watcher = Watcher(book, tmp_path, lock, lambda: HOST, host_now)
        watcher.until_left(tickets[-1])
        watcher.close()
        assert (asked, book.waiting()) == ([4], [])
