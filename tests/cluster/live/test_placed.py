"""The condition that tells a pod why it waits."""

import asyncio
import json

from numafit.cluster.kube.api import STRATEGIC
from numafit.cluster.live.placed import write_placed
from tests.cluster.kube.scripted_server import Answer, scripted
from tests.cluster.live.cluster_objects import pod


def test_a_pod_is_told_by_a_condition_that_changes_each_time() -> None:
    async def test() -> None:
        async with scripted(lambda asked: Answer(b"{}")) as (server, api):
            await write_placed(api, pod("a"), "False", "Fits", "a node would admit it")
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
