"""The stream of server-sent events: what is shown now, then every change, for as long as somebody listens."""

import asyncio
from typing import Any, Protocol

import msgspec

from numafit.service.api.peer import abort
from numafit.service.broadcast import HEARTBEAT, Broadcast, Listener, event_bytes
from numafit.service.problem import refused
from numafit.show.records.agent import Hello

HEARTBEAT_SECONDS = 4.0
"""A page that hears nothing for ten seconds calls itself not live."""
RETRY = b"retry: 2000\n\n"


class ShownBoard(Protocol):
    """What is told of: one node, or all of a cluster."""

    broadcast: Broadcast
    problem: str

    @property
    def revision(self) -> int: ...

    def first(self) -> list[bytes]:
        """Events for who has seen nothing of it, or too long ago."""
        ...


class EventStream:
    """An ASGI application."""

    def __init__(self, board: ShownBoard) -> None:
        self.board = board

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        broadcast = self.board.broadcast
        listener = broadcast.listen(lambda: abort(scope))
        if listener is None:
            raise refused(503, "too many listen already", cure="come again later", headers={"Retry-After": "5"})
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body", "body": b""})
                return
            await _send(send, RETRY + b"".join(self._first(scope)))
            await _forward(listener, gone, send)
            if not gone.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            broadcast.leave(listener)
            gone.cancel()

    def _first(self, scope: Any) -> list[bytes]:
        """What was missed since `Last-Event-ID`; the whole where that is not known."""
        board = self.board
        hello = event_bytes("hello", msgspec.json.encode(Hello(board.revision, board.problem)))
        last = dict(scope["headers"]).get(b"last-event-id", b"")
        missed = board.broadcast.since(last.decode("latin-1"))
        if missed is None:
            missed = board.first()
        return [hello, *missed]


async def _forward(listener: Listener, gone: "asyncio.Future[None]", send: Any) -> None:
    """Ends when the listener has gone, or is told that there is no more."""
    waiting: asyncio.Future[bytes | None] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(listener.queue.get())
            await asyncio.wait((waiting, gone), timeout=HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                return
            if not waiting.done():
                await _send(send, HEARTBEAT)
                continue
            event = waiting.result()
            waiting = None
            if event is None:
                return
            await _send(send, event)
    finally:
        if waiting is not None:
            waiting.cancel()


async def _send(send: Any, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _disconnected(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
