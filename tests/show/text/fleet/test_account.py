"""How a pod stands, told."""

import pytest

from numafit.decision.decide import decide
from numafit.fleet.fleet import Fleet
from numafit.fleet.look.account import PodAccount
from numafit.fleet.look.seats import seat_of
from numafit.fleet.state import NodeState, state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.why import WhyMemory, why_waiting
from numafit.show.table import Screen
from numafit.show.text.fleet.account import account_text, pending_text, reason_text
from numafit.workload.pod import Pod
from tests.fleet.fleets import ALLOCATABLE, admitted_all, pod, started


def after(policy: str, *pods: Pod) -> NodeState:
    node, ledger = started(policy)
    there = admitted_all(node, ledger, pods)
    assert there is not None
    return state_of(policy, node, there, ALLOCATABLE)


def waiting(state: NodeState, new: Pod, **more: object) -> PodAccount:
    fleet = Fleet().reported("n1", state)
    why = why_waiting(fleet, new, VerdictMemory(), WhyMemory())
    return PodAccount("default/new", "waits", why=why, **more)  # type: ignore[arg-type]


def test_a_pod_that_is_split_is_told_with_the_container_that_lies_apart() -> None:
    state = after("best-effort", pod("a", "4"), pod("b", "5"), pod("c", "4"))
    account = PodAccount("default/c", "runs", "n1", policy="best-effort, scope container", seat=seat_of(state, "c"))
    text = account_text(account)
    assert text.startswith("default/c: runs on n1, split\n  4 CPUs (")
    assert "  container app lies on NUMA nodes 0-1; the empty machine has room for it on fewer\n" in text
    assert text.endswith("  Topology policy of the node: best-effort, scope container.")


def test_a_pod_that_needs_both_numa_nodes_is_aligned() -> None:
    state = after("best-effort", pod("a", "12"))
    text = account_text(PodAccount("default/a", "runs", "n1", seat=seat_of(state, "a")))
    assert "aligned" in text
    assert "no smaller set of NUMA nodes could hold it" in text


def test_a_pod_that_shares_holds_nothing() -> None:
    state = after("none", pod("a", "500m", limits=False))
    text = account_text(PodAccount("default/a", "runs", "n1", seat=seat_of(state, "a")))
    assert text == "default/a: runs on n1, holds nothing of its own: it shares CPUs and memory with others"


def test_a_rejection_is_told_as_it_was_and_as_it_would_be_now() -> None:
    state = after("single-numa-node", pod("a", "5"), pod("b", "5"))
    decision = decide(state.node, state.ledger, pod("c", "4"), ALLOCATABLE)
    account = PodAccount(
        "default/c",
        "rejected",
        "n1",
        "TopologyAffinityError",
        "Resources cannot be allocated",
        "single-numa-node, scope container",
        decision=decision,
        engine=state.node,
    )
    text = account_text(account)
    assert text.startswith("default/c: rejected by n1, TopologyAffinityError\n  When it came, no set of NUMA nodes")
    assert "\n  As n1 stands now (single-numa-node, scope container):\n    default/pod-c (Guaranteed): rejected" in text


def test_a_pod_that_would_be_admitted_now_is_told_so() -> None:
    state = after("single-numa-node")
    decision = decide(state.node, state.ledger, pod("c", "4"), ALLOCATABLE)
    account = PodAccount("default/c", "rejected", "n1", "OutOfcpu", decision=decision, engine=state.node)
    assert account_text(account).endswith("As n1 stands now it would be admitted.")


def test_a_pod_that_waits_is_told_node_by_node_with_what_would_help() -> None:
    text = account_text(waiting(after("single-numa-node", pod("a", "5"), pod("b", "5")), pod("new", "4")))
    assert "\n  Node by node:\n    n1: would reject it with TopologyAffinityError\n" in text
    assert "\n  What would help:\n    - default/pod-" in text


def test_a_gate_of_somebody_else_comes_first() -> None:
    account = waiting(after("none"), pod("new"), gates=("kueue.x-k8s.io/admission",), best=("n1",))
    assert "A gate keeps it back that somebody else must remove: kueue.x-k8s.io/admission. 1 node" in account_text(
        account
    )


def test_one_line_for_each_that_waits_also_on_a_terminal() -> None:
    account = waiting(after("single-numa-node", pod("a", "5"), pod("b", "5")), pod("new", "4"))
    text = pending_text([account], {"default/new": "4m"}, Screen(80))
    assert text.startswith("POD          AGE  WHY\n")
    assert max(map(len, text.split("\n"))) <= 80
    assert pending_text([], {}) == "No pod waits."


@pytest.mark.parametrize("reason", ["TopologyAffinityError", "SMTAlignmentError", "OutOfnvidia.com/gpu"])
def test_each_reason_of_a_kubelet_has_a_meaning(reason: str) -> None:
    assert reason_text(reason)
    assert reason_text("Evicted") == ""
