"""One audit after the other: what happened between them, what moved away, and counts that go on."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from numafit.host.audit.activity import HostLook, JobUse
from numafit.host.audit.codes import AuditFinding
from numafit.host.audit.drift import MemorySample, audit_drift, memory_sample
from numafit.host.audit.numastat import NodeAllocations, allocated_between, audit_allocations, node_allocations
from numafit.host.audit.promise import Promise
from numafit.host.audit.survey import AuditReport, Survey, Users, look_around
from numafit.host.process.identity import PROC
from numafit.machine.model import Machine
from numafit.machine.read.sysfs.text import cpu_list

WINDOW_SECONDS = 1.0
"""Between the two looks of a single audit."""
MOST_SAMPLES = 360
"""Of the memory of a job; older ones are forgotten."""
ONLINE = Path("/sys/devices/system/cpu/online")

Judge = Callable[[Survey], AuditReport]


class JobTotals(msgspec.Struct, frozen=True):
    """Counts of a job since it was seen first."""

    cpu_seconds: float = 0.0
    waiting_seconds: float = 0.0
    voluntary: int = 0
    involuntary: int = 0

    def plus(self, use: JobUse) -> "JobTotals":
        return JobTotals(
            self.cpu_seconds + use.cpus * use.seconds,
            self.waiting_seconds + (use.waiting or 0.0) * use.seconds,
            self.voluntary + use.voluntary,
            self.involuntary + use.involuntary,
        )


class AuditWatch:
    """Begun once, it looks as often as it is told; each report tells of the time since the look before."""

    def __init__(self, machine: Machine, users: Users | None = None, root: Path = PROC) -> None:
        self.machine = machine
        self.users = users
        self.root = root
        self.before: HostLook | None = None
        self.allocations: Mapping[int, NodeAllocations] = {}
        """Since the kernel started."""
        self.totals: dict[str, JobTotals] = {}
        """By lease, for those that are there."""
        self._samples: dict[str, deque[MemorySample]] = {}

    def begin(self) -> None:
        self.before = look_around(self.root)
        self.allocations = node_allocations()

    def look(self, promises: Iterable[Promise], judge: Judge, unseen: Iterable[str] = ()) -> AuditReport:
        allocations = node_allocations()
        survey = Survey(self.machine, promises, self.users, self.root, before=self.before, online=online_cpus())
        survey.unseen += unseen
        report = judge(survey)
        allocated = allocated_between(self.allocations, allocations) if report.seconds is not None else {}
        found = [*report.findings, *self._drifted(report, survey), *self._missed(report, allocated)]
        self.before, self.allocations = survey.now, allocations
        self.totals = {use.lease: self.totals.get(use.lease, JobTotals()).plus(use) for use in report.jobs if use.lease}
        return msgspec.structs.replace(report, findings=tuple(found), allocations=allocated)

    def _drifted(self, report: AuditReport, survey: Survey) -> list[AuditFinding]:
        found: list[AuditFinding] = []
        kept = {}
        for promise in report.promises:
            samples = self._samples.get(promise.name) or deque(maxlen=MOST_SAMPLES)
            mine = [survey.seen[pid] for pid in promise.pids if pid in survey.seen]
            sample = memory_sample(self.machine, promise, mine, survey.now.time) if mine else None
            if sample is not None:
                samples.append(sample)
                found += audit_drift(promise, list(samples))
            kept[promise.name] = samples
        self._samples = kept
        return found

    def _missed(self, report: AuditReport, allocated: Mapping[int, NodeAllocations]) -> list[AuditFinding]:
        wanted = 0
        for promise in report.promises:
            wanted |= promise.mems
        return list(audit_allocations(wanted, allocated, report.seconds or 0.0))


def online_cpus(file: Path = ONLINE) -> int | None:
    """As a mask; None where the kernel does not tell."""
    try:
        return cpu_list(file.read_text())
    except OSError:
        return None
