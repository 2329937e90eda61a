"""An audit: findings, processes and promises. Amounts are bytes; null is what was not seen."""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from numafit.bits import cpuset_text
from numafit.host.audit.activity import JobUse
from numafit.host.audit.codes import AuditFinding
from numafit.host.audit.numastat import NodeAllocations
from numafit.host.audit.promise import Promise
from numafit.host.audit.survey import AuditReport
from numafit.host.gpu.users import GpuUse
from numafit.host.process.cpuset import Cpuset
from numafit.host.process.numa_maps import Pages
from numafit.host.process.observation import Observation
from numafit.show.records.alignment import AlignmentRecord, DeviceLabels, alignment_record


class ThreadSeen(msgspec.Struct, frozen=True, rename="camel"):
    id: int
    cpus: str
    last_cpu: int


class CpusetSeen(msgspec.Struct, frozen=True):
    version: str
    path: str
    cpus: str
    mems: str


class PagesSeen(msgspec.Struct, frozen=True, rename="camel"):
    """By NUMA node; `policies` counts mappings by memory policy."""

    bytes: Mapping[int, int]
    file_bytes: Mapping[int, int]
    interleaved_bytes: Mapping[int, int]
    policies: Mapping[str, int]
    mappings: int


class ProcessSeen(msgspec.Struct, frozen=True):
    pid: int
    name: str
    user: int | None
    command: str
    cpus: str | None
    mems: str | None
    threads: tuple[ThreadSeen, ...]
    cpuset: CpusetSeen | None
    pages: PagesSeen | None
    gpus: tuple[GpuUse, ...] | None
    unseen: tuple[str, ...]


class PromiseRecord(msgspec.Struct, frozen=True):
    name: str
    pids: tuple[int, ...]
    cpus: str
    mems: str
    devices: Mapping[str, tuple[str, ...]]
    exclusive: bool
    alignment: AlignmentRecord | UnsetType = UNSET
    """How a lease lies; a container without one is not judged."""


class JobSeen(msgspec.Struct, frozen=True, rename="camel"):
    """What the processes of a promise did between two looks; `memory` is bytes by NUMA node now."""

    name: str
    lease: str
    cpus_used: float
    threads_waiting: float | None
    voluntary_switches: int
    involuntary_switches: int
    processes: int
    threads: int
    memory: Mapping[int, int] | None


class AuditAnswer(msgspec.Struct, frozen=True):
    """`seconds` are those between two looks; `jobs` and `allocations` (by NUMA node) are what happened in them."""

    time: str
    findings: tuple[AuditFinding, ...]
    processes: tuple[ProcessSeen, ...]
    promises: tuple[PromiseRecord, ...]
    unseen: tuple[str, ...]
    seconds: float | None
    jobs: tuple[JobSeen, ...]
    allocations: Mapping[int, NodeAllocations]


def audit_record(report: AuditReport, time: str, labels: DeviceLabels | None = None) -> AuditAnswer:
    """`time` is when the report was made, `labels` is what people call devices."""
    return AuditAnswer(
        time,
        report.findings,
        tuple(_process(process) for process in report.processes),
        tuple(_promise(promise, labels or {}) for promise in report.promises),
        report.unseen,
        None if report.seconds is None else round(report.seconds, 3),
        tuple(_job(use) for use in report.jobs),
        report.allocations,
    )


def _job(use: JobUse) -> JobSeen:
    return JobSeen(
        use.name,
        use.lease,
        round(use.cpus, 3),
        None if use.waiting is None else round(use.waiting, 3),
        use.voluntary,
        use.involuntary,
        use.processes,
        use.threads,
        use.memory,
    )


def _process(process: Observation) -> ProcessSeen:
    return ProcessSeen(
        process.pid,
        process.name,
        process.user,
        process.command,
        _set(process.cpus),
        _set(process.mems),
        tuple(ThreadSeen(thread.id, cpuset_text(thread.cpus), thread.last_cpu) for thread in process.threads),
        _cpuset(process.cpuset),
        _pages(process.pages),
        process.gpus,
        process.unseen,
    )


def _set(mask: int | None) -> str | None:
    return None if mask is None else cpuset_text(mask)


def _cpuset(own: Cpuset | None) -> CpusetSeen | None:
    return None if own is None else CpusetSeen(own.version, own.path, cpuset_text(own.cpus), cpuset_text(own.mems))


def _pages(own: Pages | None) -> PagesSeen | None:
    return None if own is None else PagesSeen(own.nodes, own.file_nodes, own.interleaved, own.policies, own.mappings)


def _promise(one: Promise, labels: DeviceLabels) -> PromiseRecord:
    lying = UNSET if one.alignment is None else alignment_record(one.alignment, labels)
    cpus, mems = cpuset_text(one.cpus), cpuset_text(one.mems)
    return PromiseRecord(one.name, one.pids, cpus, mems, one.devices, one.exclusive, lying)
