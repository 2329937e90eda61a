"""Both results side by side: the model over several seeds, since chance decides among equals, and the real one."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from statistics import median
from typing import NamedTuple

from tests.kube.counted.watched import PodCourse
from tests.kube.trace_played.player import RealRun
from tests.kube.trace_played.result import PlayedResult, moved, same_node


class Measure(NamedTuple):
    title: str
    of: Callable[[PlayedResult], float]
    form: str = "{:.0f}"


MEASURES = (
    Measure("pods rejected", lambda own: own.rejected),
    Measure("rejections", lambda own: own.all_rejections, "{:,.0f}"),
    Measure("ran soon", lambda own: own.soon),
    Measure("mean wait, s", lambda own: own.mean_wait, "{:.1f}"),
    Measure("wait of 99 %, s", lambda own: own.late_wait, "{:.1f}"),
    Measure("never ran", lambda own: own.never),
)


def rows(way: str, real: PlayedResult, models: Sequence[PlayedResult]) -> list[tuple[str, ...]]:
    """(way, measure, real, model)"""
    found: list[tuple[str, ...]] = []
    for own in MEASURES:
        told = sorted(own.of(each) for each in models)
        found.append((way, own.title, own.form.format(own.of(real)), _span(own.form, told)))
    apart = [moved(real, each) for each in models]
    among = [moved(one, other) for one, other in combinations(models, 2)] or [0.0]
    found.append((way, "pods to move, by nodes", _span("{:.1%}", sorted(apart)), _span("{:.1%}", sorted(among))))
    alike = [same_node(real, each) for each in models]
    among = [same_node(one, other) for one, other in combinations(models, 2)] or [1.0]
    found.append((way, "on the same node", _span("{:.1%}", sorted(alike)), _span("{:.1%}", sorted(among))))
    return found


def _span(form: str, told: Sequence[float]) -> str:
    least, most = form.format(told[0]), form.format(told[-1])
    return least if least == most else f"{least} to {most}"


def delays(run: RealRun) -> dict[str, float]:
    """Medians, in seconds, of what the model takes for nothing: from an owner to its first pod, from a pod to its
    binding, from its binding to its running, and how long a rejected pod stood on its node for the scheduler."""
    first: dict[str, float] = {}
    for course in run.courses:
        first[course.owner] = min(course.made, first.get(course.owner, course.made))
    bound = [own.bound - own.made for own in run.courses if own.bound is not None]
    began = [own.ran - own.bound for own in run.courses if own.ran is not None and own.bound is not None]
    stood = [own.ended - own.bound for own in run.courses if own.rejected and own.bound is not None and own.ended]
    return {
        "owner to pod": _median([moment - run.made[name] for name, moment in first.items()]),
        "pod to binding": _median(bound),
        "binding to running": _median(began),
        "binding to rejection": _median(stood),
    }


def pauses(run: RealRun, kinds: Mapping[str, str]) -> dict[str, tuple[int, float]]:
    """From a rejection to the next pod of the same owner, by kind and how many rejections there were: how often that
    was seen, and the median in seconds. Rejections of a ReplicaSet are not told apart. `kinds`: by owner."""
    courses: dict[str, list[PodCourse]] = {}
    for course in sorted(run.courses, key=lambda own: own.made):
        courses.setdefault(course.owner, []).append(course)
    found: dict[str, list[float]] = {}
    for name, own in courses.items():
        for number, (course, after) in enumerate(pairwise(own), 1):
            if course.rejected and course.ended is not None:
                told = f"Job {number}" if kinds[name] == "Job" else kinds[name]
                found.setdefault(told, []).append(after.made - course.ended)
    return {told: (len(seconds), _median(seconds)) for told, seconds in sorted(found.items())}


def made_at_once(run: RealRun, kinds: Mapping[str, str], seconds: float = 10.0) -> dict[int, float]:
    """Of ReplicaSets that loop: how many did so in the same seconds -> pods that they made in a second together, the
    most that was seen."""
    rejected = [own for own in run.courses if own.rejected and kinds[own.owner] == "ReplicaSet"]
    spans: dict[int, list[str]] = {}
    for course in rejected:
        spans.setdefault(int(course.made // seconds), []).append(course.owner)
    found: dict[int, float] = {}
    for owners in spans.values():
        many = len(set(owners))
        found[many] = max(found.get(many, 0.0), len(owners) / seconds)
    return dict(sorted(found.items()))


def _median(values: Sequence[float]) -> float:
    return median(values) if values else 0.0


def table(lines: Sequence[tuple[str, ...]]) -> str:
    heads = ("way", "", "control plane", "model")
    body = [f"| {' | '.join(row)} |" for row in (heads, *lines)]
    return "\n".join((body[0], "|---" * len(heads) + "|", *body[1:]))
