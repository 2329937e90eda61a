from typing import Any

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import HOLD_GATE, PLACE_GATE, PLACED
from numafit.fleet.fleet import FleetNode
from numafit.fleet.state import state_of
from numafit.service.fleet.tiles import UNKNOWN, loops_of, tile_of, totals_of, waiting_of
from numafit.show.records.fleet_board import KindRecord
from tests.cluster.live.cluster_objects import kept, lenient_stage, node, pod, pod_object
from tests.cluster.topology.nodes import with_pods_on


def owned(name: str, owner: str = "web", **more: Any) -> ClusterPod:
    told = pod_object(name, **more)
    entry = {"kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}", "apiVersion": "apps/v1", "controller": True}
    told["metadata"]["ownerReferences"] = [entry]
    return kept(told)


def test_a_node_is_told_with_each_of_its_numa_nodes() -> None:
    """Where no GPU is left on a NUMA node, its free CPUs and memory are stranded."""
    stage = with_pods_on(lenient_stage(), pod("a", cpus=8, gpus=4).pod)
    state = state_of("kind", stage.node, stage.ledger, stage.allocatable)
    tile = tile_of(node("n1"), FleetNode("n1", state), "")
    assert (tile.known, tile.policy, tile.pods, tile.split) == (True, "best-effort", 1, ())
    assert tile.gpus == KindRecord(8, 4, 0)
    first, second = tile.numa
    assert first.gpus == KindRecord(4, 0, 0)
    assert first.cpus == KindRecord(63, 55, 55)
    assert second.cpus == KindRecord(64, 64, 0)
    assert tile.cpus == KindRecord(127, 119, 55)
    assert tile.fragmentation > 0


def test_a_node_of_which_nothing_is_known_says_why() -> None:
    assert tile_of(node("n1"), None, "").trouble == UNKNOWN
    tile = tile_of(node("n1", unschedulable=True), None, "its object is damaged")
    assert (tile.known, tile.schedulable, tile.trouble) == (False, False, "its object is damaged")


def test_who_waits_is_told_by_priority_and_age_with_the_words_of_who_knows() -> None:
    placed = {"type": PLACED, "status": "False", "reason": "Waiting", "message": "5 GPUs: no node has them"}
    scheduled = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    old = pod("old", gates=(PLACE_GATE,), conditions=[placed])
    low = pod("low", conditions=[scheduled])
    told = pod_object("high")
    told["spec"]["priority"] = 100
    found = waiting_of([low, old, kept(told), pod("bound", node="n1")])
    assert [(own.pod, own.teller, own.sentence) for own in found] == [
        ("team/high", "", ""),
        ("team/low", "scheduler", "0/3 nodes"),
        ("team/old", "placer", "5 GPUs: no node has them"),
    ]


def test_rejected_pods_are_counted_by_their_owner_and_held_ones_named() -> None:
    bad: Any = {"phase": "Failed", "reason": "TopologyAffinityError", "message": "no"}
    failed = [owned(f"p{number}", node=f"n{number}", **bad) for number in range(3)]
    crashed = owned("crashed", owner="other", node="n1", phase="Failed", reason="Error")
    bare = pod("bare", node="n1", **bad)
    held = owned("next", gates=(HOLD_GATE,))
    (loop,) = loops_of([*failed, crashed, bare], [held])
    assert (loop.owner, loop.rejected, loop.reason) == ("ReplicaSet team/web", 3, "TopologyAffinityError")
    assert loop.nodes == ("n0", "n1", "n2")
    assert loop.held == ("next",)


def test_the_sum_counts_what_is_known() -> None:
    stage = lenient_stage()
    state = state_of("kind", stage.node, stage.ledger, stage.allocatable)
    tiles = {"n1": tile_of(node("n1"), FleetNode("n1", state), ""), "n2": tile_of(node("n2"), None, "")}
    totals = totals_of(tiles, 4)
    assert (totals.nodes, totals.known, totals.waiting) == (2, 1, 4)
    assert totals.gpus == KindRecord(8, 8, 0)
