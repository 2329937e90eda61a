"""Who sits where, and who lies on more NUMA nodes than it needs."""

import random

import pytest

from numafit.advice.alignment import crossing
from numafit.decision.decide import decide
from numafit.fleet.look.seats import seat_of, split_pods
from numafit.fleet.state import state_of
from tests.fleet.fleets import ALLOCATABLE, admitted_all, pod, pod_by_chance, started


def test_a_pod_that_could_have_lain_on_one_numa_node_is_split() -> None:
    """best-effort takes a pod of four CPUs in where three are free on each NUMA node."""
    node, ledger = started("best-effort")
    after = admitted_all(node, ledger, [pod("a", "4"), pod("b", "5"), pod("c", "4")])
    assert after is not None
    state = state_of("kind", node, after, ALLOCATABLE)
    assert split_pods(state) == ("default/pod-c",)
    seat = seat_of(state, "c")
    assert seat is not None
    assert (seat.split, seat.holding.nodes) == (True, (0, 1))
    there = seat_of(state, "a")
    assert there is not None
    assert (there.split, len(there.holding.nodes)) == (False, 1)


def test_a_pod_that_no_numa_node_could_hold_is_not_split() -> None:
    node, ledger = started("best-effort")
    after = admitted_all(node, ledger, [pod("a", "12")])
    assert after is not None
    assert split_pods(state_of("kind", node, after, ALLOCATABLE)) == ()


def test_a_pod_that_is_not_there_sits_nowhere() -> None:
    assert seat_of(state_of("kind", *started("none"), ALLOCATABLE), "nobody") is None


@pytest.mark.parametrize("seed", range(20))
def test_what_is_held_is_judged_as_what_was_decided(seed: int) -> None:
    """The same units cross NUMA nodes by the ledger as by the decisions that made it."""
    chance = random.Random(seed)
    node, ledger = started(chance.choice(["none", "best-effort"]), chance.choice(["container", "pod"]))
    split = set()
    for number in range(6):
        decision = decide(node, ledger, pod_by_chance(str(number), chance), ALLOCATABLE)
        ledger = decision.ledger
        if decision.admitted and crossing(node, decision):
            split.add(decision.pod.known_name)
    assert set(split_pods(state_of("kind", node, ledger, ALLOCATABLE))) == split
