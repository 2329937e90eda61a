import asyncio
import json

import pytest

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.node.learn import KnownNode
from numafit.cluster.node.resource_topology import PATH, ResourceTopologyPublisher, resource_topology
from numafit.settings.node_object import NodeObject
from tests.cluster.node.fakes import FakeApi
from tests.cluster.topology.nodes import guaranteed, stage_on, with_pods_on

NODE = KnownNode(NodeObject("n1", "v1.36.0"), "of-n1", {})


def test_zones_have_what_is_left_of_each_numa_node() -> None:
    stage = with_pods_on(stage_on("gpu8-128cpu"), guaranteed("a", 4, "8Gi", 2))
    content = json.loads(resource_topology("n1", stage, NODE, [("team", "a")]))
    zones = {zone["name"]: {own["name"]: own for own in zone["resources"]} for zone in content["zones"]}
    assert [zone["type"] for zone in content["zones"]] == ["Node", "Node"]
    cpus = {
        name: [int(own["cpu"][key]) for key in ("capacity", "allocatable", "available")] for name, own in zones.items()
    }
    assert sum(available for _, _, available in cpus.values()) == sum(offered for _, offered, _ in cpus.values()) - 4
    gpus = {name: own["nvidia.com/gpu"]["available"] for name, own in zones.items()}
    assert gpus == {"node-0": "2", "node-1": "4"}
    free = [int(own["memory"]["allocatable"]) - int(own["memory"]["available"]) for own in zones.values()]
    assert free == [8 << 30, 0]
    attributes = {own["name"]: own["value"] for own in content["attributes"]}
    assert attributes["topologyManagerScope"] == stage.node.settings.topology_scope
    assert attributes["nodeTopologyPodsFingerprint"].startswith("pfp0v001")
    assert content["metadata"]["ownerReferences"][0]["uid"] == "of-n1"


@pytest.mark.parametrize("other", ["rte", "", "none"])
def test_another_publisher_is_left_alone(other: str) -> None:
    """`other`: who manages it; empty where it is defined and nobody does, `none` where it is not even defined."""
    api, told = FakeApi(), list[str]()
    if other != "none":
        api.objects[PATH] = {"items": []}
    if other == "rte":
        api.objects[f"{PATH}/n1"] = {"metadata": {"managedFields": [{"manager": "rte"}]}, "zones": []}

    async def refused(why: str) -> None:
        told.append(why)

    async def story() -> None:
        publisher = ResourceTopologyPublisher(api, "n1", ApiHealth(), refused)
        work = asyncio.create_task(publisher.run())
        stage = stage_on("laptop")
        for _ in range(3):
            publisher.offer(stage, NODE, [])
            await asyncio.sleep(0.02)
        work.cancel()

    asyncio.run(story())
    assert (
        told
        == {
            "rte": ["NodeResourceTopology n1 is published by rte"],
            "none": ["the cluster has no topology.node.k8s.io/v1alpha2 NodeResourceTopology"],
            "": [],
        }[other]
    )
    assert api.asked[f"APPLY {PATH}/n1"] == (0 if other else 1)
