"""Would this kubelet start, and does its state make sense?

The checks stand in the kubelet's order. The kubelet stops at its first error; the doctor goes on where that is
possible, so that the errors which would come after the first cure are known at once.
"""

from collections.abc import Iterator, Mapping, Sequence, Set

import msgspec

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
from numafit.decision.node import CPU_FILE, DEVICE_FILE, MEMORY_FILE, Node, new_node, start
from numafit.errors import StartError
from numafit.ledger.files.checkpoint import RestoreError
from numafit.ledger.files.device import read_device
from numafit.ledger.ledger import Ledger, MemoryNode
from numafit.machine.model import Machine
from numafit.managers.cpu.manager import CpuManager
from numafit.managers.cpu.start import new_cpu_manager, start_cpu_manager
from numafit.managers.memory.manager import MemoryManager
from numafit.managers.memory.start import new_memory_manager, start_memory_manager
from numafit.managers.protocol import Choices
from numafit.managers.topology.policy import topology_policy
from numafit.settings.allocatable import check_capacity, settings_of
from numafit.settings.config import KubeletConfig
from numafit.settings.settings import Settings
from numafit.settings.versions import KubeVersion
from numafit.workload.pod import Pod

Files = Mapping[str, str]
"""Name -> text of the state files that are there."""


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


def refused(error: StartError, place: str, files: Files) -> Checkup:
    """The configuration itself is refused, before the machine or any file is looked at."""
    unchecked = ("the managers and their reservations", *sorted(files))
    return Checkup((_error(CONFIG_REFUSED, place, error, ""),), unchecked)


def examine(
    machine: Machine,
    config: KubeletConfig,
    version: KubeVersion,
    files: Files,
    *,
    owners: Set[str] | None = None,
    pods: Sequence[Pod] = (),
    place: str = "configuration",
) -> Checkup:
    """`owners`: the UIDs of all pods on the node, when they are known; `pods`: those of them that can be admitted."""
    try:
        settings = settings_of(config, machine, version)
    except StartError as error:
        return refused(error, place, files)
    errors, unchecked = start_errors(machine, settings, files, place)
    try:
        check_capacity(settings.reservation, machine, version)
    except StartError as error:
        errors.append(_error(CAPACITY_EXCEEDED, place, error, settings.state_dir))
    node = ledger = None
    warnings = [*_without_effect(config, settings, place), *_device_file(files, settings)]
    if all(error.code not in (TOPOLOGY_REFUSED, CPU_REFUSED, MEMORY_REFUSED) for error in errors):
        node = new_node(machine, settings)
        warnings += _reservations(node, place)
    if node is not None and not errors:
        ledger = start(node, files).ledger
        warnings += state_findings(node, ledger, owners, pods)
    elif set(files) - set(unchecked):
        unchecked.append("whether the state makes sense beyond these errors")
    return Checkup((*errors, *warnings), tuple(unchecked), node, ledger)


def start_errors(machine: Machine, settings: Settings, files: Files, place: str) -> tuple[list[Diagnosis], list[str]]:
    """In the kubelet's order, constructors first; the first is what it says. Then the files that no manager could read.

    The kubelet reads a state file only when all its managers stand; here each manager reads its own.
    """
    errors: list[Diagnosis] = []
    unchecked: list[str] = []
    root = settings.state_dir
    cpu: CpuManager | None = None
    memory: MemoryManager | None = None
    idle: Mapping[int, MemoryNode] = {}
    try:
        topology_policy(settings, machine)
    except StartError as error:
        errors.append(_error(TOPOLOGY_REFUSED, place, error, root))
    try:
        cpu = new_cpu_manager(machine, settings, Choices())
    except StartError as error:
        errors.append(_error(CPU_REFUSED, place, error, root))
    has_memory_manager = settings.behaviour.memory_manager and settings.gates.get("MemoryManager", True)
    try:
        if has_memory_manager:
            memory, idle = new_memory_manager(machine, settings)
    except StartError as error:
        errors.append(_error(MEMORY_REFUSED, place, error, root))
    cpu_text, memory_text = files.get(CPU_FILE), files.get(MEMORY_FILE)
    if cpu is not None:
        try:
            start_cpu_manager(cpu, settings, cpu_text)
        except StartError as error:
            errors.append(_error(CPU_STATE_REFUSED, CPU_FILE, error, root, cpu_details(cpu_text or "", cpu)))
    elif cpu_text is not None:
        unchecked.append(CPU_FILE)
    if memory is not None:
        try:
            start_memory_manager(memory, idle, settings, memory_text, Choices())
        except StartError as error:
            details = memory_details(memory_text or "", idle)
            errors.append(_error(MEMORY_STATE_REFUSED, MEMORY_FILE, error, root, details))
    elif has_memory_manager and memory_text is not None:
        unchecked.append(MEMORY_FILE)
    return errors, unchecked


def _error(code: str, place: str, error: StartError, root: str, details: tuple[str, ...] = ()) -> Diagnosis:
    remedy = remedy_of(error, root)
    return Diagnosis(code, "error", place, error.message, error.stage, details, remedy.why, remedy.cure, remedy.cost)


def _device_file(files: Files, settings: Settings) -> Iterator[Diagnosis]:
    try:
        if DEVICE_FILE in files:
            read_device(files[DEVICE_FILE], settings.behaviour)
    except RestoreError as error:
        yield Diagnosis(
            DEVICE_STATE_IGNORED,
            "warning",
            DEVICE_FILE,
            f"the kubelet cannot read the file and goes on without it: {error}",
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
