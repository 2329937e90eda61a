"""Statuses on their way: each once, the newest, rejections first, and tried again where that helps."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.sim import writer
from numafit.cluster.sim.group import SimulatedNode
from numafit.cluster.sim.node_object import NodeMark
from numafit.cluster.sim.status import style_of
from numafit.cluster.sim.writer import StatusWriter
from tests.cluster.sim.fake_api import FakeApi
from tests.cluster.sim.nodes import bound, kubelet, pod, uid

PODS = "/api/v1/namespaces/default/pods"


def simulated() -> SimulatedNode:
    own = kubelet()
    return SimulatedNode(own, NodeMark(), style_of(own.situation.node.settings))


def written(node: SimulatedNode, act: Callable[[FakeApi, StatusWriter], None], failures: Any = ()) -> FakeApi:
    """All that `act` puts, until nothing waits."""

    async def run() -> FakeApi:
        api = FakeApi()
        api.failures += failures
        own = StatusWriter(api, ApiHealth())
        act(api, own)
        work = asyncio.create_task(own.run())
        await asyncio.sleep(0.01)
        api.hold.set()
        await own.drained(10)
        work.cancel()
        return api

    return asyncio.run(run())


def test_a_status_is_a_strategic_patch_with_the_uid() -> None:
    node = simulated()
    node.kubelet.add([bound(pod("a", cpu="2"))], 100.0)
    api = written(node, lambda _, own: own.put(node, uid("a")))
    (asked,) = api.asked
    assert (asked.method, asked.path) == ("PATCH", f"{PODS}/a/status")
    assert asked.content["metadata"] == {"uid": uid("a")}
    assert asked.content["status"]["phase"] == "Pending"


def test_of_a_pod_that_nobody_has_decided_about_nothing_is_told() -> None:
    node = simulated()
    node.kubelet.situation = replace(node.kubelet.situation, down=True)
    node.kubelet.add([bound(pod("a", cpu="2"))], 100.0)
    assert written(node, lambda _, own: own.put(node, uid("a"))).asked == []


def test_rejections_come_first_and_each_pod_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "WORKERS", 1)
    node = simulated()
    for name, cpu in (("a", "1"), ("b", "1"), ("wide", "9")):
        node.kubelet.add([bound(pod(name, cpu=cpu))], 100.0)

    def act(_: FakeApi, own: StatusWriter) -> None:
        for name in ("a", "b", "a", "wide", "a"):
            own.put(node, uid(name))

    assert written(node, act).paths("PATCH") == [f"{PODS}/{name}/status" for name in ("wide", "a", "b")]


def test_what_changes_while_it_is_on_its_way_is_told_after_it() -> None:
    node = simulated()
    node.kubelet.add([bound(pod("a", cpu="2"))], 100.0)

    def act(api: FakeApi, own: StatusWriter) -> None:
        api.hold.clear()
        own.put(node, uid("a"))

        def later() -> None:
            node.kubelet.advance(101.0)
            own.put(node, uid("a"))

        asyncio.get_running_loop().call_later(0.005, later)

    api = written(node, act)
    assert [asked.content["status"]["phase"] for asked in api.asked] == ["Pending", "Running"]


def test_a_deleted_pod_is_told_to_be_over_and_then_its_object_goes() -> None:
    node = simulated()
    node.kubelet.add([bound(pod("a", cpu="2"))], 100.0)
    node.kubelet.update(bound(pod("a", cpu="2"), deleting=True), 101.0)
    api = written(node, lambda _, own: own.put(node, uid("a")))
    assert [asked.method for asked in api.asked] == ["PATCH", "DELETE"]
    assert api.asked[1].content == {"gracePeriodSeconds": 0, "preconditions": {"uid": uid("a")}}


def test_one_that_was_over_before_goes_at_once() -> None:
    node = simulated()
    node.kubelet.add([bound(pod("wide", cpu="9"))], 100.0)
    written(node, lambda _, own: own.put(node, uid("wide")))
    node.kubelet.update(bound(pod("wide", cpu="9"), deleting=True), 101.0)
    api = written(node, lambda _, own: own.put(node, uid("wide")))
    assert [asked.method for asked in api.asked] == ["DELETE"]


@pytest.mark.parametrize(
    ("failures", "patches"),
    [([500, 429, 0], 1), ([404], 0), ([409], 1), ([409, 409, 409], 0)],
    ids=["passes by itself", "the pod is gone", "a conflict", "conflict after conflict"],
)
def test_what_fails_is_tried_again_where_that_helps(failures: list[int], patches: int) -> None:
    node = simulated()
    node.kubelet.add([bound(pod("a", cpu="2"))], 100.0)
    api = written(node, lambda _, own: own.put(node, uid("a")), [("/status", status) for status in failures])
    assert len(api.asked) == patches
