"""Where the scheduler makes room for a pod of higher priority, and where that would be of no use."""

from typing import Any

import msgspec
from msgspec.structs import replace

from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.nodes import SentNode, node_of
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.around.preempt import RoomMade, let_back, preempts, room_made
from numafit.cluster.topology.read import read_topology
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.machine.catalogue.names import machine_named
from numafit.quantity import parse_quantity
from numafit.settings.example import example_kubelet
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import DEFAULT_VERSION
from tests.cluster.live.cluster_objects import node, node_object, topology_object
from tests.cluster.place.clusters import waiting
from tests.cluster.topology.nodes import GPU, with_pods_on


def on(name: str, node: str, gpus: int, priority: int = 0, **more: Any) -> ClusterPod:
    return waiting(name, 2, gpus, gates=(), node=node, priority=priority, **more)


def strict_stage(policy: str) -> Stage:
    """128 CPUs and 8 GPUs on two NUMA nodes."""
    machine = machine_named("gpu8-128cpu")
    text = example_kubelet(machine).replace("restricted", policy)
    return new_stage(Start(version=DEFAULT_VERSION, sources=ConfigSources(ConfigFile("k", text)), machine=machine))


def cluster(policy: str = "single-numa-node", **nodes: list[ClusterPod]) -> FleetBook:
    book = FleetBook()
    for name, pods in nodes.items():
        value = node_object(name)
        value["status"]["allocatable"][GPU] = "8"
        book.node_told(node_of(msgspec.convert(value, SentNode)))
        for own in pods:
            book.pod_told(own)
        stage = with_pods_on(strict_stage(policy), *(own.pod for own in pods))
        book.reported(name, book.read(read_topology(msgspec.json.encode(topology_object(name, stage)))))
    return book


def asked(book: FleetBook, pod: ClusterPod, kept: tuple[str, ...] = ()) -> RoomMade | None:
    placing = book.places(pod.pod)
    assert not placing.places
    return room_made(pod, placing, book.fleet, book.memory, book.nodes, book.pods.values(), kept)


URGENT = waiting("urgent", gpus=4, priority=100)


def test_a_node_is_named_where_whoever_is_evicted_the_pod_is_admitted() -> None:
    assert asked(cluster(n1=[on("a", "n1", 4), on("b", "n1", 4)]), URGENT) == RoomMade(0, 1, "n1")


def test_the_least_harm_comes_first() -> None:
    book = cluster(
        n1=[on("a", "n1", 4, 50), on("b", "n1", 4, 50)],
        n2=[on("c", "n2", 2), on("d", "n2", 2), on("e", "n2", 4, 100)],
        n3=[on("f", "n3", 4), on("g", "n3", 4, 100)],
    )
    assert asked(book, URGENT) == RoomMade(0, 1, "n3")
    assert asked(book, URGENT, ("n3",)) == RoomMade(0, 2, "n2")
    assert asked(book, URGENT, ("n3", "n2")) == RoomMade(50, 1, "n1")


def test_nobody_is_evicted_where_the_wrong_ones_might_be() -> None:
    """Two of four pods with two GPUs each have to go, and by sums any two will do; but they may lie on two NUMA nodes,
    where the kubelet does not take a pod with four."""
    pods = [on(name, "n1", 2) for name in "abcd"]
    assert asked(cluster(n1=pods), URGENT) is None


def test_nobody_is_evicted_where_the_scheduler_would_bind_it_as_the_node_stands() -> None:
    """Two GPUs are free, one on each NUMA node: by sums there is room, and the kubelet would reject it."""
    book = cluster(n1=[on("a", "n1", 3), on("b", "n1", 3)])
    assert asked(book, waiting("urgent", gpus=2, priority=100)) is None


def test_pods_of_the_same_priority_are_left_alone() -> None:
    assert asked(cluster(n1=[on("a", "n1", 4, 100), on("b", "n1", 4, 100)]), URGENT) is None


def test_who_is_on_its_way_may_come_before_it_or_not() -> None:
    """With the other one there, or without, the kubelet takes it."""
    book = cluster(n1=[on("a", "n1", 4), on("b", "n1", 4)])
    other = waiting("other", 2)
    book.pod_told(other)
    book.offer(other, ("n1",))
    assert asked(book, URGENT) == RoomMade(0, 1, "n1")
    first = waiting("first", gpus=4, priority=100)
    book.pod_told(first)
    book.offer(first, ("n1",))
    assert asked(book, URGENT) is None


def test_only_who_has_a_priority_and_may_evict_does() -> None:
    assert preempts(URGENT)
    assert not preempts(waiting("p", gpus=4))
    assert not preempts(waiting("p", gpus=4, priority=100, preemptionPolicy="Never"))


def test_all_ways_are_found_in_which_the_scheduler_may_let_pods_back() -> None:
    own = replace(node("n1"), allocatable={"cpu": parse_quantity("10"), "pods": parse_quantity("9")})
    lower = {"a": {"cpu": 4000, "pods": 1}, "b": {"cpu": 3000, "pods": 1}, "c": {"cpu": 2000, "pods": 1}}
    found = set(let_back({"cpu": 4000, "pods": 1}, lower, own))
    assert found == {frozenset("ac"), frozenset("bc")}
    assert set(let_back({"cpu": 1000, "pods": 1}, lower, own)) == {frozenset("abc")}
    assert set(let_back({"cpu": 11000, "pods": 1}, lower, own)) == set()
