import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.node import publish
from numafit.cluster.node.learn import KnownNode
from numafit.cluster.node.publish import ANNOTATION, PublishedTopology, Publisher
from numafit.cluster.topology.model import PATH
from numafit.cluster.topology.write import topology_of
from numafit.notes import Note
from numafit.settings.node_object import NodeObject
from tests.cluster.node.fakes import FakeApi
from tests.cluster.topology.nodes import guaranteed, stage_on, with_pods_on

OBJECT, NODE = f"{PATH}/n1", "/api/v1/nodes/n1"
STAGE = stage_on("laptop")
IDLE = topology_of("n1", STAGE)
BUSY = topology_of("n1", with_pods_on(STAGE, guaranteed("a", 1)))
KNOWN = KnownNode(NodeObject("n1", "v1.36.0"), "of-n1", {})


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "PACE_SECONDS", 0.01)


def played(story: Callable[[FakeApi, Publisher, list[str]], Awaitable[None]]) -> tuple[FakeApi, Publisher, list[str]]:
    api, said = FakeApi(), list[str]()

    async def play() -> Publisher:
        publisher = Publisher(api, "n1", ApiHealth(), said.append)
        work = asyncio.create_task(publisher.run())
        await story(api, publisher, said)
        work.cancel()
        return publisher

    return api, asyncio.run(play()), said


async def seen(api: FakeApi, publisher: Publisher) -> None:
    """What was written comes back by the watch."""
    await asyncio.sleep(0.05)
    own = msgspec.convert(api.objects[OBJECT], PublishedTopology)
    publisher.seen.items["n1"] = own


def test_it_is_written_when_it_changes_and_told_on_the_node() -> None:
    async def story(api: FakeApi, publisher: Publisher, said: list[str]) -> None:
        for topology in (IDLE, IDLE, BUSY, BUSY):
            publisher.offer(topology, KNOWN)
            await seen(api, publisher)

    api, publisher, said = played(story)
    assert api.asked[f"APPLY {OBJECT}"] == 2
    assert api.asked[f"PATCH {NODE}"] == 2
    assert api.objects[NODE]["metadata"]["annotations"] == {ANNOTATION: BUSY.status.digest}
    assert api.objects[OBJECT]["metadata"]["ownerReferences"][0]["uid"] == "of-n1"
    assert (publisher.digest, said) == (BUSY.status.digest, [])


def test_only_the_newest_is_written() -> None:
    async def story(api: FakeApi, publisher: Publisher, said: list[str]) -> None:
        for topology in (IDLE, BUSY, IDLE, BUSY):
            publisher.offer(topology, KNOWN)
        await seen(api, publisher)

    api, _, _ = played(story)
    assert api.asked[f"APPLY {OBJECT}"] == 1
    assert api.objects[OBJECT]["status"]["digest"] == BUSY.status.digest


def test_what_somebody_deletes_is_made_again() -> None:
    async def story(api: FakeApi, publisher: Publisher, said: list[str]) -> None:
        publisher.offer(IDLE, KNOWN)
        await seen(api, publisher)
        publisher.seen.items.clear()
        publisher.offer(IDLE, KNOWN)
        await asyncio.sleep(0.05)

    api, _, _ = played(story)
    assert api.asked[f"APPLY {OBJECT}"] == 2
    assert api.asked[f"PATCH {NODE}"] == 1


def test_what_somebody_changes_is_written_again_whatever_its_digest_says() -> None:
    """Contents that were tampered with keep the digest: then nobody can use the object."""

    async def story(api: FakeApi, publisher: Publisher, said: list[str]) -> None:
        publisher.offer(BUSY, KNOWN)
        await seen(api, publisher)
        api.objects[OBJECT]["status"]["holders"] = []
        api.objects[OBJECT]["metadata"]["resourceVersion"] = "of somebody else"
        await seen(api, publisher)
        for _ in range(3):
            publisher.offer(BUSY, KNOWN)
            await seen(api, publisher)

    api, _, _ = played(story)
    assert api.asked[f"APPLY {OBJECT}"] == 2
    assert api.objects[OBJECT]["status"]["holders"] != []


def test_new_notes_are_written_and_wake_nobody() -> None:
    async def story(api: FakeApi, publisher: Publisher, said: list[str]) -> None:
        noted = topology_of("n1", STAGE, notes=(Note("node-not-learnt", "node", "x"),))
        for topology in (IDLE, noted):
            publisher.offer(topology, KNOWN)
            await seen(api, publisher)

    api, _, _ = played(story)
    assert (api.asked[f"APPLY {OBJECT}"], api.asked[f"PATCH {NODE}"]) == (2, 1)


def test_a_server_that_fails_is_tried_again_and_told_of_once() -> None:
    async def story(api: FakeApi, publisher: Publisher, said: list[str]) -> None:
        api.refusals = [503, 503]
        publisher.offer(IDLE, KNOWN)
        while OBJECT not in api.objects:
            await asyncio.sleep(0.02)
        await seen(api, publisher)

    _, publisher, said = played(story)
    assert (publisher.failed, publisher.written) == (2, 1)
    assert said == ["the state of the node cannot be published: refused", "the state of the node is published again"]


def test_nothing_is_written_for_a_node_that_is_gone() -> None:
    """Its object would be cleared away with it, again and again."""

    async def story(api: FakeApi, publisher: Publisher, said: list[str]) -> None:
        publisher.offer(IDLE, None)
        await asyncio.sleep(0.05)

    api, _, _ = played(story)
    assert not api.asked
