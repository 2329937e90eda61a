"""Who is told why it waits, and when."""

import pytest

from numafit.cluster.place.waiting import notices
from numafit.cluster.place.waiting.notices import NoticeBook
from tests.cluster.place.clusters import waiting


@pytest.fixture(autouse=True)
def seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "QUIET_SECONDS", 2.0)
    monkeypatch.setattr(notices, "AGAIN_SECONDS", 30.0)


def due(book: NoticeBook, now: float, *uids: str) -> list[str]:
    return [uid for uid, _ in book.due(((uid, None) for uid in uids), now)]


def test_a_pod_that_waits_for_a_moment_only_is_told_nothing() -> None:
    book = NoticeBook()
    book.waits(waiting("p"), 0.0)
    assert due(book, 1.0, "p", "unknown") == []
    assert due(book, 2.0, "p") == ["p"]
    assert not book.gone("p")


def test_the_same_is_not_told_again_and_news_half_a_minute_later() -> None:
    book = NoticeBook()
    book.waits(waiting("p"), 0.0)
    book.tell("p", "full", 2.0)
    assert due(book, 31.0, "p") == []
    assert due(book, 32.0, "p") == ["p"]
    assert not book.is_news("p", "full", 32.0)
    assert due(book, 61.0, "p") == []
    assert book.is_news("p", "other", 62.0)
    assert book.gone("p")


def test_what_an_earlier_leader_told_is_known_from_the_pod() -> None:
    condition = {"type": "numafit.io/Placed", "status": "False", "reason": "Waiting", "message": "full"}
    book = NoticeBook()
    book.waits(waiting("p", conditions=(condition,)), 0.0)
    assert due(book, 2.0, "p") == ["p"]
    assert not book.is_news("p", "full", 2.0)


def test_whoever_was_told_nothing_for_longest_comes_first() -> None:
    book = NoticeBook()
    for number, uid in enumerate("abc"):
        book.waits(waiting(uid), float(number))
    book.tell("a", "full", 5.0)
    book.tell("b", "full", 4.0)
    assert due(book, 60.0, "a", "b", "c") == ["c", "b", "a"]
    assert book.waited("c", 60.0) == 58.0
    assert book.waited("unknown", 60.0) == 0.0
