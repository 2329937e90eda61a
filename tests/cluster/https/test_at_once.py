"""Requests of the plainest form are answered while they are received; all others as ever."""

import asyncio

import pytest

from numafit.cluster.https import server as server_module
from numafit.cluster.https.messages import AnsweredAtOnce, ServerAnswer, ServerLimits, ServerRequest, text_answer
from tests.cluster.https.test_server import HELLO, client, run, serving

OTHER = HELLO.replace(b"/a", b"/slow")


class Asked:
    """Answers at once what does not ask for `/slow`, and notes what happens in which order."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def at_once(self, request: ServerRequest) -> AnsweredAtOnce | None:
        if request.path == "/slow":
            return None
        self.told.append("asked")
        return AnsweredAtOnce(ServerAnswer(b"now"), lambda: self.told.append("noted"))

    async def later(self, request: ServerRequest) -> ServerAnswer:
        await asyncio.sleep(0)
        return ServerAnswer(b"later")


def test_what_can_be_answered_at_once_is_and_what_is_noted_of_it_comes_before_the_next() -> None:
    """Nothing else happens between an answer and what follows from it."""

    async def test() -> None:
        own = Asked()
        async with serving(own.later, at_once=own.at_once) as (_, port), client(port) as one, client(port) as two:
            asked = await asyncio.gather(*(each.ask() for each in (one, two)))
            assert asked == [(200, b"now")] * 2
            assert await one.ask(OTHER) == (200, b"later")
            assert await one.ask() == (200, b"now")
            assert own.told == ["asked", "noted"] * 3

    run(test())


def test_answers_stay_in_the_order_of_the_questions() -> None:
    """Also where the first one takes longer, and where several come in one piece or in pieces of any size."""

    async def test() -> None:
        own = Asked()
        async with serving(own.later, at_once=own.at_once) as (_, port), client(port) as one:
            for size in (1, 7, len(OTHER), len(OTHER) + 3, 1000):
                data = OTHER + HELLO + OTHER + HELLO
                for start in range(0, len(data), size):
                    one.writer.write(data[start : start + size])
                    await asyncio.sleep(0)
                answers = [(await one.answer())[2] for _ in range(4)]
                # What came in the middle of something went the longer way.
                assert answers[0] == answers[2] == b"later"
                assert len(answers) == 4
            assert await one.ask() == (200, b"now")

    run(test())


def test_an_error_of_who_answers_at_once_is_500_and_one_of_what_is_noted_hinders_nobody() -> None:
    errors: list[str] = []

    def broken(request: ServerRequest) -> AnsweredAtOnce | None:
        if request.path == "/a":
            raise ValueError("no answer")

        def lost() -> None:
            raise ValueError("no note")

        return AnsweredAtOnce(text_answer("yes"), lost)

    async def test() -> None:
        own = Asked()
        told = {"at_once": broken, "failed": lambda error: errors.append(str(error))}
        async with serving(own.later, **told) as (_, port), client(port) as one:
            assert await one.ask() == (500, b"an error inside\n")
            assert await one.ask(OTHER) == (200, b"yes\n")

    run(test())
    assert errors == ["no answer", "no note"]


def test_a_server_that_ends_says_so_with_each_answer() -> None:
    async def test() -> None:
        own = Asked()
        async with serving(own.later, at_once=own.at_once) as (server, port), client(port) as one:
            assert await one.ask() == (200, b"now")
            server.ending = True
            one.writer.write(HELLO)
            _, head, content = await one.answer()
            assert (b"Connection: close" in head, content) == (True, b"later")
            assert await one.closed()

    run(test())


def test_what_is_larger_than_allowed_is_refused() -> None:
    async def test() -> None:
        own = Asked()
        limits = ServerLimits(largest=1)
        async with serving(own.later, at_once=own.at_once, limits=limits) as (_, port), client(port) as one:
            assert (await one.ask())[0] == 413
            assert own.told == []

    run(test())


def test_a_connection_that_asks_is_not_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound for silence counts from the last question, whichever way that went."""
    monkeypatch.setattr(server_module, "IDLE_SECONDS", 0.4)

    async def test() -> None:
        own = Asked()
        async with serving(own.later, at_once=own.at_once) as (_, port), client(port) as one:
            for _ in range(6):
                await asyncio.sleep(0.2)
                assert await one.ask() == (200, b"now")
            assert await one.closed()

    run(test())
