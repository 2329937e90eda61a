"""An HTTP server on loopback whose answers a test gives: also bad ones, slow ones and none."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import h11

from numafit.cluster.kube.access import Access, ClusterEntry, UserEntry
from numafit.cluster.kube.api import KubeApi

NOWHERE = Access("a test", ClusterEntry(server="http://nowhere.invalid"), UserEntry())
"""For those who play an API server without any connection."""


class Asked(NamedTuple):
    method: str
    target: str
    headers: dict[str, str]
    content: bytes


class Answer(NamedTuple):
    content: bytes = b"{}"
    status: int = 200
    seconds: float = 0.0
    """Before it begins."""
    close: bool = False
    """The connection is closed after it, without a word about that."""


class Stream(NamedTuple):
    parts: Sequence[bytes]
    stays: bool = True
    """It does not end by itself."""


class Hangup(NamedTuple):
    """The connection is closed instead of an answer."""


Script = Callable[[Asked], Answer | Stream | Hangup]


class ScriptedServer:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.connections = 0
        self.port = 0
        self.writers: list[asyncio.StreamWriter] = []

    def access(self, user: UserEntry | None = None, **cluster: Any) -> Access:
        entry = ClusterEntry(server=f"http://127.0.0.1:{self.port}", **cluster)
        return Access("a test", entry, user or UserEntry())

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        http = h11.Connection(h11.SERVER)
        try:
            while await self._one(http, reader, writer):
                http.start_next_cycle()
        except (OSError, h11.ProtocolError):
            pass
        finally:
            writer.close()

    async def _one(self, http: h11.Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request, content = None, b""
        while True:
            event = http.next_event()
            if event is h11.NEED_DATA:
                http.receive_data(await reader.read(65536))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                content += event.data
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return False
        assert request is not None
        headers = {name.decode(): value.decode() for name, value in request.headers}
        asked = Asked(request.method.decode(), request.target.decode(), headers, content)
        self.asked.append(asked)
        answer = self.script(asked)
        if isinstance(answer, Hangup):
            return False
        status = 200 if isinstance(answer, Stream) else answer.status
        if isinstance(answer, Answer):
            await asyncio.sleep(answer.seconds)
        writer.write(http.send(h11.Response(status_code=status, headers=[("Content-Type", "application/json")])) or b"")
        for part in answer.parts if isinstance(answer, Stream) else [answer.content]:
            writer.write(http.send(h11.Data(data=part)) or b"")
            await writer.drain()
            await asyncio.sleep(0)
        if isinstance(answer, Stream) and answer.stays:
            await reader.read()
        writer.write(http.send(h11.EndOfMessage()) or b"")
        await writer.drain()
        return not (isinstance(answer, Answer) and answer.close)


@asynccontextmanager
async def scripted(
    script: Script, user: UserEntry | None = None, **options: Any
) -> AsyncIterator[tuple[ScriptedServer, KubeApi]]:
    own = ScriptedServer(script)
    server = await asyncio.start_server(own.serve, "127.0.0.1", 0)
    own.port = server.sockets[0].getsockname()[1]
    try:
        async with KubeApi(own.access(user), **options) as api:
            yield own, api
    finally:
        server.close()
        for writer in own.writers:
            writer.close()


def refusal(status: int, message: str) -> Answer:
    body = {"kind": "Status", "status": "Failure", "message": message, "code": status}
    return Answer(json.dumps(body).encode(), status)


def told(kind: str, item: Any) -> bytes:
    """One line of a watch."""
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)
