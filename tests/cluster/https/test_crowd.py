"""HTTPS with many who ask: none of them can stop the others."""

import asyncio
import json
import socket

import pytest
from msgspec.structs import replace

from numafit.cluster.https.messages import ServerAnswer, ServerRequest
from numafit.cluster.https.server import HttpServer
from numafit.errors import InputError
from tests.cluster.admission.played import QUICK, Client, connected, echoed, played, run
from tests.cluster.kube.scripted_server import eventually


def test_one_connection_asks_again_and_again() -> None:
    async def test() -> None:
        async with played() as own:
            client = await own.client()
            for size in (0, 10, 1 << 20):
                assert await client.ask(b"x" * size) == (200, json.dumps(["/pods", size]).encode())
            assert own.counts.connections == 1
            await client.close()
            await eventually(lambda: own.counts.connections == 0)
            assert own.counts.broken == 0

    run(test())


def test_small_answers_are_sent_at_once() -> None:
    async def test() -> None:
        async with played() as own:
            seen = []
            original = socket.socket.setsockopt

            def watched(self: socket.socket, level: int, name: int, value: int) -> None:
                seen.append((level, name, value))
                original(self, level, name, value)

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(socket.socket, "setsockopt", watched)
                client = await own.client()
                await client.ask(b"x")
            assert (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1) in seen
            await client.close()

    run(test())


def test_what_is_too_large_is_refused_and_others_are_not() -> None:
    async def test() -> None:
        async with played() as own:
            client = await own.client()
            status, _ = await client.ask(b"x" * (QUICK.largest + 1))
            assert status == 413
            await client.close()
            client = await own.client()
            assert (await client.ask(b"x"))[0] == 200
            await client.close()

    run(test())


def test_many_large_ones_at_a_time_do_not_fill_the_memory() -> None:
    async def test() -> None:
        async with played(limits=replace(QUICK, held=1 << 20, request_seconds=2.0)) as own:
            half = b"POST /pods HTTP/1.1\r\nHost: x\r\nContent-Length: 600000\r\n\r\n" + b"x" * 500_000
            answers = await asyncio.gather(*(raw(own.port, own.certificate.authority, half) for _ in range(6)))
            assert sum(answer.startswith(b"HTTP/1.1 413") for answer in answers) >= 4
            await eventually(lambda: own.counts.connections == 0)
            assert own.server.held == 0
            client = await own.client()
            assert (await client.ask(b"x" * 900_000))[0] == 200
            await client.close()

    run(test())


async def raw(own_port: int, authority: bytes, data: bytes) -> bytes:
    client = await connected(own_port, authority)
    client.writer.write(data)
    try:
        return await client.reader.read()
    finally:
        await client.close()


@pytest.mark.parametrize(
    "data", [b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"POST /pods HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n"]
)
def test_what_is_no_http_is_told_so(data: bytes) -> None:
    async def test() -> None:
        async with played() as own:
            answer = await raw(own.port, own.certificate.authority, data)
            assert answer.startswith(b"HTTP/1.1 400")
            assert own.counts.broken == 1

    run(test())


def test_who_begins_and_does_not_go_on_is_left_alone_after_a_while() -> None:
    async def test() -> None:
        async with played(limits=replace(QUICK, request_seconds=0.1, handshake_seconds=0.1)) as own:
            half = b"POST /pods HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf"
            assert await raw(own.port, own.certificate.authority, half) == b""
            silent, writer = await asyncio.open_connection("127.0.0.1", own.port)
            assert await silent.read() == b""
            writer.close()
            await eventually(lambda: own.counts.connections == 0)
            assert own.counts.broken == 2

    run(test())


def test_a_flood_of_connections_ends_nobody_who_asks() -> None:
    """Those go first that have asked nothing."""

    async def test() -> None:
        async with played(limits=replace(QUICK, connections=10)) as own:
            clients = [await own.client() for _ in range(3)]
            for client in clients:
                await client.ask(b"x")
            silent = [await asyncio.open_connection("127.0.0.1", own.port) for _ in range(60)]
            for _ in range(5):
                for client in clients:
                    assert (await client.ask(b"x"))[0] == 200
            await eventually(lambda: own.counts.refused >= 50)
            assert own.counts.connections <= 10
            late = await own.client()
            assert (await late.ask(b"x"))[0] == 200
            for _, writer in silent:
                writer.close()
            for client in (*clients, late):
                await client.close()

    run(test())


def test_among_those_who_asked_the_one_goes_that_is_idle_longest() -> None:
    async def test() -> None:
        async with played(limits=replace(QUICK, connections=2)) as own:
            first, second = await own.client(), await own.client()
            await first.ask(b"x")
            await second.ask(b"x")
            await first.ask(b"x")
            third = await own.client()
            assert (await third.ask(b"x"))[0] == 200
            assert (await first.ask(b"x"))[0] == 200
            with pytest.raises(ConnectionError):
                await second.ask(b"x")
            for client in (first, second, third):
                await client.close()

    run(test())


def test_who_ends_still_answers_and_says_that_it_ends() -> None:
    async def test() -> None:
        async with played(limits=replace(QUICK, drain_seconds=0.5)) as own:
            there = await own.client()
            await there.ask(b"x")
            own.task.cancel()
            await asyncio.sleep(0.05)
            assert (await there.ask(b"x"))[0] == 200
            late = await own.client()
            assert (await late.ask(b"x"))[0] == 200
            assert await late.reader.read() == b""
            await asyncio.gather(own.task, return_exceptions=True)
            with pytest.raises(ConnectionRefusedError):
                await own.client()
            for client in (there, late):
                await client.close()

    run(test())


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InputError, match="cannot listen"):
            HttpServer(echoed).bind("127.0.0.1", other.getsockname()[1])
    with pytest.raises(InputError, match="cannot listen"):
        HttpServer(echoed).bind("nowhere.invalid", 0)


def test_of_two_who_took_a_port_before_anybody_listened_the_second_says_so() -> None:
    """Linux lets both have it until then."""

    async def test() -> None:
        first, second = HttpServer(echoed), HttpServer(echoed)
        second.bind("127.0.0.1", first.bind("127.0.0.1", 0))
        task = asyncio.create_task(first.run())
        await asyncio.sleep(0)
        with pytest.raises(InputError, match="cannot listen: Address already in use"):
            await second.run()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(test())


def test_who_says_nothing_does_not_delay_the_end() -> None:
    async def test() -> None:
        async with played() as own:
            there = await own.client()
            await there.ask(b"x")
            silent, writer = await asyncio.open_connection("127.0.0.1", own.port)
            await eventually(lambda: own.counts.connections == 2)
            own.task.cancel()
            async with asyncio.timeout(2):
                await asyncio.gather(own.task, return_exceptions=True)
            assert await silent.read() == b""
            writer.close()
            await there.close()

    run(test())


def test_answers_come_in_the_order_of_questions_that_came_together() -> None:
    async def test() -> None:
        async def numbered(request: ServerRequest) -> ServerAnswer:
            return ServerAnswer(request.content)

        async with played(numbered) as own:
            client = await own.client()
            head = b"POST /pods HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"
            client.writer.write(head + b"1" + head + b"2" + head + b"3")
            found = b""
            async with asyncio.timeout(5):
                while found.count(b"HTTP/1.1 200") < 3 or not found.endswith(b"3"):
                    found += await client.reader.read(65536)
            assert [part[-1:] for part in found.split(b"HTTP/1.1 200")[1:]] == [b"1", b"2", b"3"]
            await client.close()

    run(test())


def test_clients_are_closed(recwarn: pytest.WarningsRecorder) -> None:
    async def test() -> None:
        async with played() as own:
            clients: list[Client] = [await own.client() for _ in range(5)]
            await asyncio.gather(*(client.ask(b"x") for client in clients))
            await asyncio.gather(*(client.close() for client in clients))

    run(test())
    assert not recwarn.list
