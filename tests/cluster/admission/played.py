"""A server of ours on loopback, and clients that ask it."""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import h11
from msgspec.structs import replace

from numafit.cluster.admission.certificate import ServerCertificate, made_certificate
from numafit.cluster.admission.webhook import LIMITS
from numafit.cluster.https.certificates import tls_from_memory
from numafit.cluster.https.messages import Answering, ServerAnswer, ServerCounts, ServerLimits, ServerRequest
from numafit.cluster.https.server import HttpServer


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 60))


class Client:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.http = h11.Connection(h11.CLIENT)

    async def ask(self, content: bytes, path: str = "/pods", method: str = "POST") -> tuple[int, bytes]:
        """Status and content of the answer; ConnectionError where none comes."""
        if self.http.our_state is h11.DONE:
            self.http.start_next_cycle()
        headers = [("Host", "x"), ("Content-Length", str(len(content)))]
        data = self.http.send(h11.Request(method=method, target=path, headers=headers)) or b""
        data += self.http.send(h11.Data(data=content)) or b""
        self.writer.write(data + (self.http.send(h11.EndOfMessage()) or b""))
        status, found = 0, b""
        while True:
            try:
                event = self.http.next_event()
            except h11.RemoteProtocolError:
                raise ConnectionResetError("no answer") from None
            if event is h11.NEED_DATA:
                self.http.receive_data(await self.reader.read(65536))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                found += event.data
            elif isinstance(event, h11.EndOfMessage):
                return status, found
            else:
                raise ConnectionResetError("no answer")

    async def close(self) -> None:
        self.writer.close()
        await asyncio.gather(self.writer.wait_closed(), return_exceptions=True)


async def connected(port: int, authority: bytes, name: str = "127.0.0.1") -> Client:
    context = ssl.create_default_context(cadata=authority.decode())
    return Client(*await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name))


class Played:
    def __init__(self, own: HttpServer, port: int, certificate: ServerCertificate, counts: ServerCounts) -> None:
        self.server, self.port, self.certificate, self.counts = own, port, certificate, counts
        self.task: asyncio.Task[None]

    async def client(self) -> Client:
        return await connected(self.port, self.certificate.authority)


async def echoed(request: ServerRequest) -> ServerAnswer:
    return ServerAnswer(json.dumps([request.path, len(request.content)]).encode())


QUICK = replace(LIMITS, drain_seconds=0.0)


@asynccontextmanager
async def played(answering: Answering = echoed, limits: ServerLimits = QUICK) -> AsyncIterator[Played]:
    certificate = made_certificate(["127.0.0.1"], time.time())
    context = tls_from_memory(certificate.certificate, certificate.key)
    server = HttpServer(answering, lambda: context, limits=limits)
    own = Played(server, server.bind("127.0.0.1", 0), certificate, server.counts)
    own.task = asyncio.create_task(server.run())
    await asyncio.sleep(0)
    try:
        yield own
    finally:
        own.task.cancel()
        await asyncio.gather(own.task, return_exceptions=True)


def shaken(own: ServerCertificate, name: str) -> bool:
    """Client and server, without a network."""
    context = tls_from_memory(own.certificate, own.key)
    trust = ssl.create_default_context(cadata=own.authority.decode())
    trust.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trust.wrap_bio(to_client, to_server, server_hostname=name)
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(4):
        done = True
        for side in (client, server):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                done = False
        if done:
            return client.version() == "TLSv1.3"
    return False
