"""State files that a kubelet takes again: what can be kept of a broken one is kept, the rest is worked out anew.

A container keeps what the file gives it, unless nobody can have that any more: CPUs or memory that are not there or not
free for pods, or that another pod has too. Then its entry goes, and the kubelet gives it something new when it admits
the pod again. What follows from the entries (the shared pool, the state of the NUMA nodes, checksums) is computed.
Every repaired file was given to the engine's kubelet, which started with it.
"""

from collections.abc import Callable, Mapping, Set

import msgspec

from numafit.advice.doctor.state import usable_cpus
from numafit.bits import CpusetError, cpuset_text, mask_of, parse_cpuset
from numafit.decision.files import state_files
from numafit.decision.node import Node
from numafit.errors import KubeletError, StartError
from numafit.ledger.files.checkpoint import RestoreError
from numafit.ledger.files.cpu import CpuFile, parse_cpu
from numafit.ledger.files.device import DeviceFile, device_bytes, parse_device, read_device
from numafit.ledger.files.memory import parse_memory
from numafit.ledger.ledger import Block, CpuLedger, Ledger, MemoryFile, MemoryLedger
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.managers.cpu.start import start_cpu_manager
from numafit.managers.memory.nodes import MemoryNodes, fill, has_free
from numafit.managers.memory.start import start_memory_manager
from numafit.managers.protocol import Choices

CHECKSUM = "the checksum is computed anew, and what the file gives to containers is believed"
UNREADABLE = frozenset(
    (
        "cpu-restore-policy",
        "restore-corrupted",
        "restore-older-layout",
        "restore-container",
        "restore-cpus",
        "restore-json",
    )
)
"""The refusals of a file that is wrong by itself, whatever it says about the machine."""
RANDOM_ORDER = (
    "this release charges memory across several NUMA nodes in random order when it starts: it may refuse any such file"
)


class Repair(msgspec.Struct, frozen=True):
    name: str
    text: str = ""
    """The corrected file; empty when there is none."""
    changes: tuple[str, ...] = ()
    problem: str = ""
    """Why the file cannot be repaired, or what remains doubtful."""


def repair(node: Node, files: Mapping[str, str], owners: Set[str] | None = None) -> tuple[Repair, ...]:
    """Of the files that need it. Entries of pods other than `owners`, if these are known, go too."""
    repairs = []
    makers: tuple[tuple[str, Callable[[Node, str, Set[str] | None], Repair | None]], ...] = (
        (CPU_FILE, _repair_cpu),
        (MEMORY_FILE, _repair_memory),
        (DEVICE_FILE, _repair_device),
    )
    for name, maker in makers:
        text = files.get(name)
        if text is None or (name == MEMORY_FILE and node.memory is None):
            continue
        try:
            made = maker(node, text, owners)
        except RestoreError as error:
            made = Repair(name, problem=f"cannot be read at all ({error}): only deleting it helps")
        if made is not None:
            repairs.append(made)
    return tuple(repairs)


# --- CPUs ------------------------------------------------------------------------------------------------------------


def _repair_cpu(node: Node, text: str, owners: Set[str] | None) -> Repair | None:
    error = _cpu_error(node, text)
    file = parse_cpu(text)
    policy_before = file.policy
    manager, policy = node.cpu, node.settings.cpu_policy
    changes: list[str] = []
    if file.policy != policy:
        held = sum(len(own) for own in (file.entries or {}).values())
        changes.append(f'the policy is "{policy}", not "{file.policy}": {held} containers lose their exclusive CPUs')
        file = CpuFile(policy)
    default = file.default
    ledger = _cpu_ledger(node, file, owners, changes)
    if manager.static and not ledger.default:
        return Repair(CPU_FILE, problem="no CPU is left to share, and repair takes none from a container: delete it")
    if error and default and default != cpuset_text(ledger.default) and manager.static:
        changes.append(f'defaultCpuSet is "{cpuset_text(ledger.default)}", not "{default}"')
    if (error and not changes) or (error and error.code in UNREADABLE and policy == policy_before):
        changes.append(CHECKSUM)
    return _made(node, CPU_FILE, Ledger(cpu=ledger), changes, _cpu_error)


def _cpu_error(node: Node, text: str) -> StartError | None:
    try:
        start_cpu_manager(node.cpu, node.settings, text)
    except StartError as error:
        return error
    return None


def _cpu_ledger(node: Node, file: CpuFile, owners: Set[str] | None, changes: list[str]) -> CpuLedger:
    manager = node.cpu
    static = manager.static
    free = usable_cpus(manager) & ~manager.reserved if static else -1
    entries: dict[str, dict[str, int]] = {}
    pod_entries: dict[str, int] = {}
    whole = (file.pod_entries or {}) if manager.pod_entries else {}
    for uid in sorted((file.entries or {}).keys() | whole.keys()):
        pool, own = free, 0
        if uid in whole:
            reason, cpus = _cpu_fault(whole[uid], uid, pool, owners, node)
            if reason:
                changes.append(f"pod {uid} loses all its CPUs: {reason}")
                continue
            pod_entries[uid] = own = cpus
        kept: dict[str, int] = {}
        for container, text in sorted((file.entries or {}).get(uid, {}).items()):
            reason, cpus = _cpu_fault(text, uid, pool, owners, node)
            if reason:
                changes.append(f'pod {uid} container {container} loses CPUs "{text}": {reason}')
                continue
            kept[container] = cpus
            own |= cpus
        if kept or (uid in whole and uid in (file.entries or {})):
            entries[uid] = kept
        if static:
            free &= ~own
    taken = 0
    for own_entries in entries.values():
        for cpus in own_entries.values():
            taken |= cpus
    for cpus in pod_entries.values():
        taken |= cpus
    default = usable_cpus(manager) & ~taken if static else 0
    return CpuLedger(default=default, entries=entries, pod_entries=pod_entries)


def _cpu_fault(text: str, uid: str, pool: int, owners: Set[str] | None, node: Node) -> tuple[str, int]:
    """Why these CPUs cannot be kept, and the CPUs."""
    if owners is not None and uid not in owners:
        return "there is no such pod", 0
    try:
        cpus = parse_cpuset(text, reversed_sign=node.settings.behaviour.reversed_range_sign)
    except CpusetError as error:
        return str(error), 0
    if pool < 0 or not cpus & ~pool:
        return "", cpus
    bad = cpus & ~pool
    gone, reserved = bad & ~node.cpu.topology.cpus, bad & node.cpu.reserved
    if gone:
        return f"CPUs {cpuset_text(gone)} are not online", cpus
    if reserved:
        return f"CPUs {cpuset_text(reserved)} are reserved", cpus
    return f"CPUs {cpuset_text(bad)} belong to another pod too", cpus


# --- memory ----------------------------------------------------------------------------------------------------------


def _repair_memory(node: Node, text: str, owners: Set[str] | None) -> Repair | None:
    error = _memory_error(node, text)
    file = parse_memory(text)
    policy = node.settings.memory_policy
    changes: list[str] = []
    if file.policy != policy:
        held = sum(len(own) for own in file.entries.values())
        changes.append(f'the policy is "{policy}", not "{file.policy}": {held} containers lose their memory')
        file = MemoryFile(policy)
    ledger = _memory_ledger(node, file, owners, changes)
    if error and not changes:
        sealed = MemoryLedger(nodes=file.nodes, entries=file.entries, pod_entries=file.pod_entries)
        made = _made(node, MEMORY_FILE, Ledger(memory=sealed), [CHECKSUM], _memory_error)
        if made and made.text:
            return made
        changes.append("the state of the NUMA nodes is computed anew from what the file gives to containers")
    made = _made(node, MEMORY_FILE, Ledger(memory=ledger), changes, _memory_error)
    blocks = [block for own in ledger.entries.values() for held in own.values() for block in held]
    if made and any(len(block.numa) > 1 for block in blocks) and not node.settings.behaviour.memory_group_sums:
        return msgspec.structs.replace(made, problem=made.problem or RANDOM_ORDER)
    return made


def _memory_error(node: Node, text: str) -> StartError | None:
    if node.memory is None:
        return None
    try:
        start_memory_manager(node.memory, node.idle_memory, node.settings, text, Choices())
    except StartError as error:
        return error
    return None


def _memory_ledger(node: Node, file: MemoryFile, owners: Set[str] | None, changes: list[str]) -> MemoryLedger:
    if node.memory is None or not node.memory.static:
        return MemoryLedger(entries=file.entries)
    nodes: MemoryNodes = node.idle_memory
    entries: dict[str, dict[str, tuple[Block, ...]]] = {}
    pod_entries: dict[str, tuple[Block, ...]] = {}
    for uid, own in sorted(file.entries.items()):
        whole = file.pod_entries.get(uid) if node.memory.pod_entries else None
        charged = {"": whole} if whole else own
        kept: dict[str, tuple[Block, ...]] = {}
        for container, blocks in sorted(charged.items()):
            charged_nodes, reason = _charged(nodes, blocks)
            if owners is not None and uid not in owners:
                reason = "there is no such pod"
            if reason:
                changes.append(f"pod {uid} {f'container {container} ' if container else ''}loses its memory: {reason}")
                continue
            nodes, kept[container] = charged_nodes, blocks
        if whole and kept:
            entries[uid], pod_entries[uid] = own, whole
        elif not whole and kept:
            entries[uid] = kept
    return MemoryLedger(nodes=nodes, entries=entries, pod_entries=pod_entries)


def _charged(nodes: MemoryNodes, blocks: tuple[Block, ...]) -> tuple[MemoryNodes, str]:
    """The nodes with these blocks on them, or why they cannot be there."""
    for block in blocks:
        for node_id in block.numa:
            if node_id not in nodes:
                return nodes, f"there is no NUMA node {node_id}"
            if block.type not in nodes[node_id].tables:
                return nodes, f"NUMA node {node_id} has no {block.type}"
        mask = mask_of(block.numa)
        if not has_free(nodes, mask, {block.type: block.size}):
            return nodes, f"NUMA nodes {cpuset_text(mask)} do not have so much {block.type} any more"
        nodes = fill(nodes, block.numa, block.type, block.size)
    return nodes, ""


# --- devices ---------------------------------------------------------------------------------------------------------


def _repair_device(node: Node, text: str, owners: Set[str] | None) -> Repair | None:
    changes: list[str] = []
    try:
        file = read_device(text, node.settings.behaviour)
    except RestoreError:
        file = parse_device(text)
        changes.append(CHECKSUM)
    kept = []
    for entry in file.entries or ():
        if owners is None or entry.pod_uid in owners:
            kept.append(entry)
        else:
            changes.append(f"pod {entry.pod_uid} loses its {entry.resource}: there is no such pod")
    if not changes:
        return None
    return Repair(DEVICE_FILE, device_bytes(DeviceFile(tuple(kept) or None, file.registered)), tuple(changes))


def _made(
    node: Node, name: str, ledger: Ledger, changes: list[str], error_of: Callable[[Node, str], StartError | None]
) -> Repair | None:
    if not changes:
        return None
    error: KubeletError | None
    try:
        text = state_files(node, ledger)[name]
        error = error_of(node, text)
    except KubeletError as problem:
        text, error = "", problem
    if error:
        return Repair(name, problem=f"cannot be repaired: the kubelet would still say: {error}")
    return Repair(name, text, tuple(changes))
