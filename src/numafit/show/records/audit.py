"""An audit: findings, processes and promises. Amounts are bytes; null is what was not seen."""

from collections.abc import Mapping

import msgspec

from numafit.bits import cpuset_text
from numafit.host.audit.codes import AuditFinding
from numafit.host.audit.promise import Promise
from numafit.host.audit.survey import AuditReport
from numafit.host.gpu.users import GpuUse
from numafit.host.process.cpuset import Cpuset
from numafit.host.process.numa_maps import Pages
from numafit.host.process.observation import Observation


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


class AuditAnswer(msgspec.Struct, frozen=True):
    findings: tuple[AuditFinding, ...]
    processes: tuple[ProcessSeen, ...]
    promises: tuple[PromiseRecord, ...]
    unseen: tuple[str, ...]


def audit_record(report: AuditReport) -> AuditAnswer:
    return AuditAnswer(
        report.findings,
        tuple(_process(process) for process in report.processes),
        tuple(_promise(promise) for promise in report.promises),
        report.unseen,
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
    return None if own is None else PagesSeen(own.nodes, own.file_nodes, own.policies, own.mappings)


def _promise(one: Promise) -> PromiseRecord:
    return PromiseRecord(one.name, one.pids, cpuset_text(one.cpus), cpuset_text(one.mems), one.devices, one.exclusive)
