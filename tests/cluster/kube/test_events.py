"""Sentences about objects."""

import asyncio
from pathlib import Path

from numafit.cluster.kube.access import UserEntry
from numafit.cluster.kube.events import LONGEST_MESSAGE, Events
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectReference
from tests.cluster.kube.scripted_server import scripted
from tests.cluster.kube.stored_objects import StoredObjects

POD = ObjectReference("Pod", "train", "u1", "team")


def test_the_same_sentence_again_is_counted_and_another_one_is_another_event() -> None:
    async def test() -> None:
        store, health = StoredObjects(), ApiHealth()
        async with scripted(store) as (_, api):
            events = Events(api, "numafit", health, instance="n1")
            for _ in range(3):
                await events.tell(POD, "Warning", "Differs", "it differs")
            await events.tell(ObjectReference("Node", "n1"), "Normal", "Same", "y" * 3000)
            told = {(own["metadata"]["namespace"], own["count"], own["reason"]) for own in store.objects.values()}
            assert told == {("team", 3, "Differs"), ("default", 1, "Same")}
            assert max(len(own["message"]) for own in store.objects.values()) == LONGEST_MESSAGE
            # They are kept for an hour.
            store.objects.clear()
            await events.tell(POD, "Warning", "Differs", "it differs")
            assert [own["count"] for own in store.objects.values()] == [1]
            assert not health.failures

    asyncio.run(test())


def test_an_event_that_cannot_be_told_stops_nothing() -> None:
    async def test() -> None:
        store, health = StoredObjects(), ApiHealth()
        store.down = True
        async with scripted(store) as (_, api):
            await Events(api, "numafit", health).tell(POD, "Warning", "Differs", "it differs")
        assert health.failures == {"0": 1}

    asyncio.run(test())


def test_a_token_that_is_gone_for_a_moment_stops_nothing(tmp_path: Path) -> None:
    async def test() -> None:
        store, health = StoredObjects(), ApiHealth()
        async with scripted(store, UserEntry(token_file=str(tmp_path / "no"))) as (_, api):
            await Events(api, "numafit", health).tell(POD, "Warning", "Differs", "it differs")
        assert not health.failures
        assert "the token cannot be read" in health.last

    asyncio.run(test())
