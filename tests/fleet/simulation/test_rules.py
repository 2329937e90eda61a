"""Which node each rule chooses."""

import pytest

from numafit.fleet.simulation.rules import (
    RULES,
    Chooser,
    PlacingRule,
    StockScheduler,
    sampled,
)
from numafit.fleet.simulation.run import fleet_of
from numafit.fleet.simulation.scores import NodeOrder
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
    fleet = fleet_of(states)
    chooser = Chooser(PlacingRule(order, exact), VerdictMemory(), SchedulerView(), fleet)
    return chooser.choose(fleet, own, shape_digest(own))


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
    fleet = fleet_of({"a": idle()})
    chooser = Chooser(rule, VerdictMemory(), SchedulerView(), fleet)
    own = pod("new", "16")
    assert chooser.choose(fleet, own, shape_digest(own)) is None
    assert not chooser.takes(fleet, "a", own, shape_digest(own))


def test_a_part_of_the_nodes_is_looked_at_as_in_the_scheduler() -> None:
    """numFeasibleNodesToFind of 1.36: all of fewer than 100; else 50 % less one for each 125 nodes, at least 5 %, and
    never fewer than 100."""
    assert [sampled(nodes, 0) for nodes in (0, 99, 100, 600, 1523, 2000, 6000)] == [0, 99, 100, 276, 578, 680, 300]
    assert [sampled(1523, percent) for percent in (1, 10, 100)] == [100, 152, 1523]


def test_a_blind_rule_goes_on_where_it_stopped_and_a_seed_chooses_among_equals() -> None:
    """With 200 equal nodes 100 are looked at: the first half, then the second."""
    fleet = fleet_of({f"n{number:03}": idle() for number in range(200)})
    own = pod("new", "2")

    def chosen_by(seed: int) -> list[str]:
        rule = PlacingRule("least-allocated", exact=False)
        chooser = Chooser(rule, VerdictMemory(), SchedulerView(), fleet, StockScheduler(0, seed))
        assert (chooser.enough, chooser.windows) == (100, 3)
        return [chooser.choose(fleet, own, shape_digest(own)) or "" for _ in range(6)]

    first = chosen_by(1)
    assert first == chosen_by(1) != chosen_by(2)
    assert [name < "n100" for name in first] == [True, False] * 3


def test_ours_is_exact_and_all_have_names_of_their_own() -> None:
    assert [rule.name for rule in RULES] == [
        "numafit",
        "most-allocated",
        "least-allocated",
        "stock",
        "most-allocated, blind",
        "least-allocated, blind",
        "stock, blind",
    ]
