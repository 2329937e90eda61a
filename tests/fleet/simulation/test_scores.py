"""What kube-scheduler makes of a node, by hand."""

from numafit.fleet.simulation.scores import (
    SCORINGS,
    balance_score,
    change_of_balance,
    least_score,
    most_score,
)
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import shape_digest, tried
from numafit.workload.pod import Container, Pod
from tests.fleet.fleets import pod
from tests.fleet.simulation.nodes import idle


def score(state: NodeState, own: Pod) -> int:
    return SCORINGS["stock"](SchedulerView(), state, own, shape_digest(own))


def with_pod(state: NodeState, own: Pod) -> NodeState:
    after = tried(state, own)[1]
    assert after is not None
    return after


def test_scores_are_those_of_the_scheduler() -> None:
    """kube-scheduler 1.36: whole numbers, cut off."""
    assert [least_score(asked, 7) for asked in (0, 1, 7, 8)] == [100, 85, 0, 0]
    assert [most_score(asked, 7) for asked in (0, 1, 7, 8)] == [0, 14, 100, 100]


def test_balance_is_half_of_how_far_both_parts_are_apart() -> None:
    """NodeResourcesBalancedAllocation of 1.36: 1/8 and 1/2 are 3/16 apart from their mean, and 81.25 is cut off. More
    than all counts as all."""
    assert balance_score([(1, 8), (4, 8)]) == 81
    assert [balance_score([(0, 8), (asked, 8)]) for asked in (0, 8, 9)] == [100, 50, 50]
    assert balance_score([(3, 8)]) == 100


def test_what_the_pod_does_to_the_balance_is_scored() -> None:
    """In 1.36 it is the change: 75 where there is none; before it was the balance with the pod."""
    even, odd = [(0, 8), (0, 8)], [(0, 8), (8, 8)]
    assert [change_of_balance(*own) for own in ((even, even), (even, odd), (odd, even), (odd, odd))] == [
        75,
        50,
        100,
        75,
    ]
    # 100 before, 81 after: 50 + 31 / 2, cut off.
    assert change_of_balance(even, [(1, 8), (4, 8)]) == 65


def test_the_stock_score_is_that_of_both_plugins() -> None:
    """A node offers 15 CPUs and 31 GiB. Fit: (100 * 12 / 15 + 100 * 30 / 31) / 2 = (80 + 96) / 2 = 88. Balance: 3 / 15
    and 1 / 31 are 0.168 apart, half of that leaves 91; 50 + (50 + 91 - 100) / 2 = 70."""
    assert score(idle(), pod("a", "3")) == 88 + 70


def test_it_counts_no_devices() -> None:
    assert score(idle(), pod("a", "3", gpus=2)) == score(idle(), pod("a", "3"))
    view, own = SchedulerView(), pod("a", "3", gpus=2)
    least = SCORINGS["least-allocated"](view, idle(), own, shape_digest(own))
    # 2 of 4 GPUs: (80 + 96 + 50) / 3.
    assert least == 75


def test_a_pod_that_evens_out_a_node_is_sent_there_though_more_is_free_elsewhere() -> None:
    """6 of 15 CPUs and 1 of 31 GiB are taken: (0.4 - 0.032) / 2 leaves 81. A pod of 1 CPU and 12 GiB: fit
    (53 + 58) / 2 = 55, balance 7 / 15 and 13 / 31 leave 97, 50 + (50 + 97 - 81) / 2 = 83. On an empty node: fit
    (93 + 61) / 2 = 77, balance 1 / 15 and 12 / 31 leave 83, 50 + (50 + 83 - 100) / 2 = 66."""
    used, own = with_pod(idle(), pod("there", "6")), pod("new", "1", "12Gi")
    assert (score(used, own), score(idle(), own)) == (55 + 83, 77 + 66)


def test_a_pod_that_asks_for_neither_has_no_balance() -> None:
    """It would draw all of them to one node; for the fit it counts as 100m and 200 MiB."""
    used, own = with_pod(idle(), pod("there", "6")), Pod("new", "new", (Container("main"),))
    # (15 - 6.1) / 15 and (31 - 1.1953) / 31.
    assert score(used, own) == (59 + 96) // 2
