"""What kube-scheduler makes of a node for a pod, in whole numbers from 0 to 100, as in 1.36.

`NodeResourcesFit` scores how little or how much is asked for of each resource, with the pod, and takes the mean by
weight. `NodeResourcesBalancedAllocation` scores whether the pod brings the parts of CPUs and memory that are asked for
nearer to each other: 75 where it changes nothing, 100 and 50 at most and at least; pods that ask for neither have no
such score. As it comes the scheduler adds both up, and counts CPUs and memory alone, by weight 1 each. Its other
plugins say the same of all nodes for a pod without selectors, affinities and tolerations, whose owner has no other pod.
"""

from collections.abc import Callable, Sequence
from typing import Literal

from numafit.fleet.simulation.sums import LEAST_ASKED, SchedulerView
from numafit.fleet.state import NodeState
from numafit.workload.pod import Pod

MOST_SCORE = 100
NodeOrder = Literal["numafit", "stock", "least-allocated", "most-allocated"]
Scoring = Callable[[SchedulerView, NodeState, Pod, bytes], int]
"""The last is the pod's shape."""


def least_score(asked: int, offered: int) -> int:
    return (offered - asked) * MOST_SCORE // offered if asked <= offered else 0


def most_score(asked: int, offered: int) -> int:
    return min(asked, offered) * MOST_SCORE // offered


def change_of_balance(before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]) -> int:
    """Of (asked for, offered) of CPUs and memory, without the pod and with it."""
    return MOST_SCORE // 2 + (MOST_SCORE // 2 + balance_score(after) - balance_score(before)) // 2


def balance_score(parts: Sequence[tuple[int, int]]) -> int:
    """From 50, of one all and of the other nothing, to 100, of both the same part. In floats, as there."""
    shares = [min(asked / offered, 1.0) for asked, offered in parts]
    apart = abs((shares[0] - shares[1]) / 2) if len(shares) == 2 else 0.0
    return int((1 - apart) * MOST_SCORE)


def least_allocated(view: SchedulerView, state: NodeState, pod: Pod, shape: bytes) -> int:
    return _mean([least_score(*own) for own in view.parts(state, pod, shape)])


def most_allocated(view: SchedulerView, state: NodeState, pod: Pod, shape: bytes) -> int:
    return _mean([most_score(*own) for own in view.parts(state, pod, shape)])


def stock(view: SchedulerView, state: NodeState, pod: Pod, shape: bytes) -> int:
    fit = _mean([least_score(*own) for own in view.parts(state, pod, shape, devices=False)])
    wanted = view.wanted(state, pod, shape)
    if not any(wanted.get(name, 0) for name in LEAST_ASKED):
        return fit
    return fit + change_of_balance(*view.parts_in_full(state, pod, shape))


def _mean(scores: Sequence[int]) -> int:
    return sum(scores) // len(scores) if scores else 0


SCORINGS: dict[NodeOrder, Scoring] = {
    "stock": stock,
    "least-allocated": least_allocated,
    "most-allocated": most_allocated,
}
