"""What the state files say: what does not fit the machine, and what a kubelet that starts gets wrong."""

from collections.abc import Iterator, Mapping, Sequence, Set

from msgspec.structs import replace

from numafit.advice.doctor.diagnosis import (
    CRASH_AT_START,
    DEVICE_GONE,
    HELD_TWICE,
    NO_OWNER,
    REJECTED_AT_START,
    Diagnosis,
)
from numafit.bits import cpuset_text, mask_of, parse_cpuset
from numafit.decision.decision import Crash, Decision
from numafit.decision.history.event import Beginning, PluginsAt
from numafit.decision.history.restart import restart
from numafit.decision.history.situation import situation_of
from numafit.decision.node import Node
from numafit.decision.story.refused_words import blame_in_words
from numafit.errors import KubeletError, StartError
from numafit.ledger.files.checkpoint import RestoreError
from numafit.ledger.files.cpu import CpuFile, parse_cpu
from numafit.ledger.files.memory import parse_memory
from numafit.ledger.ledger import Ledger, MemoryFile, MemoryNode
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.managers.cpu.manager import CpuManager
from numafit.managers.memory.nodes import MemoryNodes
from numafit.quantity import Quantity
from numafit.workload.pod import Pod

SHARED_COST = "Both run on the same CPUs until one of them is deleted."
STALE_CURE = "nothing: the kubelet removes it itself, CPUs at once, memory and devices when the next pod asks for some"


def state_findings(
    node: Node,
    ledger: Ledger,
    owners: Set[str] | None,
    pods: Sequence[Pod],
    allocatable: Mapping[str, Quantity] | None = None,
) -> Iterator[Diagnosis]:
    """`owners` are the UIDs of all pods of the node when they are known, `pods` those pods that can be admitted.

    `allocatable` is what the node offers as a whole, where that is known.
    """
    yield from _cpus_held_twice(node, ledger)
    yield from _devices(node, ledger)
    if owners is not None:
        yield from _without_owner(ledger, owners)
    yield from _rejected_at_start(node, ledger, [pod for pod in pods if pod.uid in holders(ledger)], allocatable)


def holders(ledger: Ledger) -> dict[str, set[str]]:
    """Pod UID -> the state files that it stands in."""
    found: dict[str, set[str]] = {}
    for file, uids in (
        (CPU_FILE, ledger.cpu.entries.keys() | ledger.cpu.pod_entries.keys()),
        (MEMORY_FILE, ledger.memory.entries.keys() | ledger.memory.pod_entries.keys()),
        (DEVICE_FILE, ledger.device.held.keys()),
    ):
        for uid in uids:
            found.setdefault(uid, set()).add(file)
    return found


def _cpus_held_twice(node: Node, ledger: Ledger) -> Iterator[Diagnosis]:
    """Containers of one pod may overlap: init containers leave their CPUs to the others."""
    if not node.cpu.static:
        return
    taken: dict[str, int] = {}
    for uid, own in sorted(ledger.cpu.entries.items()):
        cpus = 0
        for held in own.values():
            cpus |= held
        for other, theirs in taken.items():
            if cpus & theirs:
                text = f"CPUs {cpuset_text(cpus & theirs)} are exclusive to pod {other} and to pod {uid}"
                cure = (f"kubectl delete pod POD (the one with UID {uid})", "or numafit doctor --repair")
                yield Diagnosis(HELD_TWICE, "warning", CPU_FILE, text, cure=cure, cost=SHARED_COST)
        taken[uid] = cpus


def _devices(node: Node, ledger: Ledger) -> Iterator[Diagnosis]:
    known: dict[str, set[str]] = {}
    for device in node.machine.devices:
        known.setdefault(device.resource, set()).add(device.id)
    taken: dict[tuple[str, str], str] = {}
    for uid, containers in sorted(ledger.device.held.items()):
        for container, resources in sorted(containers.items()):
            for resource, held in sorted(resources.items()):
                gone = sorted(held.ids - known[resource]) if resource in known else []
                if gone:
                    text = f"pod {uid} container {container} holds {', '.join(gone)} ({resource}), which is not there"
                    cure = ("see whether the device failed or was renamed", "delete the pod, so that it is placed anew")
                    yield Diagnosis(DEVICE_GONE, "warning", DEVICE_FILE, text, cure=cure)
                for device_id in sorted(held.ids):
                    other = taken.setdefault((resource, device_id), uid)
                    if other != uid:
                        text = f"{device_id} ({resource}) belongs to pod {other} and to pod {uid}"
                        yield Diagnosis(HELD_TWICE, "warning", DEVICE_FILE, text, cure=("delete one of the pods",))


def _without_owner(ledger: Ledger, owners: Set[str]) -> Iterator[Diagnosis]:
    for uid, files in sorted(holders(ledger).items()):
        if uid not in owners:
            text = f"no pod has the UID {uid}"
            yield Diagnosis(NO_OWNER, "warning", ", ".join(sorted(files)), text, cure=(STALE_CURE,))


def _rejected_at_start(
    node: Node, ledger: Ledger, pods: Sequence[Pod], allocatable: Mapping[str, Quantity] | None
) -> Iterator[Diagnosis]:
    """The kubelet admits pods that run once more when it starts, and may reject them.

    Only those that stand in its state are sure to run: others do not count in what is used of the node.
    """
    if not pods:
        return
    resident = replace(ledger, active={pod.uid: pod for pod in pods})
    outcomes: list[Mapping[str, Decision]] = []
    begin = situation_of(node, resident, allocatable)
    ways: tuple[PluginsAt, ...] = ("first", "late")
    for plugins in ways:
        try:
            decisions = restart(begin, Beginning(plugins)).readmitted
        except StartError:
            return
        outcomes.append({decision.pod.uid: decision for decision in decisions if not decision.admitted})
    for pod in pods:
        early, late = (outcome.get(pod.uid) for outcome in outcomes)
        decision = early or late
        if decision is None:
            continue
        name = pod.full_name
        if decision.panic:
            yield _crash(decision, sure=bool(early))
            continue
        how = "would be rejected when the kubelet starts" if early else "may be rejected when the kubelet starts"
        when = "" if early else ", as long as its device plugin is not back"
        says = f"{decision.reason}: {decision.message}"
        yield Diagnosis(
            REJECTED_AT_START,
            "warning",
            name,
            f"{name} runs, and {how}{when}",
            details=(says,),
            why="The kubelet admits every pod anew at its start, and its rules do not always fit what it gave before.",
            cure=("drain the node before the kubelet is restarted",),
            cost="The pod fails; its controller makes another one.",
        )


def _crash(decision: Decision, *, sure: bool) -> Diagnosis:
    name = decision.pod.full_name
    blame = blame_in_words(decision.cause) if isinstance(decision.cause, Crash) else ""
    return Diagnosis(
        CRASH_AT_START,
        "error" if sure else "warning",
        name,
        f"the kubelet {'crashes' if sure else 'may crash'} over {name} each time it starts: {decision.panic}",
        why=f"What it meets: {blame}." if blame else "",
        cure=(
            "drain the node before the kubelet is restarted",
            f"where it is down: kubectl delete pod -n {decision.pod.namespace} {decision.pod.name} --force",
        ),
        cost="The pod is gone; its controller makes another one.",
    )


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


def memory_details(text: str, idle: MemoryNodes) -> tuple[str, ...]:
    try:
        file = parse_memory(text)
    except RestoreError:
        return ()
    containers = sum(len(own) for own in file.entries.values())
    differences = _memory_differences(file, idle) if idle and file.nodes else ()
    return (_held(containers, "memory"), *differences)


def _memory_differences(file: MemoryFile, idle: MemoryNodes) -> Iterator[str]:
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
