"""Events for all who listen."""

import asyncio

import pytest

from numafit.service import broadcast
from numafit.service.broadcast import MOST_QUEUED, REMEMBERED, Broadcast, event_bytes


def test_an_event_reads_as_the_standard_says() -> None:
    """An id, a name, one line of data, an empty line."""
    assert event_bytes("ledger", b"{}", "a-3") == b"id: a-3\nevent: ledger\ndata: {}\n\n"
    assert event_bytes("decision", b"{}") == b"event: decision\ndata: {}\n\n"


def test_everybody_hears_everything_in_order() -> None:
    """From the moment they listen."""

    async def run() -> list[list[bytes | None]]:
        station = Broadcast("a")
        listeners = [station.listen(lambda: None) for _ in range(3)]
        for number in range(5):
            station.send("ledger", b"%d" % number, number)
        station.close()
        return [[one.queue.get_nowait() for _ in range(6)] for one in listeners if one]

    heard = asyncio.run(run())
    assert heard == [[event_bytes("ledger", b"%d" % number, f"a-{number}") for number in range(5)] + [None]] * 3


def test_whoever_does_not_keep_up_is_let_go() -> None:
    """Others do not notice."""

    async def run() -> tuple[list[str], int, int]:
        station = Broadcast()
        gone: list[str] = []
        slow = station.listen(lambda: gone.append("slow"))
        quick = station.listen(lambda: gone.append("quick"))
        assert slow
        assert quick
        for number in range(MOST_QUEUED + 1):
            station.send("ledger", b"{}", number)
            quick.queue.get_nowait()
        return gone, station.dropped, len(station.listeners)

    assert asyncio.run(run()) == (["slow"], 1, 1)


def test_what_was_missed_is_sent_again_while_it_is_remembered() -> None:
    """Older or unknown numbers get the whole ledger instead, and those of an agent that ran before this one."""
    station = Broadcast("a")
    for number in range(1, REMEMBERED + 11):
        station.send("ledger", b"%d" % number, number)
    newest = REMEMBERED + 10
    assert station.since(f"a-{newest}") == []
    assert station.since(f"a-{newest - 1}") == [event_bytes("ledger", b"%d" % newest, f"a-{newest}")]
    for unknown in ("a-5", f"a-{newest + 1}", f"b-{newest}", str(newest), "a-", "a--1", "a-²", "a-" + "9" * 30, ""):
        assert station.since(unknown) is None
    assert Broadcast().life != Broadcast().life


def test_there_is_an_end_to_listeners(monkeypatch: pytest.MonkeyPatch) -> None:
    """And none is taken while the agent ends."""
    monkeypatch.setattr(broadcast, "MOST_LISTENERS", 1)
    station = Broadcast()
    first = station.listen(lambda: None)
    assert first
    assert station.listen(lambda: None) is None
    station.leave(first)
    assert station.listen(lambda: None)
    station.close()
    assert station.listen(lambda: None) is None
