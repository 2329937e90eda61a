"""The copies and the book together, against a server that a test plays."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.fleet import LiveChange, LiveFleet
from numafit.cluster.live.pods import ClusterPod, PodKeeper, SentPod
from numafit.cluster.topology.model import NodeTopology
from numafit.fleet.state import NodeState
from tests.cluster.kube.scripted_server import Answer, Asked, Hangup, Stream, eventually, scripted, told
from tests.cluster.live.cluster_objects import lenient_stage, node_object, pod, pod_object, topology_object
from tests.cluster.topology.nodes import with_pods_on


class PlayedCluster:
    """Its lists and its watches, by "nodes", "nodetopologies", "pods" and "failed"."""

    def __init__(self) -> None:
        self.lists: dict[str, list[dict[str, Any]]] = {}
        self.lines: dict[str, list[bytes]] = {}
        self.goes_on = False
        """Watches tell nothing before."""
        self.halts = False
        """Nobody is answered."""

    def __call__(self, asked: Asked) -> Answer | Stream | Hangup:
        if self.halts:
            return Hangup()
        parts = urlsplit(asked.target)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        kind = parts.path.rpartition("/")[2]
        if query.get("fieldSelector") == "status.phase=Failed":
            kind = "failed"
        if "watch" in query:
            return Stream(self.lines.pop(kind, [])) if self.goes_on else Stream([], stays=False)
        items = [versioned(own, 1) for own in self.lists.get(kind, ())]
        return Answer(json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}).encode())


def versioned(value: dict[str, Any], version: int) -> dict[str, Any]:
    return {**value, "metadata": {**value["metadata"], "resourceVersion": str(version)}}


@asynccontextmanager
async def followed(played: PlayedCluster) -> AsyncIterator[tuple[LiveFleet, list[LiveChange], ApiHealth]]:
    health, changes = ApiHealth(), list[LiveChange]()
    async with scripted(played) as (_, api):
        live = LiveFleet(api, health)
        live.listen(changes.append)
        running = asyncio.create_task(live.run())
        try:
            yield live, changes, health
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 40))


def heard(changes: list[LiveChange], *expected: tuple[str, str]) -> Callable[[], bool]:
    return lambda: {(own.kind, own.name) for own in changes} >= set(expected)


def test_what_was_there_and_what_comes_make_one_fleet() -> None:
    async def test() -> None:
        played = PlayedCluster()
        large = pod_object("large", gpus=8, node="n1")
        stage = with_pods_on(lenient_stage(), pod("large", gpus=8).pod)
        played.lists = {
            "nodes": [node_object("n1"), node_object("n2"), node_object("n3")],
            "pods": [large],
            "nodetopologies": [topology_object("n1", stage), topology_object("n2")],
        }
        played.lines["pods"] = [told("ADDED", versioned(pod_object("waits", gpus=8), 2))]
        async with followed(played) as (live, changes, _):
            await live.synced.wait()
            played.goes_on = True
            assert sorted(live.fleet.nodes) == ["n1", "n2"]
            assert [place.node for place in live.places(pod("new", gpus=1).pod).places] == ["n2"]
            await eventually(heard(changes, ("pod", "waits")))
            assert set(live.pods) == {"large", "waits"}
            # Of one that is bound nobody needs the spec; of one that waits somebody will patch it.
            assert bytes(live.pods["large"].spec) == b"{}"
            assert b"containers" in bytes(live.pods["waits"].spec)

    run(test())


def test_a_report_a_rejection_and_an_end_are_told() -> None:
    async def test() -> None:
        played = PlayedCluster()
        bound = pod_object("bad", gpus=2, node="n1")
        played.lists = {
            "nodes": [node_object("n1")],
            "pods": [bound],
            "nodetopologies": [topology_object("n1")],
        }
        failed = versioned(bound, 5)
        failed["status"] = {"phase": "Failed", "reason": "TopologyAffinityError", "message": "no"}
        played.lines = {"failed": [told("ADDED", failed)], "pods": [told("DELETED", failed)]}
        async with followed(played) as (live, changes, _):
            await live.synced.wait()
            played.goes_on = True
            await eventually(heard(changes, ("failed", "bad")))
            await eventually(lambda: not live.pods)
            assert live.fleet.nodes["n1"].refused
            assert live.fleet.nodes["n1"].promised == ()
            failure = next(own.pod for own in changes if own.kind == "failed")
            assert failure is not None
            assert (failure.rejected, failure.message) == (True, "no")

    run(test())


def test_nodes_that_a_pod_was_offered_and_that_did_not_get_it_are_told() -> None:
    """Whoever waits for them may come now."""

    async def test() -> None:
        played = PlayedCluster()
        played.lists = {
            "nodes": [node_object(name) for name in ("n1", "n2", "n3")],
            "pods": [pod_object("large", gpus=8)],
            "nodetopologies": [topology_object(name) for name in ("n1", "n2", "n3")],
        }
        played.lines["pods"] = [told("MODIFIED", versioned(pod_object("large", gpus=8, node="n2"), 4))]
        async with followed(played) as (live, changes, _):
            await live.synced.wait()
            live.offer(live.pods["large"], ("n1", "n2", "n3"))
            played.goes_on = True
            await eventually(heard(changes, ("pod", "large"), ("node", "n1"), ("node", "n3")))
            assert ("node", "n2") not in {(own.kind, own.name) for own in changes}

    run(test())


def test_a_report_that_was_changed_by_others_takes_the_node_out_and_says_why() -> None:
    async def test() -> None:
        played = PlayedCluster()
        good, bad = topology_object("n1"), topology_object("n1")
        bad["status"]["sharedPool"] = "0-3"
        played.lists = {"nodes": [node_object("n1")], "nodetopologies": [good]}
        played.lines["nodetopologies"] = [told("MODIFIED", versioned(bad, 7))]
        async with followed(played) as (live, changes, health):
            await live.synced.wait()
            played.goes_on = True
            await eventually(heard(changes, ("node", "n1")))
            assert live.fleet.nodes == {}
            assert "was changed by others" in live.troubles["n1"]
            assert health.unreadable["nodetopologies"] == 1

    run(test())


def test_a_pod_that_cannot_be_read_leaves_the_others_alone() -> None:
    async def test() -> None:
        played = PlayedCluster()
        bad = pod_object("bad")
        bad["spec"]["containers"] = "none"
        played.lists = {"nodes": [], "pods": [bad, pod_object("good")]}
        async with followed(played) as (live, _, health):
            await live.synced.wait()
            assert set(live.pods) == {"good"}
            assert health.unreadable["pods"] == 1

    run(test())


def test_what_makes_a_reader_fall_over_takes_one_node_or_one_pod_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug of ours that the object of one node or pod brings out must not stop the others."""

    def read(book: FleetBook, topology: NodeTopology) -> NodeState:
        if topology.name == "bad":
            raise ZeroDivisionError("a bug")
        return good_read(book, topology)

    def kept(keeper: PodKeeper, sent: SentPod) -> ClusterPod:
        if sent.metadata.name == "bad":
            raise KeyError("a bug")
        return good_kept(keeper, sent)

    good_read, good_kept = FleetBook.read, PodKeeper.kept
    monkeypatch.setattr(FleetBook, "read", read)
    monkeypatch.setattr(PodKeeper, "kept", kept)

    async def test() -> None:
        played = PlayedCluster()
        played.lists = {
            "nodes": [node_object("bad"), node_object("n1")],
            "nodetopologies": [topology_object("bad"), topology_object("n1")],
            "pods": [pod_object("bad"), pod_object("good")],
        }
        async with followed(played) as (live, _, health):
            await live.synced.wait()
            assert set(live.fleet.nodes) == {"n1"}
            assert "ZeroDivisionError" in live.troubles["bad"]
            assert set(live.pods) == {"good"}
            assert health.unreadable == {"nodetopologies": 1, "pods": 1}

    run(test())
