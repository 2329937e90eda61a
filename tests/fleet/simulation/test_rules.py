"""Which node each rule chooses."""

import pytest

from numafit.fleet.simulation.rules import RULES, Chooser, NodeOrder, PlacingRule, least_score, most_score
from numafit.fleet.simulation.run import fleet_of
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory, shape_digest, tried
from numafit.workload.pod import Pod
from tests.fleet.fleets import pod
from tests.fleet.simulation.nodes import idle


def with_pods(state: NodeState, *pods: Pod) -> NodeState:
    for own in pods:
        after = tried(state, own)[1]
        assert after is not None
        state = after
    return state


def chosen(order: NodeOrder, states: dict[str, NodeState], own: Pod, *, exact: bool = True) -> str | None:
    chooser = Chooser(PlacingRule(order, exact), VerdictMemory(), SchedulerView())
    return chooser.choose(fleet_of(states), own, shape_digest(own))


def test_scores_are_those_of_the_scheduler() -> None:
    """kube-scheduler 1.36: whole numbers, cut off."""
    assert [least_score(asked, 7) for asked in (0, 1, 7, 8)] == [100, 85, 0, 0]
    assert [most_score(asked, 7) for asked in (0, 1, 7, 8)] == [0, 14, 100, 100]


def test_one_spreads_and_the_other_packs() -> None:
    states = {"a": idle(), "b": with_pods(idle(), pod("there", "2")), "c": with_pods(idle(), pod("more", "4"))}
    assert chosen("least-allocated", states, pod("new", "2")) == "a"
    assert chosen("most-allocated", states, pod("new", "2")) == "c"


def test_a_blind_rule_sends_a_pod_where_it_is_rejected_and_an_exact_one_does_not() -> None:
    """3 CPUs are left on each NUMA node: 6 in all."""
    full = with_pods(idle(), pod("x", "5"), pod("y", "5"))
    states = {"full": full, "idle": idle()}
    wide = pod("new", "5")
    assert tried(full, wide)[1] is None
    assert chosen("most-allocated", states, wide, exact=False) == "full"
    assert chosen("most-allocated", states, wide) == "idle"
    assert chosen("numafit", states, wide) == "idle"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_no_rule_knows_a_node_for_what_fits_nowhere(rule: PlacingRule) -> None:
    chooser = Chooser(rule, VerdictMemory(), SchedulerView())
    own = pod("new", "16")
    assert chooser.choose(fleet_of({"a": idle()}), own, shape_digest(own)) is None
    assert not chooser.takes(fleet_of({"a": idle()}), "a", own, shape_digest(own))


def test_ours_is_exact_and_all_have_names_of_their_own() -> None:
    assert [rule.name for rule in RULES] == [
        "numafit",
        "most-allocated",
        "least-allocated",
        "most-allocated, blind",
        "least-allocated, blind",
    ]
