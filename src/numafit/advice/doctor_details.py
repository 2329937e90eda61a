"""What exactly in a state file does not fit: the CPUs and the numbers behind an error that names none of them."""

from collections.abc import Iterator

from numafit.errors import KubeletError
from numafit.ledger.checkpoint import RestoreError
from numafit.ledger.cpu_file import CpuFile, parse_cpu
from numafit.ledger.memory_file import parse_memory
from numafit.ledger.memory_values import MemoryFile, MemoryNode
from numafit.machine.bits import cpuset_text, mask_of, parse_cpuset
from numafit.managers.cpu import CpuManager
from numafit.managers.memory_nodes import Nodes

_FIELDS = ("total", "system_reserved", "allocatable")
_WORDS = {"total": "total", "system_reserved": "systemReserved", "allocatable": "allocatable"}


def usable_cpus(manager: CpuManager) -> int:
    """The CPUs that a state file of the static policy must account for."""
    return manager.topology.cpus & ~(manager.reserved if manager.options.strict_cpu_reservation else 0)


def cpu_details(text: str, manager: CpuManager) -> tuple[str, ...]:
    try:
        file = parse_cpu(text)
    except RestoreError:
        return ()
    lines = [_held(sum(len(own) for own in (file.entries or {}).values()), "exclusive CPUs")]
    if manager.static and file.policy == "static":
        lines += _cpu_differences(file, manager)
    if file.pod_entries and not manager.pod_entries:
        lines.append("the file was written with the gate PodLevelResourceManagers on, and it is off")
    return tuple(lines)


def _held(containers: int, what: str) -> str:
    return f"{containers} containers hold {what} in it" if containers != 1 else f"1 container holds {what} in it"


def _cpu_differences(file: CpuFile, manager: CpuManager) -> Iterator[str]:
    try:
        sets = [file.default, *(cpus for own in (file.entries or {}).values() for cpus in own.values())]
        named = 0
        for cpus in sets:
            named |= parse_cpuset(cpus)
    except KubeletError:
        return
    missing, extra = usable_cpus(manager) & ~named, named & ~manager.topology.cpus
    if not named:
        return
    if missing:
        yield f"CPUs {cpuset_text(missing)} are online, but not in the file"
    if extra:
        yield f"CPUs {cpuset_text(extra)} are in the file, but not online"
    for uid, own in sorted((file.entries or {}).items()):
        for container, cpus in sorted(own.items()):
            reserved = parse_cpuset(cpus) & manager.reserved
            if reserved:
                yield f"pod {uid} container {container} holds CPUs {cpuset_text(reserved)}, which are reserved now"


def memory_details(text: str, idle: Nodes) -> tuple[str, ...]:
    try:
        file = parse_memory(text)
    except RestoreError:
        return ()
    containers = sum(len(own) for own in file.entries.values())
    differences = _memory_differences(file, idle) if idle and file.nodes else ()
    return (_held(containers, "memory"), *differences)


def _memory_differences(file: MemoryFile, idle: Nodes) -> Iterator[str]:
    known, found = mask_of(file.nodes), mask_of(idle)
    if known & ~found:
        yield f"NUMA nodes {cpuset_text(known & ~found)} are in the file, but not on the machine"
    if found & ~known:
        yield f"NUMA nodes {cpuset_text(found & ~known)} are on the machine, but not in the file"
    for node_id in sorted(file.nodes.keys() & idle.keys()):
        yield from _node_differences(node_id, file.nodes[node_id], idle[node_id])


def _node_differences(node_id: int, told: MemoryNode, real: MemoryNode) -> Iterator[str]:
    for memory_type in sorted(told.tables.keys() | real.tables.keys()):
        place = f"NUMA node {node_id} {memory_type}"
        old, new = told.tables.get(memory_type), real.tables.get(memory_type)
        if old is None or new is None:
            yield f"{place} is {'not in the file' if old is None else 'only in the file'}"
            continue
        for field in _FIELDS:
            before, now = getattr(old, field), getattr(new, field)
            if before != now:
                yield f"{place} {_WORDS[field]}: {before} in the file, {now} now ({now - before:+} bytes)"
