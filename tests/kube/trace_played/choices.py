"""Whether a scheduler chose a node that the model's score calls a best one, binding by binding; and whether a placer
chose the node that numafit's order has first.

All bindings and ends are taken in the order in which a watch saw them, so before each binding is known what the
scheduler had on its nodes. A watch sees an end a moment earlier or later than the scheduler does; so chosen nodes are
compared once more with what stood there some moments before.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec
from msgspec.structs import replace

from numafit.fleet.places import places
from numafit.fleet.simulation.rules import WANTED
from numafit.fleet.simulation.run import fleet_of, without
from numafit.fleet.simulation.scores import Scoring
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory, shape_digest, tried
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
            known = {
                name: scoring(view, state, pod, shape) for name, state in states.items() if view.fits(state, pod, shape)
            }
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


def _ends(course: PodCourse) -> list[float]:
    return [at for at in (course.ended, course.gone) if at is not None]


def _there(bound: Sequence[PodCourse], course: PodCourse, moment: float) -> Iterator[PodCourse]:
    for other in bound:
        ends = _ends(other)
        assert other.bound is not None
        assert course.bound is not None
        if other is not course and other.bound <= course.bound and (not ends or min(ends) > moment):
            yield other


class FollowedOrder(msgspec.Struct, frozen=True):
    """Of pods that ran: how many went to the node that numafit's order has first, as the nodes stood then."""

    bindings: int
    first: int
    untold: int
    """Of the others: that node had changed shortly before, or the chosen one had, and the placer may not have heard it
    yet."""


UNTOLD = 2.0
"""Seconds before a pod was made within which a node may not have told of a change: it does so once a second."""


def followed(own: TraceSlice, courses: Sequence[PodCourse], wanted: int = WANTED) -> FollowedOrder:
    pods = {pod.pod.name: pod.pod for pod in own.pods}
    memory, fleet = VerdictMemory(), fleet_of(own.states)
    ran = [course for course in courses if course.bound is not None and not course.rejected]
    moments = [(course.bound, 1, course) for course in ran if course.bound is not None]
    moments += [(min(_ends(course)), 0, course) for course in ran if _ends(course)]
    moments.sort(key=lambda own: own[:2])
    first = untold = 0
    changed = dict.fromkeys(own.states, float("-inf"))
    for moment, comes, course in moments:
        state, pod = fleet.nodes[course.node].state, pods[course.owner]
        if comes:
            found = places(fleet, pod, memory, wanted).places
            best = found[0].node if found else course.node
            first += bool(found) and best == course.node
            untold += best != course.node and max(changed[best], changed[course.node]) > course.made - UNTOLD
        changed[course.node] = moment
        after = tried(state, pod)[1] if comes else without(state, pod.uid)
        # A watch may see an end later than the kubelet did: then nothing is known of what it decided.
        if after is not None:
            fleet = fleet.reported(course.node, after)
    return FollowedOrder(len(ran), first, untold)
