"""Pods that were refused, and how their scheduler is told."""

import asyncio
import json

from numafit.cluster.extender.waiting import MOST_WOKEN, RefusedPods, wake
from numafit.cluster.kube.api import STRATEGIC
from numafit.cluster.live.pods import ClusterPod
from tests.cluster.kube.scripted_server import Answer, scripted
from tests.cluster.live.cluster_objects import pod


def test_a_pod_is_told_by_a_condition_that_changes_each_time() -> None:
    async def test() -> None:
        async with scripted(lambda asked: Answer(b"{}")) as (server, api):
            await wake(api, pod("a"))
            (asked,) = server.asked
            assert (asked.method, asked.target) == ("PATCH", "/api/v1/namespaces/team/pods/a/status")
            assert asked.headers["content-type"] == STRATEGIC
            content = json.loads(asked.content)
            assert content["metadata"] == {"uid": "a"}
            (condition,) = content["status"]["conditions"]
            assert (condition["type"], condition["status"], condition["reason"]) == (
                "numafit.io/Placed",
                "False",
                "Fits",
            )
            assert condition["lastTransitionTime"]

    asyncio.run(asyncio.wait_for(test(), 10))


def test_of_equal_pods_without_room_one_is_looked_at_and_of_many_with_room_some_are_woken() -> None:
    looked: list[str] = []

    def fits(own: ClusterPod) -> bool:
        looked.append(own.uid)
        return own.uid.startswith("small")

    pods = RefusedPods(fits)
    for index in range(50):
        pods.refused(pod(f"large-{index}", cpus=64), 1.0)
        pods.refused(pod(f"small-{index}"), 1.0)
    pods.changed(2.0)
    assert pods.to_wake(2.0) == []
    assert len(pods.to_wake(3.0)) == MOST_WOKEN
    assert [own for own in looked if own.startswith("large")] == ["large-0"]
