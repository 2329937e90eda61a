"""What is shown now, and who is told when that changes."""

import asyncio

import msgspec

from numafit.notes import GUESS_MATTERS
from numafit.service.api.stream import EventStream
from numafit.service.board import Board
from numafit.service.broadcast import event_bytes
from numafit.service.sources.demo import Demo


def test_a_decision_is_kept_with_its_notes_and_marked_where_a_guess_matters() -> None:
    demo = Demo("gpu8-128cpu")
    board = Board(demo.place)
    happened = []
    for change in [change for _ in range(20) for change in demo.events()]:
        board.apply(change)
        happened.append(change.happened)
    kept = list(board.history.entries.values())
    assert [entry.notes for entry in kept] == [one.notes for one in happened if one]
    guesses = [any(note.code in GUESS_MATTERS for note in entry.notes) for entry in kept]
    assert [entry.summary.guess for entry in kept] == guesses
    assert set(guesses) == {True, False}


def test_a_decision_says_how_its_pod_came_to_lie() -> None:
    """As the holder does at that moment; who was refused or has gone does not lie at all."""
    demo = Demo("gpu8-128cpu")
    board = Board(demo.place)
    verdicts = set()
    for change in [change for _ in range(60) for change in demo.events()]:
        board.apply(change)
        if change.happened is None:
            continue
        summary = next(reversed(board.history.entries.values())).summary
        holders = msgspec.json.decode(bytes(board.ledger))["holders"]
        found = next((one["alignment"] for one in holders if one["id"] == change.happened.uid), None)
        taken = summary.admitted and summary.kind == "pod"
        assert msgspec.json.decode(msgspec.json.encode(summary.alignment)) == (found if taken else None)
        verdicts.add(summary.alignment.verdict if summary.alignment else None)
    assert {None, "aligned", "shared"} <= verdicts


def test_a_doubt_is_told_once_and_taken_back() -> None:
    """Whoever listens hears that the node cannot be read, and that it can again; latecomers read it in `hello`."""

    async def run() -> tuple[list[bytes | None], bytes]:
        board = Board(Demo().place)
        listener = board.broadcast.listen(lambda: None)
        assert listener is not None
        board.doubt("it cannot be read")
        board.doubt("it cannot be read")
        hello = EventStream(board)._first({"headers": []})[0]
        board.doubt("")
        return [listener.queue.get_nowait() for _ in range(listener.queue.qsize())], hello

    heard, hello = asyncio.run(run())
    problems = [msgspec.json.encode({"problem": text}) for text in ("it cannot be read", "")]
    assert heard == [event_bytes("problem", text) for text in problems]
    assert hello == event_bytes("hello", b'{"revision":0,"problem":"it cannot be read"}')
