"""`--scale`: who is released for nodes that are still to come, who is not, and who comes back."""

import asyncio
from typing import Any

from msgspec.structs import replace

from numafit.cluster.live.pods import ClusterPod, PodController
from numafit.cluster.live.words import PLACE_GATE
from numafit.cluster.place.placer import PlacerOptions
from tests.cluster.place.clusters import filled, report, told_node, waiting
from tests.cluster.place.played import Play, PlayedFleet, run
from tests.cluster.place.test_decider import fleet_with, holder

SCALE = PlacerOptions(scale=True)
UNSCHEDULABLE = ({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"},)
JOB = "/apis/batch/v1/namespaces/team/jobs/train"
IGNORED = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]}
GROUP = {"numafit.io/group": "train", "numafit.io/group-size": "3"}
STAYS = {"numafit.io/scale": "false"}


def of_job(name: str, **more: Any) -> ClusterPod:
    return replace(waiting(name, **more), owner=PodController("Job", "train", "uid-train", "batch/v1"))


def unschedulable(fleet: PlayedFleet, uid: str) -> None:
    """So says the scheduler of it."""
    pod = fleet.pods[uid]
    (condition,) = waiting("x", conditions=UNSCHEDULABLE).conditions
    fleet.tell(replace(pod, conditions=(condition,)))


def test_a_pod_that_no_node_has_room_for_is_released_without_the_known_nodes() -> None:
    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1")
        async with Play(fleet, SCALE) as play:
            fleet.tell(waiting("p", gpus=9, owner="web"))
            await play.until(lambda: fleet.pods["p"].gates == ())
            assert play.api.excluded("p") == ["n1"]
            assert fleet.fleet.offers == {}
            assert play.counts.released == {"scale": 1}

    run(test())


def test_who_waits_behind_a_kept_node_for_other_pods_or_for_a_volume_waits_on() -> None:
    """There is a node that would take it; it would be excluded, too."""

    async def test() -> None:
        fleet = fleet_with("n1", holder("first", "n1", 3), holder("second", "n1", 4))
        told_node(fleet, "n2", unschedulable=True)
        report(fleet, "n2")
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "absent"}}}
        near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        async with Play(fleet, SCALE) as play:
            fleet.tell(waiting("large", gpus=5, made="2026-01-01T00:00:00Z", annotations=STAYS))
            await play.until(lambda: play.counts.reserved == 1)
            fleet.tell(waiting("small", gpus=1, made="2026-01-02T00:00:00Z", owner="web"))
            fleet.tell(waiting("near", made="2026-01-02T00:00:00Z", owner="web", affinity=near))
            await play.until(lambda: play.counts.waiting["reserved"] == 1 and play.counts.waiting["other_pods"] == 1)
            fleet.tell(waiting("wide", gpus=9, owner="web"))
            await play.until(lambda: fleet.pods["wide"].gates == ())
            await asyncio.sleep(0.3)
            assert play.api.releases == ["wide"]

    run(test())


def test_whoever_owns_it_a_pod_is_released_unless_its_maker_keeps_it_behind_its_gate() -> None:
    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1")
        async with Play(fleet, SCALE) as play:
            play.api.objects[JOB] = {"metadata": {"name": "train", "uid": "uid-train"}, "spec": {}}
            fleet.tell(of_job("kept", gpus=9, annotations=STAYS))
            fleet.tell(of_job("counted", gpus=9))
            fleet.tell(waiting("bare", gpus=9))
            await play.until(lambda: fleet.pods["counted"].gates == fleet.pods["bare"].gates == ())
            await play.until(lambda: any("No autoscaler sees it" in own["message"] for _, own in play.api.conditions))
            assert {name for name, own in play.api.conditions if "No autoscaler" in own["message"]} == {"kept"}
            assert fleet.pods["kept"].gates == (PLACE_GATE,)
            assert sorted(play.api.releases) == ["bare", "counted"]

    run(test())


def test_a_pod_of_a_job_that_ignores_disruptions_is_released_and_comes_back_for_a_known_node() -> None:
    """Also where its own terms were narrowed: it is asked about as it came."""

    async def test() -> None:
        fleet = fleet_with("n1", holder("first", "n1", 8))
        terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]}]
        own = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
        async with Play(fleet, SCALE) as play:
            play.api.objects[JOB] = {
                "metadata": {"name": "train", "uid": "uid-train"},
                "spec": {"podFailurePolicy": IGNORED},
            }
            fleet.tell(of_job("p", gpus=8, affinity=own))
            await play.until(lambda: fleet.pods["p"].gates == ())
            unschedulable(fleet, "p")
            await play.until(lambda: ("p", "NotBound") in [event[:2] for event in play.api.events])
            await asyncio.sleep(0.3)
            assert "p" in fleet.pods
            fleet.end("first")
            report(fleet, "n1")
            fleet.node("n1")
            await play.until(lambda: "p" not in fleet.pods)
            assert ("p", "DisruptionTarget") in [(name, told["type"]) for name, told in play.api.conditions]
            fleet.tell(of_job("p2", gpus=8, affinity=own))
            await play.until(lambda: fleet.pods["p2"].gates == ())
            assert play.names("p2") == ("n1",)

    run(test())


def test_one_that_a_node_has_come_for_is_not_deleted() -> None:
    async def test() -> None:
        fleet = fleet_with("n1", holder("first", "n1", 8))
        async with Play(fleet, SCALE) as play:
            fleet.tell(waiting("p", gpus=8, owner="web"))
            await play.until(lambda: fleet.pods["p"].gates == ())
            told_node(fleet, "n2")
            report(fleet, "n2")
            fleet.node("n2")
            fleet.end("first")
            report(fleet, "n1")
            fleet.node("n1")
            unschedulable(fleet, "p")
            await play.until(lambda: ("p", "NotBound") in [event[:2] for event in play.api.events])
            await asyncio.sleep(0.3)
            assert "p" in fleet.pods

    run(test())


def test_one_that_stays_is_told_when_a_known_node_would_take_it() -> None:
    async def test() -> None:
        fleet = fleet_with("n1", holder("first", "n1", 8))
        async with Play(fleet, SCALE) as play:
            fleet.tell(waiting("p", gpus=8))
            await play.until(lambda: fleet.pods["p"].gates == ())
            unschedulable(fleet, "p")
            await play.until(lambda: any("none has come" in event[2] for event in play.api.events))
            fleet.end("first")
            report(fleet, "n1")
            fleet.node("n1")
            await play.until(lambda: any("A known node would take it now" in event[2] for event in play.api.events))
            assert "p" in fleet.pods

    run(test())


def test_a_group_goes_whole_to_the_nodes_that_take_some_of_it_and_to_nodes_to_come() -> None:
    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1")
        async with Play(fleet, SCALE) as play:
            for name in ("a", "b", "c"):
                fleet.tell(waiting(name, gpus=4, owner="web", annotations=GROUP))
            await play.until(lambda: all(fleet.pods[name].gates == () for name in "abc"))
            to_come = [name for name in "abc" if not play.names(name)]
            assert len(to_come) == 1
            assert play.api.excluded(to_come[0]) == ["n1"]
            assert sorted(fleet.fleet.offers.values()) == [("n1",), ("n1",)]
            assert play.counts.released == {"known": 2, "scale": 1}

    run(test())


def test_no_pod_of_a_group_goes_before_all_have_waited_and_may_go() -> None:
    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1")
        async with Play(fleet, SCALE) as play:
            for name in ("a", "b"):
                fleet.tell(waiting(name, gpus=4, owner="web", annotations=GROUP))
            fleet.tell(waiting("c", gpus=4, owner="web", annotations={**GROUP, **STAYS}))
            fleet.tell(waiting("wide", gpus=9, owner="web"))
            await play.until(lambda: fleet.pods["wide"].gates == ())
            await play.until(
                lambda: sum("No autoscaler sees it" in own["message"] for _, own in play.api.conditions) > 2
            )
            assert play.api.releases == ["wide"]
            assert fleet.fleet.offers == {}

    run(test())
