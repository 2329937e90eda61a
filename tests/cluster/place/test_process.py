"""How the placer begins."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from numafit.cluster.place.process import begun
from numafit.errors import ApiServerError, InputError
from tests.cluster.kube.scripted_server import Answer, Asked, refusal, scripted


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 30))


def test_an_api_server_that_is_just_starting_is_waited_for() -> None:
    answers = [refusal(503, "not all paths have been installed"), refusal(500, "no"), Answer(), Answer()]

    async def test() -> None:
        async with scripted(lambda asked: answers.pop(0)) as (server, api):
            await begun(api, "numafit", asyncio.Event())
            assert len(server.asked) == 4

    run(test())


def test_what_no_patience_mends_is_said_at_once() -> None:
    def nothing(asked: Asked) -> Answer:
        return refusal(404, "not found")

    async def test() -> None:
        async with scripted(nothing) as (_, api):
            with pytest.raises(InputError, match="has no NodeTopology"):
                await begun(api, "numafit", asyncio.Event())
        async with scripted(lambda asked: refusal(403, "no")) as (_, api):
            with pytest.raises(ApiServerError):
                await begun(api, "numafit", asyncio.Event())

    run(test())


def test_whoever_is_told_to_stop_waits_no_longer() -> None:
    async def test() -> None:
        stop = asyncio.Event()
        stop.set()
        async with scripted(lambda asked: refusal(503, "no")) as (_, api):
            await begun(api, "numafit", stop)

    run(test())
