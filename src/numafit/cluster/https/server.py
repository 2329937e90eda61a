"""Connections that stay open, each request answered by one function: HTTP/1.1 on asyncio's streams, parsed by h11.

Whoever is slow, silent or speaks something else hinders nobody: each connection is a task of its own, with bounds for
time and size.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from ipaddress import ip_address

import h11
import msgspec

from numafit.errors import InputError

READ = 1 << 18
"""Bytes that are taken from a connection at once: the names of 5,000 nodes are one gulp."""
LARGEST = 1 << 27
"""Bytes of one request: 5,000 whole nodes have some fifty million."""
REQUEST_SECONDS = 30.0
"""For all of a request once it has begun, and for TLS before it."""
IDLE_SECONDS = 300.0
"""Longer than clients keep a connection (Go: 90): who closes it is not the one that is asked."""
ANSWERING_SECONDS = 5.0
"""What is under way when the server ends may take so long."""
ACCEPT_PAUSE = 0.1
"""Seconds before another try, where the system has no more files to give."""
MOST_CONNECTIONS = 512
WAITING = 128
TEXT, JSON = "text/plain; charset=utf-8", "application/json"


class ServerRequest(msgspec.Struct, frozen=True):
    method: str
    path: str
    """Without what is behind a question mark."""
    content: bytes
    peer: str = ""
    """The common name in the certificate that the client has shown."""


class ServerAnswer(msgspec.Struct, frozen=True):
    content: bytes
    status: int = HTTPStatus.OK
    kind: str = JSON


Answering = Callable[[ServerRequest], Awaitable[ServerAnswer]]


def text_answer(text: str, status: int = HTTPStatus.OK) -> ServerAnswer:
    return ServerAnswer(f"{text}\n".encode(), status, TEXT)


def is_loopback(address: str) -> bool:
    with suppress(ValueError):
        return ip_address(address).is_loopback
    return address == "localhost"


class HttpServer:
    """`listen`, then `run` until it is cancelled. An exception of `answering` is answered by 500 and told to
    `failed`."""

    def __init__(
        self,
        answering: Answering,
        tls: Callable[[], ssl.SSLContext] | None = None,
        failed: Callable[[Exception], None] = lambda _: None,
        *,
        largest: int = LARGEST,
        request_seconds: float = REQUEST_SECONDS,
    ) -> None:
        self._answering, self._tls, self._failed = answering, tls, failed
        self.largest, self.request_seconds = largest, request_seconds
        self._socket: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._exchanges: set[_Exchange] = set()

    def listen(self, address: str, port: int, option: str = "--port") -> int:
        """The port, where any would do (0). Raises InputError where it cannot be had; `option` is named then."""
        try:
            own = _listening(address, port)
        except OSError as error:
            cure = f"choose another with {option} or {option.replace('port', 'address')}"
            raise InputError(f"cannot listen on {address}:{port}: {error.strerror}", cure=cure) from None
        self._socket = own
        bound: int = own.getsockname()[1]
        return bound

    async def run(self) -> None:
        assert self._socket is not None, "listen() comes first"
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    connection, _ = await loop.sock_accept(self._socket)
                except OSError as error:
                    # Too many files are open, or the client is gone already: others will come.
                    self._failed(error)
                    await asyncio.sleep(ACCEPT_PAUSE)
                    continue
                if len(self._tasks) >= MOST_CONNECTIONS:
                    connection.close()
                    continue
                task = loop.create_task(self._serve(connection))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        finally:
            await self._end()

    async def _end(self) -> None:
        """Requests that are under way are answered; connections that lie idle are closed."""
        assert self._socket is not None
        self._socket.close()
        for exchange in self._exchanges:
            exchange.last()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=ANSWERING_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, connection: socket.socket) -> None:
        # An answer is one small packet, and somebody waits for it.
        with suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tls = self._tls() if self._tls else None
        reader = asyncio.StreamReader(READ)
        loop = asyncio.get_running_loop()
        try:
            transport, protocol = await loop.connect_accepted_socket(
                lambda: asyncio.StreamReaderProtocol(reader),
                connection,
                ssl=tls,
                ssl_handshake_timeout=self.request_seconds if tls else None,
            )
        except (OSError, TimeoutError):
            # No TLS, or nobody we trust.
            connection.close()
            return
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        exchange = _Exchange(reader, writer, self)
        self._exchanges.add(exchange)
        try:
            await exchange.run(lambda: self._tls is None or self._tls() is tls)
        except (OSError, TimeoutError, EOFError):
            pass
        finally:
            self._exchanges.discard(exchange)
            writer.close()
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), ANSWERING_SECONDS)

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


class _Exchange:
    """One connection: one request after the other."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: HttpServer) -> None:
        self._reader, self._writer, self._server = reader, writer, server
        self._http = h11.Connection(h11.SERVER)
        self._peer = _common_name(writer)
        self._idle = False
        self._is_last = False

    def last(self) -> None:
        """After the request that is under way it is closed."""
        self._is_last = True
        if self._idle:
            self._reader.feed_eof()

    async def run(self, may_stay: Callable[[], bool]) -> None:
        while not self._is_last:
            try:
                request = await self._request()
            except h11.RemoteProtocolError as error:
                await self._send(text_answer(str(error), error.error_status_hint), stays=False)
                return
            except _Refused as refused:
                await self._send(refused.answer, stays=False)
                return
            if request is None:
                return
            answer = await self._server.answer(request)
            # Who was let in by an older certificate shows another one.
            stays = not self._is_last and may_stay()
            await self._send(answer, stays=stays, head=request.method == "HEAD")
            if not stays or self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _request(self) -> ServerRequest | None:
        """None where the client is done."""
        self._idle = not self._http.trailing_data[0]
        async with asyncio.timeout(IDLE_SECONDS) as limit:
            head = await self._next(limit)
            if not isinstance(head, h11.Request):
                return None
            if self._http.they_are_waiting_for_100_continue:
                self._writer.write(self._http.send(h11.InformationalResponse(status_code=100, headers=[])) or b"")
            parts, size = [], 0
            while isinstance(event := await self._next(limit), h11.Data):
                parts.append(bytes(event.data))
                size += len(event.data)
                if size > self._server.largest:
                    largest = f"more than {self._server.largest} bytes"
                    raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, largest)
            if not isinstance(event, h11.EndOfMessage):
                return None
        target = head.target.decode("latin-1").partition("?")[0]
        return ServerRequest(head.method.decode("latin-1"), target, b"".join(parts), self._peer)

    async def _next(self, limit: asyncio.Timeout) -> object:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            data = await self._reader.read(READ)
            if self._idle and data:
                self._idle = False
                limit.reschedule(asyncio.get_running_loop().time() + self._server.request_seconds)
            self._http.receive_data(data)

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
        self._writer.write(data)
        async with asyncio.timeout(self._server.request_seconds):
            await self._writer.drain()


def _listening(address: str, port: int) -> socket.socket:
    family, _, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    own = socket.socket(family, socket.SOCK_STREAM)
    try:
        own.setblocking(False)
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        own.bind(place)
        own.listen(WAITING)
    except OSError:
        own.close()
        raise
    return own


def _common_name(writer: asyncio.StreamWriter) -> str:
    told = writer.get_extra_info("peercert") or {}
    names = dict(pair for part in told.get("subject", ()) for pair in part)
    return str(names.get("commonName", ""))
