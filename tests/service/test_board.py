"""What is shown now, and who is told when that changes."""

import asyncio

import msgspec

from numafit.service.api.stream import EventStream
from numafit.service.board import Board
from numafit.service.broadcast import event_bytes
from numafit.service.sources.demo import Demo


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
