"""Questions by HTTPS, one after the other on connections that stay open: HTTP/1.1 on asyncio's streams, parsed by h11.

One connection is accepted at a time and everything else comes in between, so that a flood of them slows nobody who
is there already. When there are too many, one goes that has asked nothing yet, else the one that is idle longest.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus

import h11
import msgspec

from numafit.cluster.admission.counts import AdmissionCounts
from numafit.errors import InputError

LARGEST = 3 << 20
"""Bytes of one question; the API server takes no larger object."""
MOST_HELD = 64 << 20
"""Bytes of all questions together that are not there as a whole yet."""
READ = 1 << 16
MOST_CONNECTIONS = 1000
BACKLOG = 512
HANDSHAKE_SECONDS, REQUEST_SECONDS = 3.0, 5.0
"""For a connection to be made; for a question that has begun to be there as a whole."""
CLOSE_SECONDS = 1.0
"""For the other side to say good-bye, too."""
IDLE_SECONDS = 300.0
"""More than API servers keep an idle connection: a question that meets our closing is lost."""
DRAIN_SECONDS = 3.0
"""For which a server that ends still answers: others learn only by and by that it is going."""
BUSY_SECONDS = 0.05
"""To wait where the system gives no connection."""


class HttpsReply(msgspec.Struct, frozen=True):
    status: int
    content: bytes
    kind: str = "application/json"


class _Open(msgspec.Struct, eq=False):
    """A connection."""

    since: float
    """When it became idle."""
    idle: bool = True
    asked: int = 0
    task: "asyncio.Task[None] | None" = None


class HttpsServer:
    """`reply` gets the path and the content of each POST, and must not raise."""

    def __init__(
        self, reply: Callable[[str, bytes], HttpsReply], context: ssl.SSLContext, counts: AdmissionCounts
    ) -> None:
        self._reply, self._context, self._counts = reply, context, counts
        self._open: dict[_Open, None] = {}
        self._held = 0
        self.ending = False

    async def run(self, listening: socket.socket) -> None:
        """Until it is cancelled; then it answers for some seconds more, and closes what is open."""
        listening.listen(BACKLOG)
        accepting = asyncio.create_task(self._accept(listening))
        try:
            await asyncio.shield(accepting)
        finally:
            # From now on each answer ends its connection.
            self.ending = True
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(DRAIN_SECONDS)
            accepting.cancel()
            listening.close()
            tasks = [own.task for own in self._open if own.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(accepting, *tasks, return_exceptions=True)
            # Connections are gone only after the loop's next turn.
            await asyncio.sleep(0)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:
                # No file is left, or the other side was gone already.
                self._counts.broken += 1
                await asyncio.sleep(BUSY_SECONDS)
                continue
            self._make_room()
            own = _Open(time.monotonic())
            self._open[own] = None
            own.task = asyncio.create_task(self._served(own, connection))
            own.task.add_done_callback(partial(self._closed, own))
            self._counts.connections = len(self._open)
            await asyncio.sleep(0)

    def _closed(self, own: _Open, _: "asyncio.Task[None]") -> None:
        self._open.pop(own, None)
        self._counts.connections = len(self._open)

    def _make_room(self) -> None:
        if len(self._open) < MOST_CONNECTIONS:
            return
        idle = [own for own in self._open if own.idle]
        if idle:
            gone = min(idle, key=lambda own: (own.asked > 0, own.since))
            self._open.pop(gone)
            if gone.task is not None:
                gone.task.cancel()
            self._counts.refused += 1

    async def _served(self, own: _Open, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(READ, loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        writer: asyncio.StreamWriter | None = None
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport, _ = await loop.connect_accepted_socket(
                lambda: protocol,
                connection,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
                ssl_shutdown_timeout=CLOSE_SECONDS,
            )
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            await self._conversation(own, reader, writer)
            writer.close()
            await writer.wait_closed()
        except (OSError, TimeoutError, h11.ProtocolError, EOFError):
            self._counts.broken += 1
        finally:
            if writer is None:
                connection.close()
            else:
                writer.transport.abort()

    async def _conversation(self, own: _Open, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        http = h11.Connection(h11.SERVER, max_incomplete_event_size=READ)
        while True:
            own.idle, own.since = True, time.monotonic()
            async with asyncio.timeout(IDLE_SECONDS):
                if not await _begun(http, reader):
                    return
            own.idle = False
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    answer = await self._answered(http, reader, writer)
                    writer.write(self._written(http, answer))
                    await writer.drain()
            except h11.RemoteProtocolError as error:
                if http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                    status = error.error_status_hint
                    writer.write(self._written(http, HttpsReply(status, b"this is no request\n", "text/plain")))
                raise
            own.asked += 1
            if http.our_state is not h11.DONE or http.their_state is not h11.DONE:
                return
            http.start_next_cycle()

    async def _answered(
        self, http: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> HttpsReply:
        request = await _next(http, reader)
        if not isinstance(request, h11.Request):
            raise EOFError
        if http.they_are_waiting_for_100_continue:
            writer.write(http.send(h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[])) or b"")
        content = await self._whole(http, reader)
        if content is None:
            return HttpsReply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"this is too large\n", "text/plain")
        if request.method != b"POST":
            return HttpsReply(HTTPStatus.METHOD_NOT_ALLOWED, b"questions come by POST\n", "text/plain")
        return self._reply(request.target.decode("ascii", "replace").partition("?")[0], content)

    async def _whole(self, http: h11.Connection, reader: asyncio.StreamReader) -> bytes | None:
        """None where it is too large, or all that come at once are."""
        content = bytearray()
        try:
            while True:
                event = await _next(http, reader)
                if isinstance(event, h11.EndOfMessage):
                    return bytes(content)
                if not isinstance(event, h11.Data):
                    raise EOFError
                content += event.data
                self._held += len(event.data)
                if len(content) > LARGEST or self._held > MOST_HELD:
                    return None
        finally:
            self._held -= len(content)

    def _written(self, http: h11.Connection, answer: HttpsReply) -> bytes:
        headers = [("Content-Type", answer.kind), ("Content-Length", str(len(answer.content)))]
        if self.ending or http.their_state is not h11.DONE:
            headers.append(("Connection", "close"))
        data = http.send(h11.Response(status_code=answer.status, headers=headers)) or b""
        data += http.send(h11.Data(data=answer.content)) or b""
        return data + (http.send(h11.EndOfMessage()) or b"")


async def _begun(http: h11.Connection, reader: asyncio.StreamReader) -> bool:
    """Whether something of the next question is there; not so where the connection was closed in between."""
    if http.trailing_data[0]:
        return True
    data = await reader.read(READ)
    if data:
        http.receive_data(data)
    return bool(data)


async def _next(http: h11.Connection, reader: asyncio.StreamReader) -> object:
    while True:
        event = http.next_event()
        if event is not h11.NEED_DATA:
            return event
        http.receive_data(await reader.read(READ))


def listening_socket(address: str, port: int) -> socket.socket:
    """Nobody listens yet: who connects is refused, and does not wait. Raises InputError where nobody can."""
    place = f"{address}:{port}"
    listening: socket.socket | None = None
    try:
        found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, own = found[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(own)
        listening.setblocking(False)
    except (OSError, OverflowError) as error:
        if listening is not None:
            listening.close()
        why = getattr(error, "strerror", None) or str(error)
        cure = "choose another with --address and --port"
        raise InputError(f"cannot listen: {why}", source=place, cure=cure) from None
    return listening
