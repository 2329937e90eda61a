"""A small server: what it does for clients of all manners."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from numafit.cluster.https.messages import (
    Answering,
    ServerAnswer,
    ServerLimits,
    ServerRequest,
    is_loopback,
    text_answer,
)
from numafit.cluster.https.server import HttpServer
from numafit.errors import InputError

HELLO = b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"


async def echo(request: ServerRequest) -> ServerAnswer:
    return ServerAnswer(f"{request.method} {request.path} ".encode() + request.content)


@asynccontextmanager
async def serving(
    answering: Answering = echo, tls: Callable[[], ssl.SSLContext] | None = None, **options: Any
) -> AsyncIterator[tuple[HttpServer, int]]:
    own = HttpServer(answering, tls, **options)
    port = own.bind("127.0.0.1", 0)
    task = asyncio.create_task(own.run())
    await asyncio.sleep(0)
    try:
        yield own, port
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def answer(self) -> tuple[int, bytes, bytes]:
        """Status, head and content of the next one."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        return int(head.split(b" ")[1]), head, await self.reader.readexactly(length)

    async def ask(self, data: bytes = HELLO) -> tuple[int, bytes]:
        self.writer.write(data)
        status, _, content = await self.answer()
        return status, content

    async def closed(self) -> bool:
        return await self.reader.read() == b""


@asynccontextmanager
async def client(port: int, **options: Any) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, **options)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def test_one_connection_serves_many_requests() -> None:
    async def test() -> None:
        async with serving() as (_, port), client(port) as own:
            for _ in range(3):
                assert await own.ask() == (200, b"POST /a hi")

    run(test())


def test_requests_that_come_together_are_answered_one_after_the_other() -> None:
    async def test() -> None:
        async with serving() as (_, port), client(port) as own:
            own.writer.write(HELLO * 3)
            for _ in range(3):
                assert (await own.answer())[2] == b"POST /a hi"

    run(test())


def test_a_client_that_waits_for_100_is_told_to_go_on() -> None:
    async def test() -> None:
        async with serving() as (_, port), client(port) as own:
            own.writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
            assert (await own.answer())[0] == 100
            assert await own.ask(b"hi") == (200, b"POST / hi")

    run(test())


def test_contents_of_some_megabytes_and_in_chunks_are_read() -> None:
    async def test() -> None:
        async with serving() as (_, port), client(port) as own:
            large = b"x" * 3_000_000
            head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(large)
            assert await own.ask(head + large) == (200, b"POST / " + large)
            chunks = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n"
            assert await own.ask(chunks) == (200, b"POST / hi!")

    run(test())


def test_a_content_that_is_too_large_is_refused_and_the_connection_closed() -> None:
    async def test() -> None:
        async with serving(limits=ServerLimits(largest=10)) as (_, port), client(port) as own:
            status, content = await own.ask(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n" + b"x" * 11)
            assert (status, content) == (413, b"more than 10 bytes\n")
            assert await own.closed()

    run(test())


@pytest.mark.parametrize(
    "rubbish", [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET\r\n\r\n", b"x" * 70_000 + b"\r\n\r\n"]
)
def test_what_is_no_http_is_refused_and_hinders_nobody(rubbish: bytes) -> None:
    async def test() -> None:
        async with serving() as (_, port), client(port) as own, client(port) as other:
            status, _ = await own.ask(rubbish)
            assert 400 <= status < 500
            assert await own.closed()
            assert await other.ask() == (200, b"POST /a hi")

    run(test())


def test_a_client_that_stops_in_the_middle_is_closed_and_others_are_served() -> None:
    async def test() -> None:
        async with (
            serving(limits=ServerLimits(request_seconds=0.2)) as (_, port),
            client(port) as own,
            client(port) as other,
        ):
            own.writer.write(HELLO[:-1])
            assert await other.ask() == (200, b"POST /a hi")
            assert await own.closed()
            # Silence between two requests is no slowness.
            assert await other.ask() == (200, b"POST /a hi")

    run(test())


def test_an_error_inside_is_told_as_500_and_the_connection_stays() -> None:
    async def broken(request: ServerRequest) -> ServerAnswer:
        if request.content == b"hi":
            raise ValueError("no")
        return text_answer("yes")

    errors: list[Exception] = []

    async def test() -> None:
        async with serving(broken, failed=errors.append) as (_, port), client(port) as own:
            assert await own.ask() == (500, b"an error inside\n")
            assert await own.ask(HELLO.replace(b"hi", b"ho")) == (200, b"yes\n")

    run(test())
    assert [str(own) for own in errors] == ["no"]


def test_a_server_that_ends_answers_what_is_under_way() -> None:
    release = asyncio.Event()

    async def slow(request: ServerRequest) -> ServerAnswer:
        await release.wait()
        return text_answer("done")

    async def test() -> None:
        own = HttpServer(slow)
        port = own.bind("127.0.0.1", 0)
        task = asyncio.create_task(own.run())
        await asyncio.sleep(0)
        async with client(port) as asking, client(port) as idle:
            asking.writer.write(HELLO)
            await asyncio.sleep(0.05)
            task.cancel()
            assert await idle.closed()
            release.set()
            status, head, content = await asking.answer()
            assert (status, content) == (200, b"done\n")
            assert b"connection: close" in head.lower()
        await asyncio.gather(task, return_exceptions=True)

    run(test())


def test_where_all_are_busy_the_one_goes_that_is_in_the_middle_of_its_first_request() -> None:
    async def test() -> None:
        async with serving(limits=ServerLimits(connections=2)) as (server, port), client(port) as own:
            assert await own.ask() == (200, b"POST /a hi")
            own.writer.write(HELLO[:-1])
            async with client(port) as slow:
                slow.writer.write(HELLO[:-1])
                while any(one.idle for one in server._connections):
                    await asyncio.sleep(0.01)
                async with client(port) as other:
                    assert await other.ask() == (200, b"POST /a hi")
                    assert await slow.closed()
            assert await own.ask(HELLO[-1:]) == (200, b"POST /a hi")

    run(test())


def test_a_port_that_is_taken_is_told_with_the_options_for_it() -> None:
    async def test() -> None:
        async with serving() as (_, port):
            with pytest.raises(InputError, match=rf"127.0.0.1:{port}: .*--metrics-port or --metrics-address"):
                HttpServer(echo).bind("127.0.0.1", port, "--metrics-port")

    run(test())


def test_loopback_is_known_by_address_and_name() -> None:
    assert [is_loopback(own) for own in ("127.0.0.1", "::1", "localhost", "127.3.2.1", "0.0.0.0", "10.0.0.1", "x")] == [
        *(True, True, True, True),
        *(False, False, False),
    ]
