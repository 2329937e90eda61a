"""Requests at a time, to an API server that answers what a test says."""

import asyncio
import base64
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from numafit.cluster.kube import api as api_module
from numafit.cluster.kube.access import Access, ClusterEntry, UserEntry
from numafit.cluster.kube.api import APPLY, JSON, JSON_PATCH, MERGE, KubeApi
from numafit.cluster.kube.connection import Connection
from numafit.errors import ApiServerError, InputError, SilentStreamError
from tests.cluster.kube.scripted_server import Answer, Asked, Hangup, Stream, refusal, scripted

pytestmark = pytest.mark.usefixtures("no_proxy")


@pytest.fixture
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def test_each_verb_says_what_its_content_is() -> None:
    async def test() -> None:
        async with scripted(lambda asked: Answer(b'{"a": 1}')) as (server, api):
            assert await api.get("/x", {"limit": "5", "continue": "a b&c"}) == b'{"a": 1}'
            await api.create("/x", b"1")
            await api.replace("/x/y", b"2")
            await api.patch("/x/y", b"3")
            await api.patch("/x/y", b"4", JSON_PATCH)
            await api.apply("/x/y", b"5", "numafit", force=True)
            await api.delete("/x/y", parameters={"gracePeriodSeconds": "0"})
            await api.delete("/x/y", b"{}")
            kinds = [(own.method, own.target, own.headers.get("content-type"), own.content) for own in server.asked]
            assert kinds == [
                ("GET", "/x?limit=5&continue=a+b%26c", None, b""),
                ("POST", "/x", JSON, b"1"),
                ("PUT", "/x/y", JSON, b"2"),
                ("PATCH", "/x/y", MERGE, b"3"),
                ("PATCH", "/x/y", JSON_PATCH, b"4"),
                ("PATCH", "/x/y?fieldManager=numafit&force=true", APPLY, b"5"),
                ("DELETE", "/x/y?gracePeriodSeconds=0", None, b""),
                ("DELETE", "/x/y", JSON, b"{}"),
            ]
            assert server.connections == 1

    run(test())


def test_a_refusal_has_the_servers_words_and_status() -> None:
    async def test() -> None:
        async with scripted(lambda asked: refusal(409, "the object has been modified")) as (_, api):
            with pytest.raises(ApiServerError, match="the object has been modified") as caught:
                await api.replace("/x", b"{}")
            assert caught.value.status == 409

    run(test())


def test_a_connection_that_was_closed_while_idle_is_replaced() -> None:
    async def test() -> None:
        async with scripted(lambda asked: Answer(close=True)) as (server, api):
            for _ in range(5):
                await api.create("/x", b"{}")
                await asyncio.sleep(0.05)
            assert (len(server.asked), server.connections) == (5, 5)

    run(test())


def test_a_post_that_may_have_been_done_is_not_sent_again() -> None:
    """Of the others the second does what the first did."""

    async def test() -> None:
        answers: list[Answer | Hangup] = [Answer(), Hangup(), Answer(), Hangup(), Answer()]
        async with scripted(lambda asked: answers.pop(0)) as (server, api):
            await api.get("/x")
            await api.get("/x")
            assert len(server.asked) == 3
            with pytest.raises(ApiServerError):
                await api.create("/x", b"{}")
            assert len(server.asked) == 4

    run(test())


def test_a_slow_server_is_left_after_its_time() -> None:
    async def test() -> None:
        async with scripted(lambda asked: Answer(seconds=20), seconds=0.2) as (_, api):
            with pytest.raises(ApiServerError, match="no answer within") as caught:
                await api.get("/x")
            assert caught.value.status == 0

    run(test())


def test_nobody_there_is_one_sentence() -> None:
    async def test() -> None:
        async with scripted(lambda asked: Answer()) as (server, _):
            port = server.port
        gone = Access("a test", ClusterEntry(server=f"http://127.0.0.1:{port}"), UserEntry())
        with pytest.raises(ApiServerError, match="cannot be reached"):
            await KubeApi(gone).get("/x")

    run(test())


def test_no_more_connections_than_allowed_and_no_request_waits_for_ever() -> None:
    async def test() -> None:
        async with scripted(lambda asked: Answer(seconds=0.01), connections=3) as (server, api):
            await asyncio.gather(*(api.get(f"/{number}") for number in range(50)))
            assert server.connections == 3

    run(test())


def test_a_token_that_was_replaced_is_read_again_when_the_old_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")

    def script(asked: Asked) -> Answer:
        return Answer() if asked.headers["authorization"] == "Bearer new" else refusal(401, "Unauthorized")

    async def test() -> None:
        async with scripted(script, UserEntry(token_file=str(file))) as (server, api):
            with pytest.raises(ApiServerError) as caught:
                await api.get("/x")
            assert (caught.value.status, len(server.asked)) == (401, 2)
            file.write_text("new\n")
            await api.get("/x")
            file.unlink()
            await api.get("/x")

    run(test())


def test_a_token_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    async def test() -> None:
        async with scripted(lambda asked: Answer(), UserEntry(token_file=str(tmp_path / "no"))) as (_, api):
            with pytest.raises(InputError, match="the token cannot be read"):
                await api.get("/x")

    run(test())


def test_a_name_and_a_password_are_shown() -> None:
    async def test() -> None:
        async with scripted(lambda asked: Answer(), UserEntry(username="jane", password="x:y")) as (server, api):
            await api.get("/x")
            shown = server.asked[0].headers["authorization"]
            assert base64.b64decode(shown.removeprefix("Basic ")) == b"jane:x:y"

    run(test())


@pytest.mark.parametrize("parts", [[b"one\ntwo\n"], [b"o", b"ne", b"\nt", b"wo\n"], [b"one\n", b"two\n", b"half"]])
def test_lines_of_a_watch_come_whole_however_they_are_cut(parts: list[bytes]) -> None:
    async def test() -> None:
        async with scripted(lambda asked: Stream(parts, stays=False)) as (_, api):
            assert [line async for line in api.lines("/x", {"watch": "1"})] == [b"one", b"two"]

    run(test())


@pytest.mark.parametrize("stays", [False, True])
def test_a_watch_that_rests_loses_nothing(stays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the server ends it in the meantime; and what comes while it rests is taken together after it."""
    parts = [f"{number}\n".encode() for number in range(40)]
    takes: list[int] = []
    rest = Connection.rest

    async def counted(own: Connection, seconds: float) -> None:
        takes.append(1)
        await rest(own, seconds)

    monkeypatch.setattr(Connection, "rest", counted)

    async def test() -> None:
        async with scripted(lambda asked: Stream(parts, stays=stays)) as (_, api):
            lines = api.lines("/x", {"watch": "1"}, 0.05)
            found = [await anext(lines) for _ in parts]
            assert found == [part.strip() for part in parts]
            await lines.aclose()

    run(test())
    assert 0 < len(takes) < len(parts)


def test_a_watch_that_is_silent_for_too_long_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "SILENCE", 0.1)

    async def test() -> None:
        async with scripted(lambda asked: Stream([b"one\n"])) as (_, api):
            lines = api.lines("/x", {})
            assert await anext(lines) == b"one"
            with pytest.raises(SilentStreamError):
                await anext(lines)

    run(test())


def test_a_line_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "LONGEST_LINE", 1000)

    async def test() -> None:
        async with scripted(lambda asked: Stream([b"x" * 600] * 4)) as (_, api):
            with pytest.raises(ApiServerError, match="an object is larger"):
                await anext(api.lines("/x", {}))

    run(test())


def test_a_proxy_is_asked_to_let_us_through() -> None:
    async def test() -> None:
        heads: list[bytes] = []

        async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            heads.append(await reader.readuntil(b"\r\n\r\n"))
            if b"other" in heads[-1]:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            else:
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                await reader.readuntil(b"\r\n\r\n")
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(proxy, "127.0.0.1", 0)
        address = f"http://jane:secret@127.0.0.1:{server.sockets[0].getsockname()[1]}"
        entry = ClusterEntry(server="http://cluster.invalid:6443", proxy_url=address)
        async with KubeApi(Access("a test", entry, UserEntry())) as api:
            assert await api.get("/x") == b"{}"
        assert heads[0].startswith(b"CONNECT cluster.invalid:6443 HTTP/1.1\r\n")
        assert base64.b64encode(b"jane:secret") in heads[0]
        other = ClusterEntry(server="http://other.invalid", proxy_url=address)
        async with KubeApi(Access("a test", other, UserEntry())) as api:
            with pytest.raises(ApiServerError, match=r"the proxy refuses: HTTP/1\.1 407"):
                await api.get("/x")
        server.close()

    run(test())


@pytest.mark.parametrize("server", ["", "ftp://x", "127.0.0.1:6443"])
def test_what_is_no_address_is_refused_at_once(server: str) -> None:
    with pytest.raises(ApiServerError, match="is no address of an API server"):
        KubeApi(Access("a test", ClusterEntry(server=server), UserEntry()))


def test_a_proxy_of_another_kind_is_refused_at_once() -> None:
    entry = ClusterEntry(server="https://x", proxy_url="socks5://127.0.0.1:1080")
    with pytest.raises(InputError, match="not supported"):
        KubeApi(Access("a test", entry, UserEntry()))


def test_a_list_comes_page_by_page_and_must_end() -> None:
    def script(asked: Asked) -> Answer:
        return Answer(b'{"metadata": {"continue": "again"}, "items": [{}]}')

    async def test() -> None:
        async with scripted(script) as (server, api):
            with pytest.raises(ApiServerError, match="its list does not end"):
                _ = [page async for page in api.pages("/api/v1/pods")]
            assert [asked.target for asked in server.asked] == [
                "/api/v1/pods?limit=500",
                "/api/v1/pods?limit=500&continue=again",
            ]

    run(test())
