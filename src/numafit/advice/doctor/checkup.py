"""Would this kubelet start, and does its state make sense?

The checks are the steps of the kubelet's start. The kubelet stops at its first error; the doctor goes on where that is
possible, so that the errors which would come after the first cure are known at once.
"""

from collections.abc import Iterator, Sequence, Set

import msgspec
from msgspec.structs import replace

from numafit.advice.doctor.diagnosis import (
    CAPACITY_EXCEEDED,
    CONFIG_REFUSED,
    CORES_SPLIT,
    CPU_REFUSED,
    CPU_STATE_REFUSED,
    DEVICE_STATE_IGNORED,
    MEMORY_REFUSED,
    MEMORY_STATE_REFUSED,
    NO_EFFECT,
    NOTHING_LEFT,
    RESERVATION_WRAPS,
    TOPOLOGY_REFUSED,
    Diagnosis,
)
from numafit.advice.doctor.remedy import remedy_of
from numafit.advice.doctor.state import cpu_details, memory_details, state_findings
from numafit.bits import cpuset_text
from numafit.decision.node import Node
from numafit.decision.start import UNKNOWN, Examination, Start, examined
from numafit.errors import StartError
from numafit.ledger.ledger import Ledger
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.settings.config import KubeletConfig
from numafit.settings.settings import Settings
from numafit.workload.pod import Pod

MANAGERS = {"topology": TOPOLOGY_REFUSED, "cpu": CPU_REFUSED, "memory": MEMORY_REFUSED}
CODES = MANAGERS | {
    "cpu_state": CPU_STATE_REFUSED,
    "memory_state": MEMORY_STATE_REFUSED,
    "allocatable": CAPACITY_EXCEEDED,
}
"""Step of the start -> what its refusal is called; those before are about the configuration alone."""
STEP_FILES = {"cpu_state": CPU_FILE, "memory_state": MEMORY_FILE}
"""Step -> the file that it reads. The device manager's keeps no kubelet from starting."""


class Checkup(msgspec.Struct, frozen=True):
    findings: tuple[Diagnosis, ...] = ()
    """Errors in the order in which the kubelet would meet them, then warnings."""
    unchecked: tuple[str, ...] = ()
    """What an error before it keeps from being looked at."""
    node: Node | None = None
    """None when the kubelet's managers cannot even be made."""
    ledger: Ledger | None = None
    """What the state files give; None when the kubelet would not start."""

    @property
    def starts(self) -> bool:
        return all(finding.severity != "error" for finding in self.findings)


def examine(
    known: Start, *, owners: Set[str] | None = None, pods: Sequence[Pod] = (), place: str = "configuration"
) -> Checkup:
    """`owners`: the UIDs of all pods on the node, when they are known; `pods`: those of them that can be admitted."""
    files = known.files
    examination = examined(replace(known, active={}))
    known = examination.known
    errors = start_errors(examination, place)
    if known.node is UNKNOWN and all(error.code not in (CONFIG_REFUSED, *MANAGERS.values()) for error in errors):
        # What only numafit refuses is no finding.
        examination.started()
    if known.settings is UNKNOWN:
        return Checkup(tuple(errors), ("the managers and their reservations", *sorted(files)))
    unchecked = [file for step, file in STEP_FILES.items() if step in examination.skipped and file in files]
    warnings = [*_without_effect(known.config, known.settings, place), *_device_file(known.device_state[1])]
    node = None if known.node is UNKNOWN else known.node
    ledger = None
    if node is not None:
        warnings += _reservations(node, place)
    if node is not None and not errors:
        ledger = known.restored
        warnings += state_findings(node, ledger, owners, pods)
    elif set(files) - set(unchecked):
        unchecked.append("whether the state makes sense beyond these errors")
    return Checkup((*errors, *warnings), tuple(unchecked), node, ledger)


def start_errors(examination: Examination, place: str) -> list[Diagnosis]:
    """In the kubelet's order; the first is what it says."""
    known = examination.known
    return [
        _error(CODES.get(step, CONFIG_REFUSED), STEP_FILES.get(step, place), error, known, _details(step, known))
        for step, error in examination.refusals
        if isinstance(error, StartError)
    ]


def _details(step: str, known: Start) -> tuple[str, ...]:
    if step == "cpu_state":
        return cpu_details(known.files.get(CPU_FILE, ""), known.cpu)
    if step == "memory_state":
        return memory_details(known.files.get(MEMORY_FILE, ""), known.memory[1])
    return ()


def _error(code: str, place: str, error: StartError, known: Start, details: tuple[str, ...]) -> Diagnosis:
    remedy = remedy_of(error, "" if known.settings is UNKNOWN else known.settings.state_dir)
    return Diagnosis(code, "error", place, error.message, error.stage, details, remedy.why, remedy.cure, remedy.cost)


def _device_file(problem: str) -> Iterator[Diagnosis]:
    if problem:
        yield Diagnosis(
            DEVICE_STATE_IGNORED,
            "warning",
            DEVICE_FILE,
            f"the kubelet cannot read the file and goes on without it: {problem}",
            why="The checksum is not that of the contents, or it is not JSON: cut, edited or damaged.",
            cure=(
                "drain the node before the kubelet is restarted",
                "or numafit doctor --repair, with the kubelet stopped",
            ),
            cost="Devices that pods hold count as free, and are given to others.",
        )


def _without_effect(config: KubeletConfig, settings: Settings, place: str) -> Iterator[Diagnosis]:
    if settings.reserved_memory and settings.memory_policy == "None":
        text = "reservedMemory has no effect: memoryManagerPolicy is None"
        yield Diagnosis(NO_EFFECT, "warning", place, text, cure=("set memoryManagerPolicy to Static, or remove it",))
    ignored = settings.behaviour.none_checks_nothing and settings.topology_policy == "none"
    if config.topology_manager_policy_options and ignored:
        text = "topologyManagerPolicyOptions have no effect: topologyManagerPolicy is none"
        yield Diagnosis(NO_EFFECT, "warning", place, text, cure=("choose a topologyManagerPolicy, or remove them",))


def _reservations(node: Node, place: str) -> Iterator[Diagnosis]:
    for node_id, memory in node.idle_memory.items():
        for memory_type, table in memory.tables.items():
            if table.allocatable > table.total:
                text = f"more {memory_type} is reserved on NUMA node {node_id} than it has, huge pages taken off"
                why = "The kubelet subtracts without looking: the rest wraps around, and the node looks endless."
                cure = ("move the reservation to a NUMA node that has so much",)
                yield Diagnosis(RESERVATION_WRAPS, "warning", place, text, why=why, cure=cure)
    cpu = node.cpu
    if not cpu.static:
        return
    if not cpu.topology.cpus & ~cpu.reserved:
        text = "every CPU is reserved: no container can have exclusive CPUs"
        yield Diagnosis(NOTHING_LEFT, "warning", place, text, cure=("reserve fewer CPUs",))
    split = cpu.topology.with_siblings(cpu.reserved & cpu.topology.cpus) & ~cpu.reserved
    if split and cpu.options.full_pcpus_only and cpu.behaviour.physical_cpu_check:
        text = f"CPUs {cpuset_text(split)} share a core with reserved CPUs: with full-pcpus-only nobody gets them alone"
        whole = cpuset_text(cpu.reserved | split)
        cure = (f"reserve whole cores, such as reservedSystemCPUs: {whole}",)
        yield Diagnosis(CORES_SPLIT, "warning", place, text, cure=cure)
