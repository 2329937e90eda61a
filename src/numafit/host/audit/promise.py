"""Whether a promise holds: what was promised to a process, compared with what the kernel says of it.

Values in, findings out. A thing that could not be seen is no finding here; the observation says so itself.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from numafit.advice.verdict import HolderVerdict
from numafit.amounts import count_text
from numafit.bits import cpuset_text, mask_of
from numafit.host.audit.alignment import gpu_findings, misplaced
from numafit.host.audit.codes import (
    CPUS_WIDER,
    FAR_MEMORY,
    MEMORY_ELSEWHERE,
    MEMORY_WIDER,
    OTHER_GPU,
    THREADS_OUTSIDE,
    UNUSED_GPU,
    AuditFinding,
    finding,
    move_cure,
)
from numafit.host.process.numa_maps import bound_nodes
from numafit.host.process.observation import Observation, Thread
from numafit.machine.model import Machine

NVIDIA = "nvidia.com/"
"""Of these resources the driver tells who uses which."""


class Promise(msgspec.Struct, frozen=True):
    """What a lease or a container was given. CPUs and NUMA nodes are masks; 0: nothing was said of them."""

    name: str
    pids: tuple[int, ...]
    cpus: int = 0
    mems: int = 0
    devices: Mapping[str, tuple[str, ...]] = {}
    """Resource -> ids."""
    exclusive: bool = False
    watcher: int = 0
    """The process that waits for the job to end: no intruder anywhere, for it does nothing else."""
    lease: str = ""
    """Its id; empty for a container without one."""
    bind: str = "bind"
    """How firmly memory belongs to `mems`: `bind`, `prefer` or `interleave`."""
    alignment: HolderVerdict | None = None
    """How what was given lies; None: not judged."""


def audit_promise(machine: Machine, promise: Promise, seen: Iterable[Observation]) -> list[AuditFinding]:
    """`seen` are the processes of the promise, by ascending id."""
    found: list[AuditFinding] = []
    processes = list(seen)
    for process in processes:
        found += _threads(promise, process)
        found += _memory(machine, promise, process)
        found += _other_gpus(machine, promise, process)
        found += gpu_findings(machine, promise.name, process, promise.cpus or process.all_cpus, promised=True)
    return found + list(_unused_gpus(machine, promise, processes))


def _threads(promise: Promise, process: Observation) -> Iterator[AuditFinding]:
    if not promise.cpus:
        return
    outside, wider = [], []
    for thread in process.threads:
        may = thread.cpus & ~promise.cpus
        # A thread that sleeps keeps the CPU where it ran before it was bound; it counts only where it may go back.
        if may >> thread.last_cpu & 1:
            outside.append(thread)
        elif may:
            wider.append(thread)
    cpus, total = cpuset_text(promise.cpus), len(process.threads)
    cure = move_cure(process.pid, cpus)
    if outside:
        last = cpuset_text(mask_of(thread.last_cpu for thread in outside))
        sentence = f"{_part(outside, total)} ran last on CPU {last}, but CPU {cpus} was promised"
        yield finding(THREADS_OUTSIDE, promise.name, process.pid, sentence, cure)
    if wider:
        allowed = 0
        for thread in wider:
            allowed |= thread.cpus
        sentence = f"{_part(wider, total)} may run on CPU {cpuset_text(allowed)}, but CPU {cpus} was promised"
        yield finding(CPUS_WIDER, promise.name, process.pid, sentence, cure)


def _part(threads: list[Thread], total: int) -> str:
    return f"{len(threads)} of {count_text(total, 'thread')}" if total > 1 else "it"


def _memory(machine: Machine, promise: Promise, process: Observation) -> Iterator[AuditFinding]:
    if not promise.mems:
        return
    nodes = cpuset_text(promise.mems)
    wrong = misplaced(machine, process.pages, promise.mems)
    if promise.bind != "bind":
        if wrong is not None:
            sentence = f"{wrong.text}, but NUMA node {nodes} is preferred"
            yield finding(FAR_MEMORY, promise.name, process.pid, sentence, wrong.cure(process.pid, promise.mems))
        return
    if wrong is not None:
        sentence = f"{wrong.text}, but NUMA node {nodes} was promised"
        yield finding(MEMORY_ELSEWHERE, promise.name, process.pid, sentence, wrong.cure(process.pid, promise.mems))
    if process.pages is not None and any("interleave" in policy for policy in process.pages.policies):
        # It asked for that itself.
        return
    allowed = process.mems
    if process.pages is not None and allowed is not None:
        bound = bound_nodes(process.pages.policies)
        allowed = allowed if bound is None else allowed & bound
    if allowed is not None and allowed & ~promise.mems:
        yield finding(
            MEMORY_WIDER,
            promise.name,
            process.pid,
            f"its memory may come from NUMA node {cpuset_text(allowed)}, but {nodes} was promised",
            f"start it where a cpuset can hold it (as root, or under systemd), or with numactl --membind={nodes}",
        )


def _promised_gpus(machine: Machine, promise: Promise) -> dict[str, frozenset[str]]:
    """Promised id -> the names under which the driver may show it: UUID, PCI address, the GPU that a slice is of."""
    devices = {device.id: device for device in machine.devices}
    names: dict[str, frozenset[str]] = {}
    for resource, ids in promise.devices.items():
        if not resource.startswith(NVIDIA):
            continue
        for name in ids:
            device = devices.get(name)
            more = () if device is None else (device.parent or device.bus,)
            names[name] = frozenset({name, *more}) - {""}
    return names


def _other_gpus(machine: Machine, promise: Promise, process: Observation) -> Iterator[AuditFinding]:
    promised = _promised_gpus(machine, promise)
    names = frozenset().union(*promised.values())
    for use in process.gpus or ():
        if use.id in names or use.bus in names:
            continue
        listed = ", ".join(promised)
        yield finding(
            OTHER_GPU,
            promise.name,
            process.pid,
            f"it uses {use.id}, but {f'{listed} was promised' if promised else 'no GPU was promised'}",
            f"start it again with CUDA_VISIBLE_DEVICES={listed.replace(' ', '')}",
        )


def _unused_gpus(machine: Machine, promise: Promise, processes: list[Observation]) -> Iterator[AuditFinding]:
    if not processes or any(process.gpus is None for process in processes):
        return
    used = {name for process in processes for use in process.gpus or () for name in (use.id, use.bus)}
    unused = [name for name, names in _promised_gpus(machine, promise).items() if not names & used]
    if unused:
        listed = ", ".join(unused)
        sentence = f"none of its processes uses {listed}, which nobody else can have"
        yield finding(UNUSED_GPU, promise.name, None, sentence, "ask for fewer GPUs, or end it if it hangs")
