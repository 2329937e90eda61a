"""The leader's work: who is released, where to, when, and what happens when that fails."""

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from numafit.cluster.live.words import PLACE_GATE
from numafit.cluster.place.placer import PlacerOptions
from numafit.cluster.place.waiting import claimed
from tests.cluster.place.clusters import filled, report, told_node, waiting
from tests.cluster.place.played import Play, PlayedFleet, PlayedRequest, run


def fleet_of(*names: str) -> PlayedFleet:
    return filled(PlayedFleet(), *names)


def failing(status: int, times: int = 1) -> Callable[[PlayedRequest], int | None]:
    left = [status] * times

    def refuse(asked: PlayedRequest) -> int | None:
        return left.pop() if asked.method == "PATCH" and "json-patch" in asked.kind and left else None

    return refuse


def test_a_waiting_pod_is_released_to_nodes_that_admit_it() -> None:
    async def test() -> None:
        fleet = fleet_of("n1", "n2")
        async with Play(fleet) as play:
            fleet.tell(waiting("p", gpus=8))
            await play.until(lambda: fleet.pods["p"].gates == ())
            assert play.names("p") == ("n1", "n2")
            assert fleet.fleet.offers == {"p": ("n1", "n2")}
            fleet.bind("p", "n2")
            assert fleet.fleet.offers == {"p": ("n2",)}

    run(test())


def test_those_that_waited_before_the_leader_came_are_released_by_priority_and_age() -> None:
    async def test() -> None:
        fleet = fleet_of("n1", "n2", "n3", "n4")
        fleet.tell(waiting("young", made="2026-03-01T00:00:00Z"))
        fleet.tell(waiting("old", made="2026-02-01T00:00:00Z"))
        fleet.tell(waiting("urgent", made="2026-04-01T00:00:00Z", priority=10))
        async with Play(fleet) as play:
            await play.until(lambda: len(play.api.releases) == 3)
            assert play.api.releases == ["urgent", "old", "young"]

    run(test())


def test_gates_of_others_come_first() -> None:
    async def test() -> None:
        fleet = fleet_of("n1")
        async with Play(fleet) as play:
            fleet.tell(waiting("p", gates=("kueue.x-k8s.io/admission", PLACE_GATE)))
            fleet.tell(waiting("q"))
            await play.until(lambda: fleet.pods["q"].gates == ())
            assert play.api.releases == ["q"]
            fleet.tell(waiting("p", gates=(PLACE_GATE,), nodeSelector={"kubernetes.io/hostname": "n1"}))
            await play.until(lambda: fleet.pods["p"].gates == ())

    run(test())


def test_one_node_is_not_promised_twice_in_one_round() -> None:
    """kueue#14570."""

    async def test() -> None:
        fleet = fleet_of("n1")
        for name in ("a", "b", "c"):
            fleet.tell(waiting(name, gpus=8))
        async with Play(fleet) as play:
            await play.until(lambda: bool(play.api.conditions))
            assert play.api.releases == ["a"]
            assert fleet.fleet.offers == {"a": ("n1",)}

    run(test())


def test_what_fits_nowhere_stays_gated_is_told_why_once_and_is_released_when_a_node_can_take_it() -> None:
    async def test() -> None:
        fleet = fleet_of("n1")
        holder = waiting("holder", gpus=8, gates=(), node="n1")
        fleet.tell(holder)
        report(fleet, "n1", holder)
        async with Play(fleet) as play:
            fleet.tell(waiting("p", gpus=4))
            await play.until(lambda: bool(play.api.events))
            await asyncio.sleep(0.3)
            ((name, condition),) = play.api.conditions
            assert (name, condition["type"], condition["status"]) == ("p", "numafit.io/Placed", "False")
            assert condition["reason"] == "Waiting"
            assert "team/holder" in condition["message"]
            assert play.api.events == [("p", "Waiting", condition["message"])]
            assert play.counts.waiting["no_node"] == 1
            fleet.end("holder")
            await asyncio.sleep(0.1)
            assert play.api.releases == []
            report(fleet, "n1")
            fleet.node("n1")
            await play.until(lambda: fleet.pods["p"].gates == ())
            # It may have been told once more, between the holder's end and the node's report, what it waits for.
            await play.until(lambda: play.api.conditions[-1][1]["status"] == "True")

    run(test())


def test_a_release_that_fails_is_taken_back_and_tried_again() -> None:
    async def test() -> None:
        for status in (409, 403, 500):
            fleet = fleet_of("n1")
            async with Play(fleet) as play:
                play.api.refuse = failing(status)
                fleet.tell(waiting("p", gpus=8))
                await play.until(lambda fleet=fleet: fleet.pods["p"].gates == ())  # type: ignore[misc]
                assert play.api.releases == ["p", "p"]

    run(test())


def test_a_pod_that_is_not_what_it_was_is_tried_with_and_without_annotations_and_then_later() -> None:
    async def test() -> None:
        fleet = fleet_of("n1")
        async with Play(fleet) as play:
            play.api.refuse = failing(422, 2)
            fleet.tell(waiting("p", gpus=8))
            await play.until(lambda: fleet.pods["p"].gates == ())
            assert play.api.releases == ["p", "p", "p"]
            assert play.counts.failed == {"changed": 1}

    run(test())


def test_an_answer_that_is_lost_is_found_out_and_nothing_is_sent_twice() -> None:
    async def test() -> None:
        fleet = fleet_of("n1")
        async with Play(fleet) as play:
            play.api.lost_answers = 1
            fleet.tell(waiting("p", gpus=8))
            await play.until(lambda: play.counts.released["known"] == 1)
            assert play.api.releases == ["p"]
            assert fleet.fleet.offers == {"p": ("n1",)}

    run(test())


def test_a_pod_that_vanishes_under_way_leaves_nothing_behind() -> None:
    async def test() -> None:
        fleet = fleet_of("n1")
        async with Play(fleet) as play:
            play.api.hold.clear()
            fleet.tell(waiting("p", gpus=8))
            await play.until(lambda: play.api.releases == ["p"])
            fleet.end("p")
            fleet.tell(waiting("q", gpus=8))
            play.api.hold.set()
            await play.until(lambda: fleet.pods["q"].gates == ())
            assert fleet.fleet.offers == {"q": ("n1",)}

    run(test())


def test_old_news_of_a_released_pod_do_not_release_it_again() -> None:
    async def test() -> None:
        fleet = fleet_of("n1")
        async with Play(fleet) as play:
            play.api.unseen = True
            old = waiting("p", gpus=4)
            fleet.tell(old)
            await play.until(lambda: play.counts.released["known"] == 1)
            fleet.tell(replace(old, metadata=replace(old.metadata, resourceVersion="2")))
            await asyncio.sleep(0.1)
            assert play.api.releases == ["p"]

    run(test())


def test_no_pod_goes_to_the_node_that_has_just_refused_one_like_it() -> None:
    """kueue#14092; and what was placed and rejected is counted and told."""

    async def test() -> None:
        fleet = fleet_of("n1", "n2")
        async with Play(fleet, PlacerOptions(names=1)) as play:
            fleet.tell(waiting("p", gpus=8))
            await play.until(lambda: fleet.pods["p"].gates == ())
            first = play.names("p")[0]
            fleet.reject("p", first)
            fleet.tell(waiting("p2", gpus=8))
            await play.until(lambda: fleet.pods["p2"].gates == ())
            assert play.names("p2") == tuple({"n1", "n2"} - {first})
            fleet.tell(waiting("p3", gpus=8))
            await play.until(lambda: bool(play.api.conditions))
            assert fleet.pods["p3"].gates
            assert play.counts.unpredicted == 1
            await play.until(lambda: any(event[1] == "UnpredictedRejection" for event in play.api.events))

    run(test())


def test_unknown_nodes_are_offered_when_no_other_fits_and_one_that_rejected_comes_last() -> None:
    async def test() -> None:
        fleet = fleet_of()
        told_node(fleet, "bare1")
        told_node(fleet, "bare2")
        async with Play(fleet, PlacerOptions(names=1)) as play:
            fleet.tell(waiting("p"))
            await play.until(lambda: fleet.pods["p"].gates == ())
            assert play.names("p") == ("bare1",)
            fleet.reject("p", "bare1")
            fleet.tell(waiting("p2"))
            await play.until(lambda: fleet.pods["p2"].gates == ())
            assert play.names("p2") == ("bare2",)
            assert play.counts.unpredicted == 0
        fleet = fleet_of()
        told_node(fleet, "bare1")
        async with Play(fleet, PlacerOptions(unknown_nodes=False)) as play:
            fleet.tell(waiting("p"))
            await play.until(lambda: bool(play.api.conditions))
            assert fleet.pods["p"].gates == (PLACE_GATE,)

    run(test())


def test_what_is_under_way_when_a_leader_ends_is_waited_for_and_the_next_one_goes_on() -> None:
    async def test() -> None:
        fleet = fleet_of("n1", "n2")
        async with Play(fleet) as play:
            play.api.hold.clear()
            fleet.tell(waiting("p", gpus=8))
            await play.until(lambda: play.api.releases == ["p"])
            assert play.task is not None
            play.task.cancel()
            await asyncio.sleep(0.05)
            play.api.hold.set()
            await asyncio.gather(play.task, return_exceptions=True)
            assert fleet.pods["p"].gates == ()
            fleet.tell(waiting("q", gpus=8))
            await asyncio.sleep(0.1)
            assert play.api.releases == ["p"]
            play.task = asyncio.create_task(play.placer.run())
            fleet.bind("p", "n1")
            await play.until(lambda: fleet.pods["q"].gates == ())
            assert play.names("q") == ("n2",)

    run(test())


def test_many_that_wait_get_few_names_and_all_are_released_when_each_is_bound() -> None:
    async def test() -> None:
        fleet = fleet_of(*(f"n{number}" for number in range(10)))
        for number in range(20):
            fleet.tell(waiting(f"p{number:02}", cpus=30))
        async with Play(fleet) as play:
            play.api.binds = True
            await play.until(lambda: play.counts.released["known"] == 20)
            assert all(pod.node for pod in fleet.pods.values())
            assert play.counts.offered_names < 60
            # One that is placed at once costs the API server one request: no condition, no event, no look.
            assert [own.method for own in play.api.requests] == ["PATCH"] * 20

    run(test())


def test_a_pod_goes_to_nodes_that_reach_its_volumes() -> None:
    async def test() -> None:
        fleet = filled(PlayedFleet(), "a1", "b1", zones=True)
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-p"}}]
        async with Play(fleet) as play:
            play.api.objects["persistentvolumeclaims/data-p"] = {"spec": {"volumeName": "disk"}}
            rule = {"key": "zone", "operator": "In", "values": ["b"]}
            required = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
            play.api.objects["persistentvolumes/disk"] = {"spec": {"nodeAffinity": {"required": required}}}
            fleet.tell(waiting("p", volumes=volumes))
            await play.until(lambda: fleet.pods["p"].gates == ())
            assert play.names("p") == ("b1",)
            rule["values"] = ["c"]
            fleet.tell(waiting("q", volumes=volumes))
            await play.until(lambda: bool(play.api.conditions))
            assert "none of them reaches its volumes" in play.api.conditions[0][1]["message"]
            assert play.counts.waiting["volumes"] == 1

    run(test())


def test_a_pod_of_higher_priority_goes_where_the_scheduler_makes_room_for_it() -> None:
    """Without a gate the scheduler would evict somebody for it at once: to wait would be worse than no placer."""

    async def test() -> None:
        low = [waiting(name, 60, gates=(), node="n1") for name in ("a", "b")]
        fleet = filled(PlayedFleet(), "n1")
        for own in low:
            fleet.tell(own)
        report(fleet, "n1", *low)
        async with Play(fleet) as play:
            fleet.tell(waiting("modest", 60, priority=100, preemptionPolicy="Never"))
            fleet.tell(waiting("urgent", 60, priority=100))
            await play.until(lambda: fleet.pods["urgent"].gates == ())
            assert play.names("urgent") == ("n1",)
            assert play.counts.released["preempting"] == 1
            # One of both goes; for the next one the other would have to, once this one is there.
            fleet.tell(waiting("next", 60, priority=100))
            await play.until(lambda: play.counts.waiting["no_node"] == 2)
            fleet.end("a")
            fleet.bind("urgent", "n1")
            report(fleet, "n1", low[1], fleet.pods["urgent"])
            fleet.node("n1")
            await play.until(lambda: fleet.pods["next"].gates == ())
            assert fleet.pods["modest"].gates

    run(test())


def test_a_pod_whose_claim_is_not_there_waits_and_goes_when_somebody_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Released it could not be bound, and would count on its nodes for as long as it is there."""
    monkeypatch.setattr(claimed, "ABSENT_SECONDS", 0.1)

    async def test() -> None:
        fleet = fleet_of("n1")
        async with Play(fleet) as play:
            volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data-p"}}]
            fleet.tell(waiting("p", volumes=volumes))
            await play.until(lambda: play.counts.waiting["volumes"] == 1)
            assert fleet.fleet.offers == {}
            play.api.objects["persistentvolumeclaims/data-p"] = {"spec": {}}
            await play.until(lambda: fleet.pods["p"].gates == ())

    run(test())
