"""Whether a scheduler chose a node that the model's score calls a best one, binding by binding.

All bindings and ends are taken in the order in which a watch saw them, so before each binding is known what the
scheduler had on its nodes. A watch sees an end a moment earlier or later than the scheduler does; so chosen nodes are
compared once more with what stood there some moments before.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from numafit.fleet.simulation.board import Scoring
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import shape_digest
from numafit.workload.pod import Pod
from tests.kube.counted.watched import PodCourse
from tests.kube.trace_played.slice import TraceSlice

LATE = 0.3
"""Seconds by which a watch may be before or behind the scheduler."""


class JudgedChoices(msgspec.Struct, frozen=True):
    bindings: int
    best: int
    """To a node with the highest score."""
    fitting: int
    """To another one that fits."""
    tied: float
    """Best nodes among which chance decides: the mean."""
    behind: Counter[int]
    """Points by which the others are behind the best -> how many."""


def judged(own: TraceSlice, courses: Sequence[PodCourse], scoring: Scoring) -> JudgedChoices:
    pods = {pod.pod.name: pod.pod for pod in own.pods}
    shapes = {name: shape_digest(pod) for name, pod in pods.items()}
    view = SchedulerView()
    bound = [course for course in courses if course.bound is not None]
    best, fitting, tied, behind = 0, 0, 0, Counter[int]()
    for course in bound:
        assert course.bound is not None
        pod, shape = pods[course.owner], shapes[course.owner]
        gaps = []
        for moment in (course.bound, course.bound - LATE, course.bound + LATE):
            states = _states(own, pods, shapes, view, bound, course, moment)
            points = {name: _points(view, state, pod, shape, scoring) for name, state in states.items()}
            known = {name: each for name, each in points.items() if each is not None}
            chosen = known.get(course.node)
            if chosen is not None:
                highest = max(known.values())
                gaps.append((highest - chosen, sum(each == highest for each in known.values())))
        if gaps:
            gap, ties = min(gaps)
            tied += ties
            best += gap == 0
            fitting += gap > 0
            if gap:
                behind[gap] += 1
    return JudgedChoices(len(bound), best, fitting, tied / max(len(bound), 1), behind)


def _states(
    own: TraceSlice,
    pods: dict[str, Pod],
    shapes: dict[str, bytes],
    view: SchedulerView,
    bound: Sequence[PodCourse],
    course: PodCourse,
    moment: float,
) -> dict[str, NodeState]:
    """What is asked for on each node when this one is bound: by those that were bound before it and have not ended by
    that moment."""
    states = dict(own.states)
    for other in _there(bound, course, moment):
        state = states[other.node]
        wanted = view.wanted(state, pods[other.owner], shapes[other.owner])
        states[other.node] = replace(state, load=state.load.plus(wanted))
    return states


def _there(bound: Sequence[PodCourse], course: PodCourse, moment: float) -> Iterator[PodCourse]:
    for other in bound:
        ends = [at for at in (other.ended, other.gone) if at is not None]
        assert other.bound is not None
        assert course.bound is not None
        if other is not course and other.bound <= course.bound and (not ends or min(ends) > moment):
            yield other


def _points(view: SchedulerView, state: NodeState, pod: Pod, shape: bytes, scoring: Scoring) -> int | None:
    if not view.fits(state, pod, shape):
        return None
    parts = view.parts(state, pod, shape)
    return sum(scoring(asked, offered) for asked, offered in parts) // len(parts)
