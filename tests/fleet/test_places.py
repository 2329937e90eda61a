"""Which nodes admit a pod: as if each of them had been asked by itself."""

import random
from itertools import permutations

import pytest
from msgspec.structs import replace

from numafit.decision.decide import decide
from numafit.fleet.fleet import Fleet
from numafit.fleet.orders import MOST_ORDERED, PROMISED
from numafit.fleet.places import REFUSED, UNSCHEDULABLE, places
from numafit.fleet.state import NodeState, state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.settings.facts import NodeFacts, Taint
from numafit.workload.demands import Demands, HostPort, Toleration
from numafit.workload.pod import Pod
from tests.fleet.fleets import ALLOCATABLE, admitted_all, pod, pod_by_chance, started, state_by_chance

KINDS = {
    "strict": started("single-numa-node"),
    "strict-pod": started("single-numa-node", "pod"),
    "restricted": started("restricted", gpus=1),
    "loose": started("best-effort"),
    "none": started("none", minor=30),
}


def idle(kind: str = "strict") -> NodeState:
    return state_of(kind, *KINDS[kind], ALLOCATABLE)


def names(fleet: Fleet, own: Pod, most: int | None = None) -> list[str]:
    return [place.node for place in places(fleet, own, VerdictMemory(), most).places]


@pytest.mark.parametrize("seed", range(30))
def test_a_fleet_answers_as_each_node_by_itself(seed: int) -> None:
    chance = random.Random(seed)
    fleet, states = Fleet(), {}
    for number in range(20):
        kind = chance.choice(list(KINDS))
        states[f"n{number}"] = state_by_chance(kind, *KINDS[kind], chance, f"{number}")
        fleet = fleet.reported(f"n{number}", states[f"n{number}"])
    memory = VerdictMemory()
    for number in range(10):
        new = pod_by_chance(f"new-{number}", chance)
        expected = {name for name, own in states.items() if decide(own.node, own.ledger, new, ALLOCATABLE).admitted}
        found = places(fleet, new, memory)
        assert {place.node for place in found.places} == expected
        told = {(name, refusal.reason) for refusal, refused in found.refusals.items() for name in refused}
        reasons = {
            (name, decide(own.node, own.ledger, new, ALLOCATABLE).reason)
            for name, own in states.items()
            if name not in expected
        }
        assert told == reasons
        few = places(fleet, new, memory, most=3)
        assert len(few.places) == min(3, len(expected))
        assert {place.node for place in few.places} <= expected
        assert len(few.places) + sum(map(len, few.refusals.values())) <= 20


@pytest.mark.parametrize("seed", range(20))
def test_a_pod_is_promised_only_where_every_order_admits_all(seed: int) -> None:
    chance = random.Random(seed)
    kind = chance.choice(list(KINDS))
    state = state_by_chance(kind, *KINDS[kind], chance, "there")
    fleet = Fleet().reported("n", state)
    memory = VerdictMemory()
    promised: list[Pod] = []
    for number in range(6):
        new = pod_by_chance(f"new-{number}", chance)
        together = [*promised, new]
        expected = all(admitted_all(state.node, state.ledger, order) is not None for order in permutations(together))
        found = places(fleet, new, memory)
        if found.places:
            assert expected
            fleet = fleet.offered(new, ["n"])
            promised.append(new)
        else:
            [refusal] = found.refusals
            busy = refusal.reason == PROMISED and len(promised) >= MOST_ORDERED
            assert not expected or busy
        if len(promised) == 5:
            break


def test_nodes_that_stand_alike_are_asked_once() -> None:
    """By whom it is held does not matter."""
    node, ledger = KINDS["strict"]
    fleet = Fleet()
    for number in range(50):
        there = admitted_all(node, ledger, [pod(f"{number}-{own}") for own in range(number % 5)])
        assert there is not None
        fleet = fleet.reported(f"n{number}", state_of("strict", node, there, ALLOCATABLE))
    memory = VerdictMemory()
    assert len(places(fleet, pod("new"), memory).places) == 50
    assert (len(fleet.groups), memory.decided) == (5, 5)
    places(fleet, pod("another"), memory)
    assert memory.decided == 5


def test_the_node_comes_first_that_loses_least() -> None:
    """Whole NUMA nodes stay whole, and CPUs beside free GPUs are kept for those who want GPUs."""
    node, ledger = KINDS["strict"]
    broken = admitted_all(node, ledger, [pod("a", "4", gpus=2)])
    assert broken is not None
    bare = started("single-numa-node", gpus=0)
    fleet = (
        Fleet()
        .reported("idle", idle())
        .reported("broken", state_of("strict", node, broken, ALLOCATABLE))
        .reported("bare", state_of("bare", *bare, ALLOCATABLE))
    )
    assert names(fleet, pod("small")) == ["broken", "bare", "idle"]
    assert names(fleet, pod("gpu", "2", gpus=1)) == ["broken", "idle"]
    assert names(fleet, pod("large", "8", "8Gi", gpus=2)) == ["broken", "idle"]


def test_a_pod_counts_where_it_is_offered_until_a_report_has_it() -> None:
    large, other = pod("large", "8", "2Gi"), pod("other", "8", "2Gi")
    node, ledger = KINDS["strict"]
    fleet = Fleet().reported("a", idle()).reported("b", idle()).reported("c", idle())
    fleet = fleet.offered(large, ["a", "b"])
    # 15 CPUs are for pods: eight on each of both NUMA nodes do not go.
    assert names(fleet, other) == ["c"]
    # asked again it is as if it were offered to nobody
    assert names(fleet, large) == ["a", "b", "c"]
    fleet = fleet.bound(large, "b")
    assert names(fleet, other) == ["a", "c"]
    # Whatever the API server shows, a report without it frees nothing.
    fleet = fleet.reported("b", idle())
    assert names(fleet, other) == ["a", "c"]
    there = admitted_all(node, ledger, [large])
    assert there is not None
    fleet = fleet.reported("b", state_of("strict", node, there, ALLOCATABLE))
    assert (fleet.nodes["b"].promised, fleet.offers) == ((), {})
    assert names(fleet, other) == ["a", "c"]
    fleet = fleet.reported("b", idle())
    assert names(fleet, other) == ["a", "b", "c"]


def test_what_was_taken_back_is_free_again() -> None:
    large, other = pod("large", "8", "2Gi"), pod("other", "8", "2Gi")
    fleet = Fleet().reported("a", idle()).reported("b", idle()).offered(large, ["a", "b"])
    assert names(fleet.withdrawn("large"), other) == ["a", "b"]
    assert names(fleet.offered(large, ["b"]), other) == ["a"]
    assert fleet.withdrawn("nobody") is fleet
    gone = fleet.removed("a").removed("b").withdrawn("large")
    assert (gone.nodes, gone.groups, gone.offers, gone.awaited) == ({}, {}, {}, {})


def test_a_promise_waits_for_the_report_of_its_node() -> None:
    """A pod may be seen bound before its node is known, and a report may be taken away and written anew."""
    large, other = pod("large", "8", "2Gi"), pod("other", "8", "2Gi")
    node, ledger = KINDS["strict"]
    fleet = Fleet().bound(large, "a").reported("a", idle()).reported("b", idle())
    assert names(fleet, other) == ["b"]
    fleet = fleet.removed("a")
    assert names(fleet, other) == ["b"]
    assert names(fleet.reported("a", idle()), other) == ["b"]
    assert names(fleet.withdrawn("large").reported("a", idle()), other) == ["a", "b"]
    # offered anew, it counts there no longer
    assert names(fleet.bound(large, "b").reported("a", idle()), other) == ["a"]
    there = admitted_all(node, ledger, [large])
    assert there is not None
    fleet = fleet.reported("a", state_of("strict", node, there, ALLOCATABLE))
    assert (fleet.nodes["a"].promised, fleet.offers, fleet.awaited) == ((), {}, {})


def test_a_port_of_the_host_is_promised_once() -> None:
    """No manager keeps it, and no sum shows it."""
    first, second, other = (
        replace(pod(name, "100m", limits=False), demands=Demands(ports=(HostPort(port),)))
        for name, port in (("first", 80), ("second", 80), ("other", 81))
    )
    fleet = Fleet().reported("a", idle()).reported("b", idle()).offered(first, ["a"])
    assert names(fleet, second) == ["b"]
    assert names(fleet, other) == ["a", "b"]


def test_tolerations_are_those_of_the_release() -> None:
    """One taint on nodes of two releases, of which only the newer compares numbers."""
    taint = (Taint("sla", "5", "NoSchedule"),)
    tolerant = replace(pod("p"), demands=Demands(tolerations=(Toleration("sla", "Gt", "3", ""),)))
    gate = {"TaintTolerationComparisonOperators": True}
    node, ledger = KINDS["strict"]
    newer = replace(node, settings=replace(node.settings, gates={**node.settings.gates, **gate}))
    for first, second in (("a", "b"), ("b", "a")):
        fleet = Fleet().reported(first, idle("none"), NodeFacts(first, {}, taint))
        fleet = fleet.reported(second, state_of("newer", newer, ledger, ALLOCATABLE), NodeFacts(second, {}, taint))
        assert names(fleet, tolerant) == [second]


def test_a_rejection_that_was_not_predicted_is_remembered_until_the_node_changes() -> None:
    first, same, other = pod("first"), pod("same"), pod("other", "4")
    fleet = Fleet().reported("a", idle()).reported("b", idle()).offered(first, ["a"])
    fleet = fleet.rejected(first, "a", "device plugin is silent")
    found = places(fleet, same, VerdictMemory())
    assert [place.node for place in found.places] == ["b"]
    assert {(own.reason, own.message): who for own, who in found.refusals.items()} == {
        (REFUSED, "device plugin is silent"): ("a",)
    }
    assert names(fleet, other) == ["a", "b"]
    assert names(fleet.reported("a", idle()), same) == ["b"]
    node, ledger = KINDS["strict"]
    there = admitted_all(node, ledger, [pod("somebody")])
    assert there is not None
    changed = fleet.reported("a", state_of("strict", node, there, ALLOCATABLE))
    assert set(names(changed, same)) == {"a", "b"}


def test_labels_taints_and_cordons_keep_a_pod_away() -> None:
    fleet = (
        Fleet()
        .reported("a", idle(), NodeFacts("a", {"zone": "x"}))
        .reported("b", idle(), NodeFacts("b", {"zone": "y"}))
        .reported("t", idle(), NodeFacts("t", {"zone": "x"}, (Taint("gpu", "", "NoSchedule"),)))
        .reported("c", idle(), NodeFacts("c", {"zone": "x"}), schedulable=False)
    )
    assert names(fleet, pod("p")) == ["a", "b"]
    wishing = replace(pod("p"), demands=Demands(selector=(("zone", "x"),)))
    assert names(fleet, wishing) == ["a"]
    tolerant = replace(pod("p"), demands=Demands(tolerations=(Toleration("gpu", "Exists", "", ""),)))
    assert names(fleet, tolerant) == ["a", "b", "t"]
    found = places(fleet, wishing, VerdictMemory())
    assert sorted((own.reason, who) for own, who in found.refusals.items()) == [
        ("NodeAffinity", ("b",)),
        ("TaintToleration", ("t",)),
        (UNSCHEDULABLE, ("c",)),
    ]


def test_a_node_that_has_the_pod_is_not_asked() -> None:
    node, ledger = KINDS["strict"]
    there = admitted_all(node, ledger, [pod("p")])
    assert there is not None
    fleet = Fleet().reported("a", state_of("strict", node, there, ALLOCATABLE)).reported("b", idle())
    found = places(fleet, pod("p"), VerdictMemory())
    assert ([place.node for place in found.places], dict(found.refusals), found.unasked) == (["b"], {}, 0)


def test_a_small_memory_answers_the_same() -> None:
    chance = random.Random(5)
    fleet = Fleet()
    for number in range(12):
        kind = chance.choice(list(KINDS))
        fleet = fleet.reported(f"n{number}", state_by_chance(kind, *KINDS[kind], chance, f"{number}"))
    small, large = VerdictMemory(most=2), VerdictMemory()
    for number in range(20):
        own = pod_by_chance(f"new-{number}", chance)
        assert places(fleet, own, small) == places(fleet, own, large)


def test_of_pods_that_are_alike_many_are_promised_to_one_node() -> None:
    """Which of them comes first makes no difference: seven with two CPUs each, of 15 CPUs for pods on two NUMA nodes
    of eight, of which one CPU is reserved."""
    fleet = Fleet().reported("a", idle())
    promised = 0
    while names(fleet, pod(f"p{promised}")):
        fleet = fleet.offered(pod(f"p{promised}"), ["a"])
        promised += 1
    node, ledger = KINDS["strict"]
    fitting = next(
        number
        for number in range(20)
        if admitted_all(node, ledger, [pod(f"{own}") for own in range(number + 1)]) is None
    )
    assert promised == fitting == 7
