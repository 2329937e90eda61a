"""A copy of all objects of a kind, through whatever an API server does."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from numafit.cluster.kube import api as api_module
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from tests.cluster.kube.scripted_server import (
    Answer,
    Asked,
    Hangup,
    Script,
    Stream,
    eventually,
    refusal,
    scripted,
    told,
)


class Thing(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    size: int = 0


def thing(name: str, version: int, uid: str = "", size: object = 0) -> dict[str, Any]:
    meta = {"name": name, "namespace": "a", "uid": uid or name, "resourceVersion": str(version)}
    return {"metadata": meta, "size": size}


def page(version: int, *items: dict[str, Any], rest: str = "") -> Answer:
    return Answer(
        json.dumps({"metadata": {"resourceVersion": str(version), "continue": rest}, "items": items}).encode()
    )


BOOKMARK = told("BOOKMARK", {"metadata": {"resourceVersion": "50"}})


class Server:
    """Lists and watches by turns, each as often as a test says; the last ones stay."""

    def __init__(self, lists: list[Answer | Hangup], watches: list[Answer | Stream | Hangup]) -> None:
        self.lists, self.watches = lists, watches
        self.seen: list[dict[str, str]] = []

    def __call__(self, asked: Asked) -> Answer | Stream | Hangup:
        query = {name: values[0] for name, values in parse_qs(urlsplit(asked.target).query).items()}
        self.seen.append(query)
        if "watch" in query:
            return self.watches.pop(0) if self.watches else Stream([])
        return self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]


@asynccontextmanager
async def reflected(script: Script, keep: Callable[[Thing], Thing | None] | None = None) -> Any:
    health, changes = ApiHealth(), list[ObjectChange[Thing]]()
    async with scripted(script) as (_, api):
        reflector = Reflector(api, "/api/v1/things", Thing, changes.append, health=health, keep=keep)
        running = asyncio.create_task(reflector.run())
        try:
            yield reflector, changes, health
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 40))


def words(changes: list[ObjectChange[Thing]]) -> list[str]:
    return [f"{'-' if own.after is None else '+' if own.before is None else '~'}{own.key}" for own in changes]


def test_a_list_in_pages_and_then_what_changes() -> None:
    async def test() -> None:
        lines = [
            told("ADDED", thing("c", 11)),
            told("MODIFIED", thing("a", 12, size=7)),
            told("DELETED", thing("b", 13)),
        ]
        server = Server(
            [page(10, thing("a", 1), rest="x"), page(10, thing("b", 2))], [Stream([*lines, BOOKMARK], stays=False)]
        )
        async with reflected(server) as (reflector, changes, health):
            await eventually(lambda: len(server.seen) == 4)
            assert words(changes) == ["+a/a", "+a/b", "+a/c", "~a/a", "-a/b"]
            assert {key: own.size for key, own in reflector.items.items()} == {"a/a": 7, "a/c": 0}
            assert server.seen[1]["continue"] == "x"
            # The first watch goes on from the list, the second from the bookmark.
            assert [seen["resourceVersion"] for seen in server.seen[2:]] == ["10", "50"]
            assert (health.lists["things"], health.failures) == (1, {})

    run(test())


@pytest.mark.parametrize(
    "gone",
    [
        refusal(410, "too old resource version"),
        Stream([told("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})]),
    ],
    ids=["as an answer", "in the stream"],
)
def test_after_a_gap_all_are_listed_again_and_compared(gone: Answer | Stream) -> None:
    """What went in the gap is told as gone, and one of the same name with another UID as gone and come."""

    async def test() -> None:
        first = page(10, thing("a", 1), thing("b", 2), thing("c", 3), thing("d", 4))
        then = page(20, thing("b", 2), thing("c", 15, uid="another"), thing("d", 16), thing("e", 17))
        server = Server([first, then], [gone])
        async with reflected(server) as (reflector, changes, health):
            await eventually(lambda: health.lists["things"] == 2 and len(changes) > 4)
            assert words(changes[4:]) == ["-a/a", "-a/c", "+a/c", "~a/d", "+a/e"]
            assert sorted(reflector.items) == ["a/b", "a/c", "a/d", "a/e"]
            assert health.failures == {"410": 1}

    run(test())


def test_a_server_that_goes_away_is_asked_again_from_where_it_was() -> None:
    async def test() -> None:
        server = Server(
            [Hangup(), refusal(503, "starting"), page(10, thing("a", 1))],
            [Stream([told("ADDED", thing("b", 11))], stays=False), Hangup(), Stream([told("ADDED", thing("c", 12))])],
        )
        async with reflected(server) as (reflector, changes, health):
            await eventually(lambda: len(reflector.items) == 3)
            assert words(changes) == ["+a/a", "+a/b", "+a/c"]
            assert health.lists["things"] == 3
            assert health.failures == {"0": 2, "503": 1}

    run(test())


def test_an_object_that_cannot_be_read_stays_as_it_was_known() -> None:
    async def test() -> None:
        lines = [told("MODIFIED", thing("a", 11, size="large")), b"{no json\n", told("ADDED", thing("b", 12))]
        server = Server([page(10, thing("a", 1), thing("x", 2, size={}))], [Stream(lines)])
        async with reflected(server) as (reflector, _, health):
            await eventually(lambda: "a/b" in reflector.items)
            assert sorted(reflector.items) == ["a/a", "a/b"]
            assert health.unreadable["things"] == 3

    run(test())


def test_a_silent_watch_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "SILENCE", 0.1)

    async def test() -> None:
        server = Server([page(10)], [Stream([]), Stream([told("ADDED", thing("a", 11))])])
        async with reflected(server) as (reflector, _, health):
            await eventually(lambda: "a/a" in reflector.items)
            assert health.stalls["things"] >= 1

    run(test())


def test_what_is_not_kept_is_as_if_it_were_not_there() -> None:
    async def test() -> None:
        lines = [
            told("MODIFIED", thing("a", 11, size=3)),
            told("MODIFIED", thing("b", 12, size=0)),
            told("DELETED", thing("c", 13, size=5)),
        ]
        server = Server([page(10, thing("a", 1), thing("b", 2, size=2), thing("c", 3))], [Stream(lines)])
        async with reflected(server, lambda own: own if own.size else None) as (_, changes, _):
            await eventually(lambda: len(changes) == 3)
            assert words(changes) == ["+a/b", "+a/a", "-a/b"]

    run(test())


@pytest.mark.parametrize("lines", [[], [b"<html>"], [told("ADDED", {"metadata": 7})]])
def test_a_server_that_ends_each_watch_at_once_is_not_asked_all_the_time(lines: list[bytes]) -> None:
    async def test() -> None:
        server = Server([page(10, thing("a", 1))], [Stream(lines, stays=False) for _ in range(1000)])
        async with reflected(server):
            await asyncio.sleep(1.5)
            # 0.1, 0.2, 0.4 … at least: it would be hundreds.
            assert 3 <= len(server.seen) <= 10

    run(test())


@pytest.mark.parametrize(
    "garbage", [Answer(b'{"metadata": {}}'), page(10, thing("b", 2), rest="again"), Answer(b"[]"), Answer(b"<html>")]
)
def test_what_is_no_list_takes_nothing_away(garbage: Answer) -> None:
    """Not a moment at which it was true, or pages without an end."""

    async def test() -> None:
        server = Server([page(10, thing("a", 1)), garbage], [refusal(410, "too old")])
        async with reflected(server) as (reflector, changes, health):
            await eventually(lambda: sum(health.failures.values()) >= 3)
            assert words(changes) == ["+a/a"]
            assert list(reflector.items) == ["a/a"]

    run(test())
