"""What a pod is told that waits behind the gate."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.guard.counts import GuardCounts
from numafit.cluster.guard.record import LoopRecord, PodRejection
from numafit.cluster.guard.telling.held import HeldTeller
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import HOLD_GATE, PLACE_GATE
from tests.cluster.guard.looping import after, gated_pod, owned_object
from tests.cluster.guard.recorded_api import Noted, RecordedApi
from tests.cluster.guard.told_cluster import book
from tests.cluster.live.cluster_objects import kept

REJECTIONS = tuple(PodRejection(name, "n1", "TopologyAffinityError", after(2)) for name in "abc")
RECORD = LoopRecord("ReplicaSet", "loop", "team", rejections=REJECTIONS, rejected=3, held=after(2), last=after(2))
WHY = "3 pods of ReplicaSet loop were rejected, so its next ones wait"


class Stage:
    def __init__(self, live: FleetBook, *pods: ClusterPod, record: LoopRecord = RECORD) -> None:
        self.api, self.counts, self.live = RecordedApi(), GuardCounts(), live
        self.held = {pod.uid: (pod, record) for pod in pods}
        for pod in pods:
            live.pod_told(pod)
        self.teller = HeldTeller(self.api, ApiHealth(), live, self.counts, lambda: self.held.values())

    def look(self, *seconds: float) -> None:
        async def looked() -> None:
            for now in seconds:
                await self.teller.look(now)

        asyncio.run(looked())

    def released(self, pod: ClusterPod) -> None:
        self.live.pod_told(pod)
        self.held.pop(pod.uid)

    @property
    def conditions(self) -> list[tuple[str, str, str]]:
        found = [own.content["status"]["conditions"][0] for own in self.api.of("PATCH") if "/pods/" in own.path]
        assert {own["type"] for own in found} <= {"numafit.io/Placed"}
        return [(own["status"], own["reason"], own["message"]) for own in found]

    @property
    def events(self) -> list[Noted]:
        return self.api.of("POST")


def test_a_held_pod_is_told_why_and_until_when_by_a_condition_and_one_event() -> None:
    stage = Stage(book("n1"), kept(owned_object("p", gpus=9, gates=(HOLD_GATE,))))
    stage.look(0, 1)
    assert stage.conditions == [], "one that waits for a moment is told nothing"
    stage.look(3)
    ((status, reason, message),) = stage.conditions
    assert (status, reason) == ("False", "Held")
    assert message.startswith(f"{WHY} until a node can take one; one is tried at 2026-01-01T00:15:02Z all the same.")
    assert "9 nvidia.com/gpu" in message
    (event,) = stage.events
    assert (event.content["reason"], event.content["message"]) == ("LoopHeld", message)
    stage.look(4, 40)
    assert len(stage.conditions) == 1, "the same is not told again"


def test_what_changes_is_told_by_the_condition_alone() -> None:
    """Where a node has not reported, one is tried as soon as patience has run out."""
    pod = kept(owned_object("p", gpus=9, gates=(HOLD_GATE,)))
    stage = Stage(book("n1", untold=("n2",)), pod)
    stage.look(0, 3)
    assert "one is tried at 2026-01-01T00:00:12Z" in stage.conditions[0][2]
    told = {"type": "numafit.io/Placed", "status": "False", "reason": "Held", "message": stage.conditions[0][2]}
    seen = kept(owned_object("p", gpus=9, gates=(HOLD_GATE,), conditions=[told]))
    stage.live.pod_told(seen)
    stage.held["p"] = (seen, replace(RECORD, tries=1, last=after(30)))
    stage.look(4)
    assert len(stage.conditions) == 1, "not so soon after another sentence"
    stage.look(40)
    assert "one is tried at 2026-01-01T00:00:50Z" in stage.conditions[1][2]
    assert len(stage.events) == 1


def test_where_the_engine_was_wrong_patience_alone_is_told() -> None:
    stage = Stage(book("n1"), gated_pod("p"), record=replace(RECORD, mistrusted=True))
    stage.look(0, 3)
    assert stage.conditions == [("False", "Held", f"{WHY}: one is tried at 2026-01-01T00:00:12Z.")]


def test_gates_of_others_are_named() -> None:
    stage = Stage(book("n1"), gated_pod("p", gates=("kueue.x-k8s.io/admission", HOLD_GATE)))
    stage.look(0, 3)
    assert stage.conditions == [("False", "Held", f"{WHY}; this one also for others (kueue.x-k8s.io/admission).")]


def free(name: str) -> ClusterPod:
    return kept(owned_object(name))


@pytest.mark.parametrize(
    ("then", "told"),
    [(free, [("True", "Released")]), (lambda name: gated_pod(name, gates=(PLACE_GATE,)), [])],
    ids=["free", "the placer goes on"],
)
def test_one_that_was_told_is_told_when_it_is_over(
    then: Callable[[str], ClusterPod], told: list[tuple[str, str]]
) -> None:
    stage = Stage(book("n1"), gated_pod("p"), gated_pod("q"))
    stage.look(0, 3)
    begun = len(stage.conditions)
    assert begun == 2
    stage.released(then("p"))
    stage.live.pod_gone("q", now=0)
    stage.held.pop("q")
    stage.look(5, 6)
    assert [own[:2] for own in stage.conditions[begun:]] == told


def test_an_engine_that_fails_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(book("n1"), gated_pod("p"))

    def fail(*_: Any) -> None:
        raise RuntimeError("a node that nobody expected")

    monkeypatch.setattr(stage.teller._engine, "unknown", fail)
    stage.look(0, 3)
    assert "a fault of numafit" in stage.conditions[0][2]
    assert stage.counts.bugs == 1
