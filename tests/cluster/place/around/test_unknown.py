"""Nodes that no NodeTopology tells of."""

import msgspec
import pytest

from numafit.cluster.live.nodes import ClusterNode, SentNode, node_of
from numafit.cluster.place.around.unknown import sums_of, unknown_places
from tests.cluster.live.cluster_objects import node_object
from tests.cluster.place.clusters import waiting


def node(name: str, **changes: object) -> ClusterNode:
    return msgspec.structs.replace(node_of(msgspec.convert(node_object(name), SentNode)), **changes)


def names(*nodes: ClusterNode, cpus: int = 100, **pod: object) -> list[str]:
    there = waiting("there", cpus=50, gates=(), node="busy")
    sums = sums_of([there], {}, {"busy"})
    return list(unknown_places(waiting("p", cpus=cpus, **pod).pod, nodes, sums))  # type: ignore[arg-type]


def test_room_is_what_is_left_of_the_sums_and_the_emptiest_comes_first() -> None:
    assert names(node("busy"), node("free")) == ["free"]
    assert names(node("busy"), node("free"), cpus=20) == ["free", "busy"]


@pytest.mark.parametrize("changes", [{"ready": False}, {"unschedulable": True}, {"allocatable": {}}])
def test_a_node_that_takes_nobody_is_left_out(changes: dict[str, object]) -> None:
    assert names(node("n", **changes)) == []


def test_labels_taints_and_resources_that_it_does_not_list_count() -> None:
    assert names(node("n"), nodeSelector={"pool": "gpu"}) == []
    assert names(node("n", labels={"pool": "gpu"}), nodeSelector={"pool": "gpu"}) == ["n"]
    assert names(node("n"), gpus=1) == []


def test_a_pod_counts_on_each_node_that_it_was_offered_to() -> None:
    offered = waiting("o", cpus=100)
    sums = sums_of([offered], {"o": ("a", "b", "known")}, {"a", "b"})
    assert {name: own["cpu"] for name, own in sums.items()} == {"a": 100_000, "b": 100_000}
    assert list(unknown_places(waiting("p", cpus=100).pod, [node("a"), node("c")], sums)) == ["c"]
