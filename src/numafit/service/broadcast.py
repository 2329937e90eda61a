"""Events for all who listen: each is encoded once, and whoever cannot keep up is let go."""

import asyncio
import secrets
from collections import deque
from collections.abc import Callable

import msgspec

MOST_QUEUED = 64
"""Events that a listener may lag behind."""
MOST_LISTENERS = 2000
REMEMBERED = 200
"""Events kept for those who come back with `Last-Event-ID`."""

HEARTBEAT = b"event: alive\ndata: {}\n\n"
"""An event, not a comment: a page hears only those, and knows by them that its picture is live."""


class Remembered(msgspec.Struct, frozen=True):
    number: int
    data: bytes


def event_bytes(name: str, data: bytes, event_id: str = "") -> bytes:
    """One event of a stream; `data` is JSON of one line."""
    head = b"id: %s\n" % event_id.encode() if event_id else b""
    return b"%sevent: %s\ndata: %s\n\n" % (head, name.encode(), data)


class Listener:
    """`let_go` ends its connection at once; it is called when its queue is full."""

    def __init__(self, let_go: Callable[[], None]) -> None:
        self.queue: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_QUEUED)
        self.let_go = let_go


class Broadcast:
    """`life` is the same while this agent runs: numbers start again with the next one, and must not be mixed up."""

    def __init__(self, life: str = "") -> None:
        self.life = life or secrets.token_hex(4)
        self.listeners: set[Listener] = set()
        self.remembered: deque[Remembered] = deque(maxlen=REMEMBERED)
        self.closed = False
        self.dropped = 0

    def listen(self, let_go: Callable[[], None]) -> Listener | None:
        """None when there are too many, or the agent is about to end."""
        if self.closed or len(self.listeners) >= MOST_LISTENERS:
            return None
        listener = Listener(let_go)
        self.listeners.add(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        self.listeners.discard(listener)

    def send(self, name: str, data: bytes, number: int, *, with_id: bool = True) -> None:
        event = event_bytes(name, data, self.event_id(number) if with_id else "")
        self.remembered.append(Remembered(number, event))
        for listener in tuple(self.listeners):
            self._put(listener, event)

    def event_id(self, number: int) -> str:
        return f"{self.life}-{number}"

    def since(self, event_id: str) -> list[bytes] | None:
        """What a listener that has seen this event missed; None when that is not known, or no longer."""
        life, _, text = event_id.partition("-")
        if life != self.life or not (text.isascii() and text.isdecimal() and len(text) < 19):
            return None
        number = int(text)
        if not self.remembered or number < self.remembered[0].number or number > self.remembered[-1].number:
            return None
        return [event.data for event in self.remembered if event.number > number]

    def close(self) -> None:
        """Every stream ends."""
        self.closed = True
        for listener in tuple(self.listeners):
            self._put(listener, None)

    def _put(self, listener: Listener, event: bytes | None) -> None:
        try:
            listener.queue.put_nowait(event)
        except asyncio.QueueFull:
            self.leave(listener)
            self.dropped += 1
            listener.let_go()
