"""The guard as a whole, against an API server that only notes what it is asked."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.guard.guard import GuardOptions, LoopGuard
from numafit.cluster.guard.namespaces import NamespaceMeta, NamespaceObject
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveChange, LiveFleet
from numafit.cluster.live.words import HOLD_GATE, PLACE_GATE
from tests.cluster.guard.looping import gated_pod, rejected_pod, running_pod
from tests.cluster.guard.recorded_api import Noted, RecordedApi
from tests.cluster.guard.told_cluster import book


class Stage:
    """A guard that listens; nothing of it runs by itself."""

    def __init__(self, *nodes: str, options: GuardOptions | None = None) -> None:
        self.api = RecordedApi(self.answer)
        self.health = ApiHealth()
        self.live = LiveFleet(self.api, self.health)
        if nodes:
            self.live.book = book(*nodes)
        self.said: list[str] = []
        self.guard = LoopGuard(
            self.api, self.health, self.live, options or GuardOptions(enforce=True), self.said.append
        )
        own = NamespaceObject(NamespaceMeta("team", uid="t", resourceVersion="1"))
        self.guard._namespaces._copies.items["team"] = own
        self.guard._ears = True
        self.there = True

    def answer(self, noted: Noted) -> Any:
        return 404 if noted.method == "GET" and not self.there else {}

    def reject(self, *names: str, **more: Any) -> None:
        for name in names:
            self.guard._rejected(rejected_pod(name, **more))

    def tell(self, pod: Any) -> None:
        self.live.book.pod_told(pod)
        self.guard._heard(LiveChange("pod", pod.uid, pod))

    async def turn(self) -> None:
        self.guard._turn()
        while self.guard._working:
            await asyncio.gather(*self.guard._working)

    @property
    def changed(self) -> list[Noted]:
        return [own for own in self.api.noted if own.method in ("PATCH", "DELETE") and "/pods/" in own.path]


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


def test_a_held_pod_is_steered_to_the_nodes_that_can_take_it() -> None:
    async def test() -> None:
        stage = Stage("n1", "n2")
        stage.reject("a", "b", "c", node="n9")
        stage.tell(gated_pod("d"))
        await stage.turn()
        (asked,) = stage.changed
        terms = next(own["value"] for own in asked.content if (own["op"], own["path"]) == ("add", "/spec/affinity"))
        names = terms["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert [own["matchFields"][0]["values"] for own in names] == [["n1"], ["n2"]]
        assert stage.live.fleet.offers == {"d": ("n1", "n2")}
        assert stage.guard.counts.released == {"engine": 1}

    run(test())


def test_where_the_placer_has_a_gate_only_ours_goes() -> None:
    async def test() -> None:
        stage = Stage("n1")
        stage.reject("a", "b", "c", node="n9")
        stage.tell(gated_pod("d", gates=(PLACE_GATE, HOLD_GATE)))
        await stage.turn()
        (asked,) = stage.changed
        assert asked.content["spec"] == {"schedulingGates": [{"$patch": "delete", "name": HOLD_GATE}]}
        assert stage.live.fleet.offers == {}

    run(test())


def test_a_release_that_fails_is_taken_back_and_found_again() -> None:
    async def test() -> None:
        stage = Stage("n1")
        stage.reject("a", "b", "c", node="n9")
        stage.api.answer = lambda _: 500
        stage.tell(gated_pod("d"))
        await stage.turn()
        assert stage.live.fleet.offers == {}
        stage.guard._sweep()
        assert stage.guard._rules.gated == 1

    run(test())


def test_in_a_busy_cluster_a_pod_whose_nodes_are_refused_goes_without_them() -> None:
    """Somebody's policy refuses the annotation with the nodes. What is remembered does not grow by it."""

    async def test() -> None:
        stage = Stage("n1")
        stage.reject("a", "b", "c", node="n9")
        stage.api.answer = lambda noted: 422 if isinstance(noted.content, list) else {}
        begin = stage.guard._now()
        stage.tell(gated_pod("d"))
        for turn in range(20):
            stage.guard._now = lambda turn=turn: begin + timedelta(seconds=turn * 0.25)  # type: ignore[method-assign]
            stage.guard._hope = True
            await stage.turn()
        # Each time as one with annotations and as one without.
        assert [isinstance(own.content, list) for own in stage.changed] == [True, True, True, True, False]
        assert stage.changed[-1].content["spec"] == {"schedulingGates": [{"$patch": "delete", "name": HOLD_GATE}]}
        assert stage.live.fleet.offers == {}
        record = stage.guard._rules.records["loop"]
        assert (record.released, record.foreseen) == (("d",), ())
        assert stage.guard.counts.released == {"engine": 1}

    run(test())


def test_a_pod_that_is_steered_says_when_and_why_it_was_released() -> None:
    async def test() -> None:
        stage = Stage("n1")
        stage.reject("a", "b", "c", node="n9")
        stage.tell(gated_pod("d"))
        await stage.turn()
        (asked,) = stage.changed
        added = {own["path"]: own["value"] for own in asked.content if own["op"] == "add"}
        notes = added["/metadata/annotations"]
        assert notes["numafit.io/nodes"] == "n1"
        assert notes["numafit.io/released"].endswith("Z a node can take it")

    run(test())


def test_who_is_near_a_pod_is_known_to_the_engine_as_it_changes() -> None:
    stage = Stage("n1")
    stage.reject("a", "b", "c", node="n9")
    heard: list[tuple[str, str]] = []
    stage.guard._engine.told = lambda pod: heard.append(("told", pod.uid))  # type: ignore[method-assign]
    stage.guard._engine.gone = lambda pod: heard.append(("gone", pod.uid))  # type: ignore[method-assign]
    pod = running_pod("r")
    stage.tell(pod)
    stage.guard._heard(LiveChange("gone", "r", pod))
    stage.guard._heard(LiveChange("failed", "r", pod))
    assert heard == [("told", "r"), ("gone", "r"), ("gone", "r")]


def test_a_dry_run_asks_for_no_change() -> None:
    async def test() -> None:
        stage = Stage("n1", options=GuardOptions())
        stage.reject(*"abcdefgh")
        stage.tell(gated_pod("x"))
        await stage.turn()
        assert stage.changed == []
        assert stage.guard.memory._dirty == {}
        assert stage.guard.counts.holds == 1
        assert stage.guard.counts.leftovers == 5

    run(test())


def test_leftovers_go_while_it_is_on_and_where_it_guards() -> None:
    async def test() -> None:
        stage = Stage()
        stage.reject(*"abcde")
        stage.guard._bound = False
        await stage.turn()
        assert stage.changed == []
        stage.guard._bound = True
        await stage.turn()
        assert [own.method for own in stage.changed] == ["DELETE", "DELETE"]
        assert stage.guard.counts.removed == 2
        stage.reject(*"fghij", owner="other")
        stage.guard._namespaces._copies.items.clear()
        await stage.turn()
        assert len(stage.changed) == 2

    run(test())


def test_a_namespace_that_is_not_guarded_is_left_alone() -> None:
    async def test() -> None:
        stage = Stage()
        labels = {"numafit.io/guard": "disabled"}
        stage.guard._namespaces._copies.items["team"] = NamespaceObject(NamespaceMeta("team", labels=labels))
        stage.reject(*"abc")
        assert stage.guard._rules.records == {}
        assert stage.guard._teller.idle

    run(test())


def test_the_switch_opens_everything() -> None:
    async def test() -> None:
        stage = Stage()
        stage.reject(*"abc")
        stage.tell(gated_pod("d"))
        stage.guard._switched_by_memory(False)
        await stage.turn()
        assert [own.content["spec"] for own in stage.changed] == [
            {"schedulingGates": [{"$patch": "delete", "name": HOLD_GATE}]}
        ]
        assert stage.guard.memory._dirty == {"loop": None}
        assert not stage.guard.counts.on
        assert not stage.guard.holds("loop", "ReplicaSet")

    run(test())


def test_the_last_one_to_end_leaves_nothing_held() -> None:
    async def test() -> None:
        stage = Stage()
        stage.reject(*"abc")
        stage.tell(gated_pod("d"))
        stage.guard._ears = False
        await stage.guard.open_all()
        kinds = [(own.method, own.path.rpartition("/")[2]) for own in stage.api.noted]
        assert kinds == [("PATCH", "d"), ("PATCH", "numafit-guard")]
        assert stage.api.noted[1].content == {"data": {"loop": None}}

    run(test())


def test_an_engine_that_fails_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        stage = Stage("n1")
        stage.reject("a", "b", "c", node="n9")
        stage.tell(gated_pod("d"))

        def fail(*_: Any) -> None:
            raise RuntimeError("a node that nobody expected")

        monkeypatch.setattr(stage.guard._engine, "nodes", fail)
        await stage.turn()
        assert (stage.changed, stage.guard.counts.bugs) == ([], 1)

    run(test())


def test_a_binding_that_is_gone_is_the_switch() -> None:
    async def test() -> None:
        stage = Stage()
        assert await stage.guard._binding_is_there()
        stage.there = False
        assert not await stage.guard._binding_is_there()

    run(test())


def test_a_webhook_is_told_who_is_armed() -> None:
    stage = Stage()
    assert not stage.guard.holds("loop", "ReplicaSet")
    stage.reject("a")
    assert stage.guard.holds("loop", "ReplicaSet")
    assert not stage.guard.holds("loop", "Job")
    stage.guard._ears = False
    assert not stage.guard.holds("loop", "ReplicaSet")
    stage.guard.memory.armed = frozenset({"loop"})
    assert stage.guard.holds("loop", "ReplicaSet")


def test_a_pod_that_runs_ends_it() -> None:
    stage = Stage()
    stage.reject(*"abc")
    stage.tell(running_pod("d", made=10**9))
    assert stage.guard._rules.records == {}
    assert stage.said[-1] == "holds ReplicaSet team/loop no longer: a pod of it runs"


def test_a_guard_whose_clock_is_behind_takes_no_older_pod_for_one_that_came_after_the_loop() -> None:
    """Pods are made by the API server's clock; by ours the loop would have been an hour before all of them."""
    stage = Stage("n1")
    made = datetime.now(UTC) + timedelta(hours=1)
    stage.api.clock.look(format_datetime(made + timedelta(minutes=10), usegmt=True).encode())
    runs = running_pod("older")
    runs = replace(runs, metadata=replace(runs.metadata, creationTimestamp=f"{made:%Y-%m-%dT%H:%M:%SZ}"))
    stage.reject("a", "b", "c")
    assert stage.guard._rules.held == 1
    stage.tell(runs)
    assert stage.guard._rules.held == 1
