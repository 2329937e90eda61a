"""Connections to an API server that stay open: HTTP/1.1 on asyncio's streams, parsed by h11.

A node's heartbeat is one small request every ten seconds, and a thousand nodes send a hundred of them each second: a
general client takes ten times the processor time for it.
"""

import asyncio
import base64
import ssl
import urllib.request
from collections.abc import AsyncIterator
from urllib.parse import SplitResult, urlsplit

import h11

from numafit.cluster.kube.chunks import ChunkReader

READ = 1 << 16
"""Bytes that are taken from a connection at once."""

Headers = list[tuple[str, str]]


class ProxyRefused(OSError):
    """The proxy between us and the API server did not let us through."""


class Connection:
    """One request after the other. Raises OSError, TimeoutError and h11.ProtocolError; it is of no use after that."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT)
        self._is_chunked = False
        self.used = False

    @property
    def is_open(self) -> bool:
        """Nobody has closed it while it lay idle."""
        return not self._reader.at_eof() and self._http.our_state is h11.IDLE and not self._writer.is_closing()

    async def send(self, method: str, target: str, headers: Headers, content: bytes) -> h11.Response:
        """The head of the answer; its content comes by `parts`."""
        send = self._http.send
        data = send(h11.Request(method=method, target=target, headers=headers)) or b""
        if content:
            data += send(h11.Data(data=content)) or b""
        data += send(h11.EndOfMessage()) or b""
        self._writer.write(data)
        if len(data) > READ:
            await self._writer.drain()
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                self._is_chunked = (b"transfer-encoding", b"chunked") in event.headers
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise ConnectionResetError("the connection was closed before an answer came")

    async def parts(self) -> AsyncIterator[bytes]:
        while True:
            event = await self._next()
            if isinstance(event, h11.Data):
                yield event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                raise ConnectionResetError("the connection was closed in the middle of an answer")
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self.used = True
        else:
            self.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        """As `parts`, for an answer in chunks that goes on and on, as it comes: a watch. The connection is of no use
        for anything else after it."""
        if not self._is_chunked:
            async for part in self.parts():
                yield part
            return
        chunks = ChunkReader()
        # What came with the head is known to the parser.
        yield chunks.take(self._http.trailing_data[0])
        while not chunks.ended:
            data = await self._reader.read(READ)
            if not data:
                raise ConnectionResetError("the connection was closed in the middle of an answer")
            yield chunks.take(data)

    async def rest(self, seconds: float) -> None:
        """For so long nothing is taken from it: what comes meanwhile is taken at once after that."""
        transport = self._writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.pause_reading()
        await asyncio.sleep(seconds)
        transport.resume_reading()

    async def _next(self) -> object:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            self._http.receive_data(await self._reader.read(READ))

    def close(self) -> None:
        self._writer.close()


async def connected(server: SplitResult, tls: ssl.SSLContext, server_name: str | None, proxy: str) -> Connection:
    """`proxy`: its address, empty where there is none in between. Raises OSError."""
    host, secure = server.hostname or "", server.scheme == "https"
    port = server.port or (443 if secure else 80)
    name = (server_name or host) if secure else None
    if not proxy:
        reader, writer = await asyncio.open_connection(
            host, port, ssl=tls if secure else None, server_hostname=name, limit=READ * 4
        )
        return Connection(reader, writer)
    between = urlsplit(proxy)
    reader, writer = await asyncio.open_connection(between.hostname or "", between.port or 80, limit=READ * 4)
    try:
        await _through(reader, writer, between, f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        if secure:
            await writer.start_tls(tls, server_hostname=name)
    except BaseException:
        writer.close()
        raise
    return Connection(reader, writer)


async def _through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, proxy: SplitResult, target: str) -> None:
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.username:
        both = base64.b64encode(f"{proxy.username}:{proxy.password or ''}".encode()).decode()
        lines.append(f"Proxy-Authorization: Basic {both}")
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise ProxyRefused("it closed the connection") from None
    status = head.split(b"\r\n", 1)[0].decode("latin-1")
    if status.split(" ")[1:2] != ["200"]:
        raise ProxyRefused(status)


def proxy_for(server: SplitResult, named: str | None) -> str:
    """As kubectl: the one that the kubeconfig names, else the one of the environment; empty for none."""
    if named:
        return named
    if urllib.request.proxy_bypass(server.hostname or ""):
        return ""
    return urllib.request.getproxies().get(server.scheme, "")
