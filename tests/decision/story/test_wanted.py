"""A refusal that no merge made is told with what it wanted, and for which of it the pod was refused."""

from collections.abc import Mapping

from msgspec.structs import replace

from numafit.decision.decide import decide
from numafit.decision.decision import Decision
from numafit.decision.life import start_containers
from numafit.decision.node import Node
from numafit.decision.story.story import story_of
from numafit.decision.story.wanted import Wanted
from numafit.quantity import Quantity
from numafit.settings.facts import NodeFacts
from numafit.workload.demands import Demands
from numafit.workload.pod import Pod
from tests.decision.strategies import GI, GPU, amounts, box, container, cpus, gpus, pod, running, settings

BOX = box(2, 8, 2, memory=16 * GI, devices=gpus(0, 1))
"""Two NUMA nodes of 8 CPUs and a GPU; one CPU is reserved."""
OFFERED = amounts({"cpu": "15", "memory": "30Gi", "pods": "110", GPU: "2"})


def last(*pods: Pod, topology: str = "none", offered: Mapping[str, Quantity] | None = OFFERED) -> tuple[Node, Decision]:
    node, ledger = running(BOX, settings(cpu="static", topology=topology))
    node = replace(node, facts=NodeFacts(labels={"zone": "a"}))
    for each in pods:
        decision = decide(node, ledger, each, offered)
        ledger = start_containers(node, decision.ledger, each.uid)[0] if decision.admitted else decision.ledger
    return node, decision


def told(node: Node, decision: Decision) -> tuple[list[tuple[str, int, list[int]]], tuple[str, ...]]:
    """Resource, what is needed, and what is free on each NUMA node; and what stopped it."""
    wanted = story_of(node, decision).wanted
    assert isinstance(wanted, Wanted)
    return [(row.resource, row.needed, [cell.free for cell in row.cells]) for row in wanted.rows], wanted.stops


def test_without_a_policy_the_manager_that_refuses_is_told_with_all_numa_nodes() -> None:
    """16 CPUs are asked for, and 15 may be given, whatever their NUMA node."""
    node, decision = last(pod("a", cpus("app", "16", {GPU: "1"})), offered=None)
    assert (decision.admitted, decision.merges) == (False, None)
    assert told(node, decision) == ([("cpu", 16, [7, 8])], ("cpu",))


def test_a_later_container_meets_what_the_earlier_ones_left() -> None:
    node, decision = last(pod("a", cpus("one", "9"), cpus("two", "7")), offered=None)
    ((resource, needed, free),), stops = told(node, decision)
    assert (resource, needed, sum(free), stops) == ("cpu", 7, 6, ("cpu",))


def test_a_node_that_is_short_as_a_whole_is_told_with_what_the_pod_would_have_had() -> None:
    """The managers found a place, and gave it back: 15 CPUs are free of holders, but others ask for 10 of them."""
    shared = container("app", {}, requests={"cpu": "10", "memory": "1Gi"})
    pods = (pod("shared", shared), pod("a", cpus("app", "8", {GPU: "1"})))
    for topology in ("none", "best-effort"):
        node, decision = last(*pods, topology=topology)
        assert decision.reason == "OutOfcpu"
        assert told(node, decision) == ([("cpu", 8, [7, 8]), (GPU, 1, [1, 1])], ("cpu",))


def test_what_has_no_numa_node_stops_without_a_row() -> None:
    node, decision = last(pod("a", cpus("app", "2")), offered={**OFFERED, **amounts({"pods": "0"})})
    assert decision.reason == "OutOfpods"
    assert told(node, decision) == ([("cpu", 2, [7, 8])], ("pods",))


def test_a_node_of_another_sort_is_short_of_nothing() -> None:
    other = replace(pod("a", cpus("app", "2")), demands=Demands(selector=(("disk", "ssd"),)))
    node, decision = last(other)
    assert decision.reason == "NodeAffinity"
    assert told(node, decision) == ([("cpu", 2, [7, 8])], ())


def test_who_is_admitted_or_refused_by_a_merge_has_none() -> None:
    for topology, number, admitted in (("none", "8", True), ("single-numa-node", "9", False)):
        node, decision = last(pod("a", cpus("app", number)), topology=topology)
        assert (decision.admitted, story_of(node, decision).wanted) == (admitted, None)
