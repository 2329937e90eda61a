"""Connections that stay open, each request answered by one function: HTTP/1.1 on asyncio's streams, parsed by h11.
Requests of the plainest form, which are nearly all, take a shorter way.

Whoever is slow, silent or speaks something else hinders nobody. Each connection is a task of its own, with bounds for
time and size. One is accepted at a time and everything else comes in between, so that a flood of them slows nobody who
is there already. When there are too many, one goes that lies idle: first those that have asked nothing yet, else the
one that is idle longest.
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

from numafit.cluster.https.messages import (
    Answering,
    AtOnce,
    ServerAnswer,
    ServerCounts,
    ServerLimits,
    ServerRequest,
    text_answer,
)
from numafit.cluster.https.short import Receiver, whole_answer, whole_request
from numafit.errors import InputError

READ = 1 << 18
"""Bytes that are taken from a connection at once: the names of 5,000 nodes are one gulp."""
LARGEST_HEAD = 1 << 16
"""Bytes of a request before its content."""
IDLE_SECONDS = 300.0
"""Longer than clients keep a connection (Go: 90): who closes it is not the one that is asked."""
ANSWERING_SECONDS = 5.0
"""What is under way when the server ends may take so long."""
CLOSE_SECONDS = 1.0
"""For the other side to say good-bye, too."""
ACCEPT_PAUSE = 0.1
"""Seconds before another try, where the system has no more files to give."""
BACKLOG = 512


class HttpServer:
    """`bind`, then `run` until it is cancelled. An exception of `answering` is answered by 500 and told to
    `failed`. `tls` gives what is shown to who comes next; who was shown something else is closed after an answer.
    `at_once` is asked first about requests of the plainest form, while they are received."""

    def __init__(
        self,
        answering: Answering,
        tls: Callable[[], ssl.SSLContext] | None = None,
        failed: Callable[[Exception], None] = lambda _: None,
        *,
        at_once: AtOnce | None = None,
        limits: ServerLimits | None = None,
        counts: ServerCounts | None = None,
    ) -> None:
        self._answering, self._tls, self._failed, self._at_once = answering, tls, failed, at_once
        self.limits, self.counts = limits or ServerLimits(), counts or ServerCounts()
        self.held = 0
        """Bytes of requests that are not there as a whole yet."""
        self.ending = False
        """From then on each answer ends its connection."""
        self._socket: socket.socket | None = None
        self._options = ""
        self._connections: dict[_Connection, asyncio.Task[None]] = {}

    def bind(self, address: str, port: int, option: str = "--port") -> int:
        """The port, where any would do (0). Nobody listens before `run`: who connects is refused, and does not wait.
        Raises InputError where it cannot be had; `option` is named then."""
        self._options = f"{option} or {option.replace('port', 'address')}"
        try:
            self._socket = _bound(address, port)
        except (OSError, OverflowError) as error:
            raise self._taken(f"{address}:{port}", error) from None
        bound: int = self._socket.getsockname()[1]
        return bound

    def close(self) -> None:
        """Of one that does not run."""
        if self._socket is not None:
            self._socket.close()

    async def run(self) -> None:
        """Raises InputError where another has come before us since `bind`."""
        own = self._socket
        assert own is not None, "bind() comes first"
        try:
            own.listen(BACKLOG)
        except OSError as error:
            address, port, *_ = own.getsockname()
            own.close()
            raise self._taken(f"{address}:{port}", error) from None
        accepting = asyncio.create_task(self._accept(own))
        try:
            await asyncio.shield(accepting)
        finally:
            self.ending = True
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(self.limits.drain_seconds)
            accepting.cancel()
            await asyncio.gather(accepting, return_exceptions=True)
            own.close()
            await self._end()

    def _taken(self, place: str, error: Exception) -> InputError:
        why = getattr(error, "strerror", None) or str(error)
        return InputError(f"cannot listen: {why}", source=place, cure=f"choose another with {self._options}")

    async def _end(self) -> None:
        """Requests that are under way are answered; connections that lie idle are closed."""
        for connection, task in self._connections.items():
            if connection.idle:
                task.cancel()
        tasks = list(self._connections.values())
        if tasks:
            await asyncio.wait(tasks, timeout=ANSWERING_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Connections are gone only after the loop's next turn.
        await asyncio.sleep(0)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                # Too many files are open, or the client is gone already: others will come.
                self.counts.broken += 1
                self._failed(error)
                await asyncio.sleep(ACCEPT_PAUSE)
                continue
            self._make_room()
            connection = _Connection(self)
            task = loop.create_task(self._serve(connection, accepted))
            self._connections[connection] = task
            self.counts.connections = len(self._connections)
            task.add_done_callback(partial(self._closed, connection))
            await asyncio.sleep(0)

    def _closed(self, connection: "_Connection", _: "asyncio.Task[None]") -> None:
        self._connections.pop(connection, None)
        self.counts.connections = len(self._connections)

    def _make_room(self) -> None:
        """Where nobody is idle, one goes that is in the middle of its first request: those are cheap to begin."""
        if len(self._connections) < self.limits.connections:
            return
        gone = min(self._connections, key=lambda own: (not own.idle, own.asked > 0, own.since))
        self._connections.pop(gone).cancel()
        self.counts.refused += 1

    async def _serve(self, connection: "_Connection", accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(READ)
        writer: asyncio.StreamWriter | None = None
        tls = self._tls() if self._tls else None
        try:
            # An answer is one small packet, and somebody waits for it.
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport, protocol = await loop.connect_accepted_socket(
                lambda: Receiver(reader, connection.take),
                accepted,
                ssl=tls,
                ssl_handshake_timeout=self.limits.handshake_seconds if tls else None,
                ssl_shutdown_timeout=CLOSE_SECONDS if tls else None,
            )
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            await connection.run(reader, writer, lambda: self._tls is None or self._tls() is tls)
            writer.close()
            async with asyncio.timeout(CLOSE_SECONDS):
                await writer.wait_closed()
        except (OSError, TimeoutError, EOFError, h11.ProtocolError):
            # No TLS, nobody we trust, no HTTP, or gone in the middle.
            self.counts.broken += 1
        finally:
            if writer is None:
                accepted.close()
            else:
                writer.transport.abort()

    def answered_at_once(self, request: ServerRequest, write: Callable[[ServerAnswer], None]) -> bool:
        """Whether somebody could; `write` has been called then."""
        if self._at_once is None or self.ending:
            return False
        try:
            found = self._at_once(request)
            if found is None:
                return False
            write(found.answer)
        except Exception as error:
            self._failed(error)
            write(text_answer("an error inside", HTTPStatus.INTERNAL_SERVER_ERROR))
            return True
        try:
            found.afterwards()
        except Exception as error:
            self._failed(error)
        return True

    async def answer(self, request: ServerRequest) -> ServerAnswer:
        try:
            return await self._answering(request)
        except Exception as error:
            # Whatever it is, the others are served.
            self._failed(error)
            return text_answer("an error inside", HTTPStatus.INTERNAL_SERVER_ERROR)


class _Refused(Exception):
    def __init__(self, status: int, text: str) -> None:
        self.answer = text_answer(text, status)


class _Connection:
    """One request after the other."""

    def __init__(self, server: HttpServer) -> None:
        self._server = server
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD)
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter
        self._peer = ""
        self._short = False
        """Of the request that is answered now the parser knows nothing."""
        self._may_stay: Callable[[], bool] | None = None
        """None before it runs."""
        self._unread = 0
        """Bytes that came and were not read yet."""
        self.asked = 0
        self.idle = True
        self.since = time.monotonic()
        """When it became idle."""

    async def run(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, may_stay: Callable[[], bool]
    ) -> None:
        """Raises EOFError, TimeoutError or h11.ProtocolError where it ended in the middle of something."""
        self._reader, self._writer, self._peer = reader, writer, _common_name(writer)
        self._may_stay = may_stay
        while True:
            try:
                request = await self._request()
            except h11.RemoteProtocolError as error:
                await self._send(text_answer(str(error), error.error_status_hint), stays=False)
                raise
            except _Refused as refused:
                await self._send(refused.answer, stays=False)
                return
            if request is None:
                return
            answer = await self._server.answer(request)
            # Who was let in by an older certificate shows another one.
            stays = not self._server.ending and may_stay()
            self.asked += 1
            if self._short:
                await self._written(whole_answer(answer, stays=stays))
                if not stays:
                    return
                continue
            await self._send(answer, stays=stays, head=request.method == "HEAD")
            if not stays or self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    def take(self, data: bytes) -> bool:
        """Whether it was a whole request that was answered while it came, before anybody is woken. Never while
        something else is under way, or where more is to be said than an answer."""
        if not self._unread and self.idle and self._may_stay is not None and self._may_stay():
            found = whole_request(data) if len(data) <= self._server.limits.largest else None
            if found is not None and not self._writer.transport.get_write_buffer_size():
                request = ServerRequest("POST", found[0].partition("?")[0], found[1], self._peer)
                if self._server.answered_at_once(request, self._write):
                    self.asked += 1
                    self.since = time.monotonic()
                    return True
        self._unread += len(data)
        return False

    def _write(self, answer: ServerAnswer) -> None:
        self._writer.write(whole_answer(answer, stays=True))

    async def _request(self) -> ServerRequest | None:
        """None where the client is done."""
        while True:
            self.idle, self.since = not self._http.trailing_data[0], time.monotonic()
            since = self.since
            try:
                return await self._next_request()
            except TimeoutError:
                # Others were answered meanwhile, as they came.
                if self.since == since:
                    raise

    async def _next_request(self) -> ServerRequest | None:
        async with asyncio.timeout(IDLE_SECONDS if self.idle else self._server.limits.request_seconds) as limit:
            short = await self._whole(limit) if self.idle else None
            self._short = short is not None
            if short is not None:
                return ServerRequest("POST", short[0].partition("?")[0], short[1], self._peer)
            head = await self._next(limit)
            if not isinstance(head, h11.Request):
                return None
            if self._http.they_are_waiting_for_100_continue:
                self._writer.write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            content = await self._content(limit)
        target = head.target.decode("latin-1").partition("?")[0]
        return ServerRequest(head.method.decode("latin-1"), target, content, self._peer)

    async def _whole(self, limit: asyncio.Timeout) -> tuple[str, bytes] | None:
        """Target and content where both came at once; everything else is left to the parser."""
        data = await self._read(limit)
        found = whole_request(data) if len(data) <= self._server.limits.largest else None
        if found is None:
            self._http.receive_data(data)
        return found

    async def _content(self, limit: asyncio.Timeout) -> bytes:
        server, content = self._server, bytearray()
        try:
            while isinstance(event := await self._next(limit), h11.Data):
                content += event.data
                server.held += len(event.data)
                if len(content) > server.limits.largest:
                    raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {server.limits.largest} bytes")
                if server.held > server.limits.held:
                    raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too much comes at once")
        finally:
            server.held -= len(content)
        if not isinstance(event, h11.EndOfMessage):
            raise EOFError
        return bytes(content)

    async def _next(self, limit: asyncio.Timeout) -> object:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._http.receive_data(await self._read(limit))

    async def _read(self, limit: asyncio.Timeout) -> bytes:
        data = await self._reader.read(READ)
        self._unread -= len(data)
        if self.idle and data:
            self.idle = False
            limit.reschedule(asyncio.get_running_loop().time() + self._server.limits.request_seconds)
        return data

    async def _send(self, answer: ServerAnswer, *, stays: bool, head: bool = False) -> None:
        if self._http.our_state not in (h11.SEND_RESPONSE, h11.IDLE):
            return
        headers = [("Content-Type", answer.kind), ("Content-Length", str(len(answer.content)))]
        if not stays:
            headers.append(("Connection", "close"))
        send = self._http.send
        data = send(h11.Response(status_code=answer.status, headers=headers)) or b""
        if not head:
            data += send(h11.Data(data=answer.content)) or b""
        data += send(h11.EndOfMessage()) or b""
        await self._written(data)

    async def _written(self, data: bytes) -> None:
        self._writer.write(data)
        if self._writer.transport.get_write_buffer_size():
            async with asyncio.timeout(self._server.limits.request_seconds):
                await self._writer.drain()


def _bound(address: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, place = found[0]
    own = socket.socket(family, kind, protocol)
    try:
        own.setblocking(False)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind(place)
    except (OSError, OverflowError):
        own.close()
        raise
    return own


def _common_name(writer: asyncio.StreamWriter) -> str:
    told = writer.get_extra_info("peercert") or {}
    names = dict(pair for part in told.get("subject", ()) for pair in part)
    return str(names.get("commonName", ""))
