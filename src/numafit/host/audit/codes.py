"""What an audit can find: the table of codes, each with a section in docs/audit.md, and the shape of a finding."""

from typing import Literal

import msgspec

AuditSeverity = Literal["error", "warning", "info"]
"""`error`: what was promised does not hold. `warning`: it need not hold, or things lie apart. `info`: worth knowing."""

MEMORY_ELSEWHERE = "NA001"
THREADS_OUTSIDE = "NA002"
CPUS_WIDER = "NA003"
MEMORY_WIDER = "NA004"
OTHER_GPU = "NA005"
UNUSED_GPU = "NA006"
INTRUDER = "NA007"
POSSIBLE_INTRUDER = "NA008"
FAR_GPU = "NA009"
LOOSE_GPU = "NA010"
GPU_UNKNOWN = "NA011"
CPUS_APART = "NA012"
FAR_MEMORY = "NA013"
CONFINED = "NA014"
CPUS_OFFLINE = "NA015"
CROWDED = "NA016"
MEMORY_DRIFTS = "NA017"
ALLOCATIONS_MISSED = "NA018"


class AuditCode(msgspec.Struct, frozen=True):
    severity: AuditSeverity
    title: str


CODES: dict[str, AuditCode] = {
    MEMORY_ELSEWHERE: AuditCode("error", "memory on other NUMA nodes than promised"),
    THREADS_OUTSIDE: AuditCode("error", "threads outside the promised CPUs"),
    CPUS_WIDER: AuditCode("warning", "threads may run on more CPUs than promised"),
    MEMORY_WIDER: AuditCode("warning", "memory may come from more NUMA nodes than promised"),
    OTHER_GPU: AuditCode("error", "a GPU is used that was not promised"),
    UNUSED_GPU: AuditCode("info", "a promised GPU is not used"),
    INTRUDER: AuditCode("error", "busy processes of others on exclusive CPUs"),
    POSSIBLE_INTRUDER: AuditCode("info", "busy processes of others may run on exclusive CPUs"),
    FAR_GPU: AuditCode("warning", "a GPU on another NUMA node than the CPUs"),
    LOOSE_GPU: AuditCode("warning", "a process with a GPU may run far from it"),
    GPU_UNKNOWN: AuditCode("info", "the NUMA node of a GPU is unknown"),
    CPUS_APART: AuditCode("warning", "CPUs on more NUMA nodes than needed"),
    FAR_MEMORY: AuditCode("warning", "memory far from the CPUs"),
    CONFINED: AuditCode("warning", "a job may use fewer CPUs than it holds"),
    CPUS_OFFLINE: AuditCode("error", "CPUs of a lease are offline"),
    CROWDED: AuditCode("warning", "busy threads share few CPUs while others of the job are idle"),
    MEMORY_DRIFTS: AuditCode("warning", "memory drifts away from its NUMA nodes"),
    ALLOCATIONS_MISSED: AuditCode("warning", "memory that was wanted on a NUMA node came from another"),
}


class AuditFinding(msgspec.Struct, frozen=True):
    code: str
    severity: AuditSeverity
    subject: str
    """The promise, or without one the program."""
    pid: int | None
    """None when it is about no single process."""
    sentence: str
    cure: str
    others: tuple[int, ...] = ()
    """The process ids that a finding about several processes counts."""


def finding(
    code: str, subject: str, pid: int | None, sentence: str, cure: str, others: tuple[int, ...] = ()
) -> AuditFinding:
    return AuditFinding(code, CODES[code].severity, subject, pid, sentence, cure, others)


def move_cure(pid: int, cpus: str) -> str:
    """Never for process 1: all that it starts later would inherit the CPUs."""
    if pid == 1:
        return "leave process 1 where it is, for all that it starts inherits its CPUs, and see what keeps it busy"
    return f"taskset -apc {cpus} {pid}"
