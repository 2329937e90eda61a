"""Large pods among small ones, and pods that start together, in the leader's loop."""

import asyncio
import json
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.live.pods import ClusterPod, PodController
from numafit.cluster.live.spec import MOST_RULES
from numafit.cluster.place.placer import PlacerOptions
from numafit.errors import ApiServerError
from numafit.workload.demands import Toleration
from tests.cluster.place.clusters import filled, report, waiting
from tests.cluster.place.played import Play, PlayedApi, PlayedFleet, run

GROUP = {"numafit.io/group": "train", "numafit.io/group-size": "3"}


def holder(name: str, node: str, gpus: int, cpus: int = 2) -> ClusterPod:
    return waiting(name, cpus, gpus, gates=(), node=node)


def fleet_with(node: str, *pods: ClusterPod) -> PlayedFleet:
    fleet = filled(PlayedFleet(), node)
    for own in pods:
        fleet.tell(own)
    report(fleet, node, *pods)
    return fleet


def test_a_small_pod_that_comes_later_does_not_take_what_a_large_one_waits_for() -> None:
    async def test() -> None:
        first, second = holder("first", "n1", 3), holder("second", "n1", 4)
        fleet = fleet_with("n1", first, second)
        async with Play(fleet) as play:
            fleet.tell(waiting("large", gpus=5, made="2026-01-01T00:00:00Z"))
            await play.until(lambda: play.counts.reserved == 1)
            fleet.tell(waiting("small", gpus=1, made="2026-01-02T00:00:00Z"))
            fleet.tell(waiting("tiny", cpus=2, made="2026-01-02T00:00:00Z"))
            # It does not delay the large one.
            await play.until(lambda: fleet.pods["tiny"].gates == ())
            await play.until(lambda: play.counts.waiting["reserved"] == 1)
            await play.until(lambda: len(play.api.conditions) == 2)
            told = {name: condition["message"] for name, condition in play.api.conditions}
            assert told["small"] == "1 node would take it, and larger pods that wait for longer come first."
            assert "n1 is kept for it until 20" in told["large"]
            assert "where team/second has to end first." in told["large"]
            fleet.end("second")
            report(fleet, "n1", first)
            fleet.node("n1")
            await play.until(lambda: fleet.pods["large"].gates == ())
            assert fleet.pods["small"].gates
            fleet.bind("large", "n1")
            report(fleet, "n1", first, fleet.pods["large"])
            fleet.node("n1")
            # Now it is the small one that waits, for the end of anybody.
            await play.until(lambda: play.counts.waiting["no_node"] == 1 and play.counts.reserved == 1)

    run(test())


def test_a_node_is_kept_for_a_bounded_time() -> None:
    async def test() -> None:
        """Then the next one has its turn; what is kept for that one leaves room for the small one."""
        fleet = fleet_with("n1", holder("first", "n1", 3), holder("second", "n1", 4))
        async with Play(fleet, PlacerOptions(reserve_seconds=2)) as play:
            fleet.tell(waiting("large", gpus=5, made="2026-01-01T00:00:00Z"))
            await play.until(lambda: play.counts.reserved == 1)
            fleet.tell(waiting("other", gpus=3, made="2026-01-01T00:00:01Z"))
            fleet.tell(waiting("small", gpus=1, made="2026-01-02T00:00:00Z"))
            await play.until(lambda: play.counts.waiting["reserved"] == 1)
            await play.until(lambda: fleet.pods["small"].gates == ())
            assert fleet.pods["large"].gates

    run(test())


def test_without_reservations_the_small_one_goes_first() -> None:
    async def test() -> None:
        fleet = fleet_with("n1", holder("first", "n1", 4), holder("second", "n1", 2))
        async with Play(fleet, PlacerOptions(reserve_seconds=0)) as play:
            fleet.tell(waiting("large", gpus=4, made="2026-01-01T00:00:00Z"))
            fleet.tell(waiting("small", gpus=1, made="2026-01-02T00:00:00Z"))
            await play.until(lambda: fleet.pods["small"].gates == ())
            assert fleet.pods["large"].gates

    run(test())


def member(name: str, gpus: int = 4, annotations: dict[str, str] | None = None, **more: Any) -> ClusterPod:
    return waiting(name, gpus=gpus, annotations=GROUP if annotations is None else annotations, **more)


def test_a_group_is_released_when_all_are_there_each_to_one_node() -> None:
    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1", "n2")
        async with Play(fleet) as play:
            for name in ("a", "b"):
                fleet.tell(member(name))
            await play.until(lambda: len(play.api.conditions) == 2)
            assert {condition["message"] for _, condition in play.api.conditions} == {
                "2 of 3 pods of group train are there; it starts when all are."
            }
            assert play.counts.waiting["group"] == 2
            assert play.api.releases == []
            fleet.tell(member("c"))
            await play.until(lambda: sorted(play.api.releases) == ["a", "b", "c"])
            await play.until(lambda: all(fleet.pods[name].gates == () for name in "abc"))
            assert sorted(len(play.names(name)) for name in "abc") == [1, 1, 1]
            assert sorted(play.names(name)[0] for name in "abc") in (["n1", "n1", "n2"], ["n1", "n2", "n2"])

    run(test())


def test_a_group_for_which_there_is_not_room_enough_takes_none_of_it() -> None:
    async def test() -> None:
        first = holder("first", "n1", 4)
        fleet = fleet_with("n1", first)
        async with Play(fleet, PlacerOptions(reserve_seconds=0)) as play:
            for name in ("a", "b", "c"):
                fleet.tell(member(name, gpus=2))
            await play.until(lambda: len(play.api.conditions) == 3)
            assert (play.api.releases, fleet.fleet.offers.keys() & {"a", "b", "c"}) == ([], set())
            (told,) = {condition["message"] for _, condition in play.api.conditions}
            assert told.startswith("2 of the 3 pods of group train that start together have room now. ")
            # What it does not get is left to others.
            fleet.tell(waiting("alone", gpus=4))
            await play.until(lambda: fleet.pods["alone"].gates == ())
            fleet.end("alone")
            fleet.end("first")
            report(fleet, "n1")
            fleet.node("n1")
            await play.until(lambda: sorted(play.api.releases) == ["a", "alone", "b", "c"])

    run(test())


def test_two_groups_do_not_hold_a_half_each() -> None:
    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1", "n2")
        async with Play(fleet) as play:
            for number in range(3):
                for name in ("x", "y"):
                    own = {"numafit.io/group": name, "numafit.io/group-size": "3"}
                    fleet.tell(member(f"{name}{number}", annotations=own))
            await play.until(lambda: len(play.api.releases) == 3)
            await asyncio.sleep(0.3)
            assert len({name[0] for name in play.api.releases}) == 1

    run(test())


def test_a_pod_that_replaces_one_of_a_running_group_comes_alone() -> None:
    async def test() -> None:
        own = [waiting(name, gpus=2, gates=(), node="n1", annotations=GROUP) for name in ("a", "b")]
        fleet = fleet_with("n1", *own)
        async with Play(fleet) as play:
            fleet.tell(member("c", gpus=2))
            await play.until(lambda: play.api.releases == ["c"])

    run(test())


def test_a_release_of_a_group_that_fails_for_one_is_tried_again_for_that_one() -> None:
    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1", "n2")
        async with Play(fleet) as play:
            left = ["b"]

            def refuse(asked: Any) -> int | None:
                name = asked.path.rpartition("/")[2]
                if asked.method == "PATCH" and "json-patch" in asked.kind and name in left:
                    left.remove(name)
                    return 500
                return None

            play.api.refuse = refuse
            for name in "abc":
                fleet.tell(member(name))
            await play.until(lambda: all(fleet.pods[name].gates == () for name in "abc"))
            assert sorted(play.api.releases) == ["a", "b", "b", "c"]

    run(test())


@pytest.mark.parametrize(
    ("status", "released"), [(200, []), (404, ["w0", "w1"])], ids=["the Job says three", "nobody may read it"]
)
def test_the_size_of_a_job_is_read_where_its_pods_say_that_they_start_together(
    status: int, released: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def get(self: PlayedApi, path: str, parameters: object = None) -> bytes:
        asked.append(path)
        if status != 200:
            raise ApiServerError("no", status=status)
        return json.dumps({"spec": {"parallelism": 3, "completions": 3}}).encode()

    monkeypatch.setattr(PlayedApi, "get", get)

    async def test() -> None:
        fleet = filled(PlayedFleet(), "n1")
        async with Play(fleet) as play:
            owner = PodController("Job", "work", "uid", "batch/v1")
            for number in range(2):
                pod = member(f"w{number}", 1, {"numafit.io/together": "true"})
                fleet.tell(replace(pod, owner=owner))
            await play.until(lambda: bool(asked))
            if released:
                await play.until(lambda: sorted(play.api.releases) == released)
            else:
                await play.until(lambda: play.counts.waiting["group"] == 2)
            assert set(asked) == {"/apis/batch/v1/namespaces/team/jobs/work"}

    run(test())


def test_a_pod_that_is_too_large_to_be_decided_is_let_go_as_if_nobody_had_gated_it() -> None:
    """The webhook gates none like it, so its maker has; nobody waits while it is looked at for each node."""

    async def test() -> None:
        fleet = fleet_with("n1")
        rules = tuple(Toleration(f"k{number}", "Exists") for number in range(MOST_RULES + 1))
        for name, labels in (("large", {}), ("member", GROUP | {"numafit.io/group-size": "1"})):
            own = waiting(name)
            demands = replace(own.pod.demands, tolerations=rules)
            fleet.tell(
                replace(own, pod=replace(own.pod, demands=demands), metadata=replace(own.metadata, labels=labels))
            )
        async with Play(fleet) as play:
            await play.until(lambda: not any(pod.gates for pod in fleet.pods.values()))
            assert play.counts.released == {"any": 2}
            assert fleet.fleet.offers == {}

    run(test())
