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
    CRASH_AT_START,
    DEVICE_STATE_IGNORED,
    MEMORY_REFUSED,
    MEMORY_STATE_REFUSED,
    NO_EFFECT,
    NOTHING_LEFT,
    RESERVATION_WRAPS,
    TOPOLOGY_REFUSED,
    UNKNOWN_FIELD,
    Diagnosis,
)
from numafit.advice.doctor.remedy import remedy_of
from numafit.advice.doctor.state import cpu_details, memory_details, state_findings
from numafit.advice.inspection.checks import Unchecked
from numafit.advice.inspection.inspection import Inspection, Mistake, inspected
from numafit.advice.inspection.places import Position
from numafit.advice.inspection.text import KubeletText, argument_place, kubelet_text
from numafit.bits import cpuset_text
from numafit.decision.doubt.assumed import check_notes
from numafit.decision.node import Node
from numafit.decision.start import UNKNOWN, Start
from numafit.document import Path, field_text
from numafit.errors import InputError, KubeletError
from numafit.ledger.ledger import Ledger
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.notes import Note
from numafit.settings.config import KubeletConfig
from numafit.settings.read.decoder import unknown_fields
from numafit.settings.read.flags import FlagError
from numafit.settings.settings import Settings
from numafit.settings.versions import KubeVersion
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
    unchecked: tuple[Unchecked, ...] = ()
    """What an error before it keeps from being looked at."""
    node: Node | None = None
    """None when the kubelet's managers cannot even be made."""
    ledger: Ledger | None = None
    """What the state files give; None when the kubelet would not start."""
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""

    @property
    def starts(self) -> bool:
        """And runs on."""
        return all(finding.severity != "error" for finding in self.findings)

    @property
    def crashes(self) -> bool:
        """When it has started, and admits its pods again."""
        return any(finding.code == CRASH_AT_START and finding.severity == "error" for finding in self.findings)


def examine(
    known: Start, *, owners: Set[str] | None = None, pods: Sequence[Pod] = (), place: str = "configuration"
) -> Checkup:
    """`owners`: the UIDs of all pods on the node, when they are known; `pods`: those of them that can be admitted.

    `place`: what to call the configuration where no value of it is to blame. What only numafit refuses is raised.
    """
    files = known.files
    text = KubeletText(None, None) if known.sources is UNKNOWN else kubelet_text(known.sources, known.version)
    inspection = inspected(replace(known, active={}))
    if inspection.limit is not None and (not inspection.mistakes or inspection.known.config is UNKNOWN):
        raise inspection.limit
    errors = start_errors(inspection, text, place)
    known = inspection.known
    warnings: list[Diagnosis] = []
    unchecked = list(inspection.unchecked)
    if known.settings is not UNKNOWN and inspection.read:
        warnings += _without_effect(known.config, known.settings, text, place)
    if inspection.amended.device_state is not UNKNOWN:
        warnings += _device_file(inspection.amended.device_state[1])
    node = None if known.node is UNKNOWN or not inspection.read else known.node
    ledger = None
    if node is not None:
        warnings += _reservations(node, text, place)
    if node is not None and not errors:
        ledger = known.restored
        offered = None if known.allocatable is UNKNOWN else known.allocatable
        found = list(state_findings(node, ledger, owners, pods, offered))
        # A crash comes with the pods, after the managers have started.
        errors += [each for each in found if each.severity == "error"]
        warnings += [each for each in found if each.severity != "error"]
    elif files:
        unchecked.append(Unchecked("state-sense", "whether the state makes sense", ("a kubelet that starts",)))
    warnings += _unknown_fields(text, inspection.known.version)
    return Checkup((*errors, *warnings), tuple(unchecked), node, ledger, _guesses(known, pods))


def _guesses(known: Start, pods: Sequence[Pod]) -> tuple[Note, ...]:
    if known.machine is UNKNOWN or known.config is UNKNOWN:
        return ()
    return check_notes(known.machine, known.config, None if known.node is UNKNOWN else known.node, pods)


def start_errors(inspection: Inspection, text: KubeletText, place: str) -> list[Diagnosis]:
    """In the kubelet's order; the first is what it says."""
    return [_error(mistake, inspection, text, place) for mistake in inspection.mistakes]


def _error(mistake: Mistake, inspection: Inspection, text: KubeletText, place: str) -> Diagnosis:
    step, stage, words, problem = mistake
    remedy = remedy_of(problem, stage, _root(inspection.amended))
    source, line, column = _place(problem, stage, text) or (STEP_FILES.get(step, place), None, None)
    return Diagnosis(
        CODES.get(step, CONFIG_REFUSED),
        "error",
        source,
        words,
        stage,
        _details(step, inspection.amended),
        remedy.why,
        remedy.cure,
        remedy.cost,
        line,
        column,
    )


def _root(known: Start) -> str:
    if known.settings is not UNKNOWN:
        return known.settings.state_dir
    return "" if known.config is UNKNOWN else known.config.root_dir


def _place(
    problem: KubeletError | InputError, stage: str, text: KubeletText
) -> tuple[str, int | None, int | None] | None:
    """None for what no value of the configuration is to blame for."""
    if isinstance(problem, FlagError) and text.flags is not None:
        return argument_place(text.flags, problem.argument)
    if isinstance(problem, InputError):
        return problem.source, problem.line, problem.column
    if "file" in problem.facts:
        return problem.facts["file"], None, None
    return text.where(problem, stage)[0]


def _details(step: str, known: Start) -> tuple[str, ...]:
    if step == "cpu_state":
        return cpu_details(known.files.get(CPU_FILE, ""), known.cpu)
    if step == "memory_state":
        return memory_details(known.files.get(MEMORY_FILE, ""), known.memory[1])
    return ()


def _warning(code: str, place: Position | None, file: str, text: str, *, why: str = "", cure: str) -> Diagnosis:
    source, line, column = place or (file, None, None)
    return Diagnosis(code, "warning", source, text, why=why, cure=(cure,), line=line, column=column)


def _unknown_fields(text: KubeletText, version: KubeVersion) -> Iterator[Diagnosis]:
    for part in (text.part, *text.drop_ins):
        for path in () if part is None else unknown_fields(part.value, version):
            words = f"the kubelet {version} does not know {field_text(path)} and ignores it"
            place = None if part is None else part.place(path, key=True)
            yield _warning(UNKNOWN_FIELD, place, "", words, cure="remove it or correct its name")


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


def _without_effect(config: KubeletConfig, settings: Settings, text: KubeletText, file: str) -> Iterator[Diagnosis]:
    if settings.reserved_memory and settings.memory_policy == "None":
        words = "reservedMemory has no effect: memoryManagerPolicy is None"
        place = text.position(("reservedMemory",), key=True)
        yield _warning(NO_EFFECT, place, file, words, cure="set memoryManagerPolicy to Static, or remove it")
    ignored = settings.behaviour.none_checks_nothing and settings.topology_policy == "none"
    if config.topology_manager_policy_options and ignored:
        words = "topologyManagerPolicyOptions have no effect: topologyManagerPolicy is none"
        place = text.position(("topologyManagerPolicyOptions",), key=True)
        yield _warning(NO_EFFECT, place, file, words, cure="choose a topologyManagerPolicy, or remove them")


def _reservations(node: Node, text: KubeletText, file: str) -> Iterator[Diagnosis]:
    for node_id, memory in node.idle_memory.items():
        for memory_type, table in memory.tables.items():
            if table.allocatable > table.total:
                words = f"more {memory_type} is reserved on NUMA node {node_id} than it has, huge pages taken off"
                why = "The kubelet subtracts without looking: the rest wraps around, and the node looks endless."
                cure = "move the reservation to a NUMA node that has so much"
                place = text.position(_entry(node, node_id))
                yield _warning(RESERVATION_WRAPS, place, file, words, why=why, cure=cure)
    cpu = node.cpu
    if not cpu.static:
        return
    place = text.position(text.cause_of(KubeletError("", field=("reservedSystemCPUs",), facts={"resource": "cpu"})))
    if not cpu.topology.cpus & ~cpu.reserved:
        words = "every CPU is reserved: no container can have exclusive CPUs"
        yield _warning(NOTHING_LEFT, place, file, words, cure="reserve fewer CPUs")
    split = cpu.topology.with_siblings(cpu.reserved & cpu.topology.cpus) & ~cpu.reserved
    if split and cpu.options.full_pcpus_only and cpu.behaviour.physical_cpu_check:
        words = (
            f"CPUs {cpuset_text(split)} share a core with reserved CPUs: with full-pcpus-only nobody gets them alone"
        )
        whole = cpuset_text(cpu.reserved | split)
        yield _warning(
            CORES_SPLIT, place, file, words, cure=f"reserve whole cores, such as reservedSystemCPUs: {whole}"
        )


def _entry(node: Node, node_id: int) -> Path:
    for index, item in enumerate(node.settings.reserved_memory):
        if item.numa_node == node_id:
            return ("reservedMemory", index)
    return ("reservedMemory",)
