"""What jobs and NUMA nodes did over the last hour: a point for each audit of this machine."""

from collections import deque
from collections.abc import Mapping

import msgspec

from numafit.host.audit.activity import JobUse
from numafit.host.audit.numastat import NodeAllocations
from numafit.service.node import Audited
from numafit.show.records.past import JobPast, NodePast, PastAnswer

MOST_POINTS = 60


class PastPoint(msgspec.Struct, frozen=True):
    time: str
    seconds: float
    jobs: Mapping[str, JobUse]
    """By name."""
    allocated: Mapping[int, NodeAllocations]


class LastHour:
    def __init__(self) -> None:
        self.points: deque[PastPoint] = deque(maxlen=MOST_POINTS)

    def add(self, audited: Audited, time: str) -> None:
        """The first audit knows nothing of the time before it."""
        if audited.seconds:
            jobs = {use.name: use for use in audited.jobs}
            self.points.append(PastPoint(time, audited.seconds, jobs, audited.allocated))

    def answer(self) -> PastAnswer:
        """The jobs that are there now, by name, with all their points."""
        points = list(self.points)
        jobs = tuple(_job_line(use, points) for _, use in sorted(points[-1].jobs.items())) if points else ()
        nodes = tuple(_node_line(node, points) for node in sorted(points[-1].allocated)) if points else ()
        return PastAnswer(tuple(point.time for point in points), jobs, nodes)


def _job_line(last: JobUse, points: list[PastPoint]) -> JobPast:
    uses = [point.jobs.get(last.name) for point in points]
    numbers = sorted({node for use in uses if use is not None for node in use.memory or {}})
    return JobPast(
        last.name,
        last.lease,
        cpus=tuple(None if use is None else round(use.cpus, 3) for use in uses),
        waiting=tuple(None if use is None or use.waiting is None else round(use.waiting, 3) for use in uses),
        switches=tuple(None if use is None else _rate(use.voluntary, use.seconds) for use in uses),
        forced=tuple(None if use is None else _rate(use.involuntary, use.seconds) for use in uses),
        memory={
            node: tuple(None if use is None or use.memory is None else use.memory.get(node, 0) for use in uses)
            for node in numbers
        },
    )


def _node_line(node: int, points: list[PastPoint]) -> NodePast:
    counts = [(point.allocated.get(node), point.seconds) for point in points]
    return NodePast(
        node,
        remote=tuple(None if one is None else _rate(one.remote, seconds) for one, seconds in counts),
        missed=tuple(None if one is None else _rate(one.foreign, seconds) for one, seconds in counts),
    )


def _rate(count: int, seconds: float) -> float:
    return round(count / seconds, 1)
