"""Owned pods that were released and cannot be bound: who is made anew, and where its successor goes."""

import asyncio

from msgspec.structs import replace

from tests.cluster.place.clusters import filled, report, told_node, waiting
from tests.cluster.place.played import Play, PlayedFleet, PlayedRequest, run

UNSCHEDULABLE = ({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no volume"},)


def fleet_of(*names: str) -> PlayedFleet:
    return filled(PlayedFleet(), *names)


def test_an_owned_pod_whose_nodes_are_gone_is_replaced_and_its_successor_goes_elsewhere() -> None:
    """kueue#11858."""

    async def test() -> None:
        fleet = fleet_of("n1")
        async with Play(fleet) as play:
            pod = waiting("p", owner="web")
            fleet.tell(pod)
            await play.until(lambda: fleet.pods["p"].gates == ())
            told_node(fleet, "n2")
            report(fleet, "n2")
            fleet.node_gone("n1")
            released = waiting(
                "p", owner="web", gates=(), annotations={"numafit.io/nodes": "n1"}, conditions=UNSCHEDULABLE
            )
            fleet.tell(released)
            await play.until(lambda: "p" not in fleet.pods)
            assert play.counts.replaced == 1
            assert ("p", "Replaced") in [event[:2] for event in play.api.events]
            fleet.tell(waiting("p2", owner="web"))
            await play.until(lambda: fleet.pods["p2"].gates == ())
            assert play.names("p2") == ("n2",)

    run(test())


def test_a_stuck_pod_is_replaced_only_where_another_node_would_take_it_and_tried_nodes_come_last() -> None:
    async def test() -> None:
        fleet = fleet_of("n1")
        async with Play(fleet) as play:
            stuck = waiting(
                "p", owner="web", gates=(), annotations={"numafit.io/nodes": "n1"}, conditions=UNSCHEDULABLE
            )
            fleet.tell(stuck)
            await play.until(lambda: [event[:2] for event in play.api.events] == [("p", "NotBound")])
            await asyncio.sleep(0.3)
            assert "p" in fleet.pods
            told_node(fleet, "n2")
            report(fleet, "n2")
            fleet.node("n2")
            await play.until(lambda: "p" not in fleet.pods)
            fleet.tell(waiting("p2", owner="web"))
            await play.until(lambda: fleet.pods["p2"].gates == ())
            assert play.names("p2") == ("n2", "n1")

    run(test())


def test_a_stuck_pod_that_nobody_owns_or_a_job_owns_is_told_only() -> None:
    async def test() -> None:
        fleet = fleet_of("n1", "n2")
        async with Play(fleet) as play:
            for name in ("bare", "job"):
                pod = waiting(
                    name, owner="x", gates=(), annotations={"numafit.io/nodes": "n1"}, conditions=UNSCHEDULABLE
                )
                assert pod.owner is not None
                owner = None if name == "bare" else replace(pod.owner, kind="Job")
                fleet.tell(replace(pod, owner=owner))
            await play.until(lambda: len(play.api.events) == 2)
            await asyncio.sleep(0.3)
            assert {event[:2] for event in play.api.events} == {("bare", "NotBound"), ("job", "NotBound")}
            assert {"bare", "job"} <= fleet.pods.keys()

    run(test())


def test_where_somebody_binds_a_stuck_pod_in_between_it_is_not_deleted() -> None:
    async def test() -> None:
        fleet = fleet_of("n1", "n2")
        async with Play(fleet) as play:

            def refuse(asked: PlayedRequest) -> int | None:
                if asked.method == "DELETE":
                    fleet.bind("p", "n1")
                    return 409
                return None

            play.api.refuse = refuse
            fleet.tell(
                waiting("p", owner="web", gates=(), annotations={"numafit.io/nodes": "n1"}, conditions=UNSCHEDULABLE)
            )
            await play.until(lambda: fleet.pods["p"].node == "n1")
            await asyncio.sleep(0.2)
            assert play.counts.replaced == 0
            assert "p" in fleet.pods

    run(test())
