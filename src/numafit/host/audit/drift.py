"""Whether the memory of a job moves away from its NUMA nodes as time goes by."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.host.audit.activity import seconds_text
from numafit.host.audit.alignment import WRONG_BYTES, WRONG_SHARE, outside_of
from numafit.host.audit.codes import MEMORY_DRIFTS, AuditFinding, finding
from numafit.host.audit.promise import Promise
from numafit.host.process.observation import Observation
from numafit.machine.model import Machine


class MemorySample(msgspec.Struct, frozen=True):
    time: float
    """Seconds of a clock that only goes forward."""
    outside: int
    """Bytes on other NUMA nodes than the promised ones, without what was interleaved on purpose."""
    total: int

    @property
    def share(self) -> float:
        return self.outside / self.total if self.total else 0.0


def memory_sample(
    machine: Machine, promise: Promise, processes: Iterable[Observation], time: float
) -> MemorySample | None:
    """None: no NUMA node was promised, or the pages of a process may not be seen."""
    outside = total = 0
    for process in processes:
        if process.pages is None:
            return None
        outside += sum(outside_of(machine, process.pages, promise.mems).values())
        total += process.pages.total
    return MemorySample(time, outside, total) if promise.mems else None


def audit_drift(promise: Promise, samples: Sequence[MemorySample]) -> Iterator[AuditFinding]:
    """`samples` by time. The last is compared with the one in which the smallest share lay outside, of equals the
    latest."""
    if len(samples) < 2:
        return
    last = samples[-1]
    best = min(reversed(samples[:-1]), key=lambda sample: sample.share)
    if last.outside - best.outside < WRONG_BYTES or last.share - best.share < WRONG_SHARE:
        return
    nodes, later = cpuset_text(promise.mems), seconds_text(last.time - best.time)
    yield finding(
        MEMORY_DRIFTS,
        promise.name,
        None,
        f"outside of NUMA node {nodes} lay {_part(best)} of its memory, and {later} later {_part(last)}",
        f"migratepages PID OTHERS {nodes} moves it back, for each of its processes; numastat -m shows what is full",
        promise.pids,
    )


def _part(sample: MemorySample) -> str:
    return f"{sample.share:.0%} ({size_text(sample.outside)})"
