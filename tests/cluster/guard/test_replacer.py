"""Pods that were released to some nodes, and that the scheduler cannot bind."""

import asyncio

import pytest
from msgspec.structs import replace

from numafit.cluster.guard import replacer
from numafit.cluster.guard.replacer import LoopReplacer
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.pods import ClusterPod
from tests.cluster.guard.looping import owned_object
from tests.cluster.guard.recorded_api import RecordedApi
from tests.cluster.guard.told_cluster import book
from tests.cluster.live.cluster_objects import kept

UNSCHEDULABLE = ({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "taken"},)


def released() -> ClusterPod:
    sent = owned_object("p", conditions=UNSCHEDULABLE)
    sent["metadata"]["annotations"] = {"numafit.io/nodes": "gone"}
    return kept(sent)


def test_one_whose_nodes_are_gone_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, api, now = book("n1"), RecordedApi(lambda _: {"metadata": {"uid": "p", "resourceVersion": "7"}}), [0.0]
    monkeypatch.setattr(replacer.time, "monotonic", lambda: now[0])
    own = LoopReplacer(api, ApiHealth(), cluster, lambda _: None)
    pod = released()
    own.told(pod)
    asyncio.run(own._look(pod))
    assert api.noted == []
    now[0] = 11.0
    asyncio.run(own._look(pod))
    (asked,) = api.of("DELETE")
    assert asked.content["preconditions"] == {"uid": "p", "resourceVersion": "7"}


def test_a_job_counts_what_is_deleted_so_its_pods_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, api, now = book("n1"), RecordedApi(), [0.0]
    monkeypatch.setattr(replacer.time, "monotonic", lambda: now[0])
    own = LoopReplacer(api, ApiHealth(), cluster, lambda _: None)
    pod = released()
    assert pod.owner is not None
    pod = replace(pod, owner=replace(pod.owner, kind="Job"))
    own.told(pod)
    now[0] = 10_000.0
    asyncio.run(own._look(pod))
    assert api.of("DELETE") == []
