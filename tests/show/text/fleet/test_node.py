"""One node of a cluster, with who sits where."""

from numafit.fleet.fleet import Fleet
from numafit.fleet.look.rows import row_of
from numafit.fleet.look.seats import seats_of
from numafit.fleet.state import state_of
from numafit.show.text.fleet.node import node_head, seats_text
from tests.fleet.fleets import ALLOCATABLE, admitted_all, pod, started


def test_those_that_hold_something_have_rows_and_the_others_are_counted() -> None:
    node, ledger = started("restricted")
    there = admitted_all(node, ledger, [pod("a", "4", gpus=1), pod("b", "500m", limits=False)])
    assert there is not None
    state = state_of("kind", node, there, ALLOCATABLE)
    text = seats_text(seats_of(state), ["default/c"])
    first, second = text.split("\n")[:2]
    assert first.split() == ["POD", "NUMA", "CPUS", "MEMORY", "DEVICES"]
    assert second.split()[0] == "default/pod-a"
    assert second.endswith("1Gi     1 example.com/gpu")
    assert "1 pod shares what is left, and holds nothing of its own." in text
    assert text.endswith("Bound to it, and not in its report yet: default/c.")
    head = node_head(row_of(Fleet().reported("n1", state).nodes["n1"]), "v1.36.0")
    assert head.startswith("n1: kubelet v1.36.0, topology policy restricted\nFree: 11 of 15 CPUs, ")


def test_an_empty_node_is_told_so() -> None:
    state = state_of("kind", *started("none"), ALLOCATABLE)
    assert seats_text(seats_of(state), []) == "Nobody is there."
