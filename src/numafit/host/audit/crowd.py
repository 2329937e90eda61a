"""Whether a job can use all the CPUs that it holds: CPUs that are offline, a narrower binding, threads in a heap."""

from collections.abc import Iterator, Sequence

from numafit.amounts import count_text
from numafit.bits import cpuset_text
from numafit.host.audit.activity import Activity, ThreadUse
from numafit.host.audit.codes import CONFINED, CPUS_OFFLINE, CROWDED, AuditFinding, finding, move_cure
from numafit.host.audit.promise import Promise
from numafit.host.process.observation import Observation

WANTS = 0.5
"""A thread that ran or wanted to for so much of the time is busy."""


def audit_held(
    promise: Promise, processes: Sequence[Observation], activity: Activity | None, online: int
) -> Iterator[AuditFinding]:
    """For exclusive CPUs only: who shares a pool holds none of it."""
    if not promise.exclusive:
        return
    yield from _offline(promise, online)
    held = promise.cpus & online
    # One whose threads could not be looked at may be anywhere.
    if not processes or any(not process.threads for process in processes):
        return
    narrow = list(_confined(promise, processes, held))
    yield from narrow
    if not narrow and activity is not None:
        yield from _crowded(promise, activity, held)


def _offline(promise: Promise, online: int) -> Iterator[AuditFinding]:
    offline = promise.cpus & ~online
    if not offline:
        return
    number = cpuset_text(offline)
    yield finding(
        CPUS_OFFLINE,
        promise.name,
        None,
        f"CPU {number} of its CPUs {cpuset_text(promise.cpus)} {'is' if offline.bit_count() == 1 else 'are'} offline",
        f"`numafit ps` moves the job to others, if any are free for it; or chcpu -e {number} as root",
    )


def _confined(promise: Promise, processes: Sequence[Observation], held: int) -> Iterator[AuditFinding]:
    allowed = 0
    for process in processes:
        for thread in process.threads:
            allowed |= thread.cpus
    if not held & ~allowed or not held & allowed:
        return
    threads = sum(len(process.threads) for process in processes)
    cpusets = {process.cpuset for process in processes if process.cpuset is not None}
    by_cpuset = [own for own in cpusets if held & ~own.cpus]
    sentence = (
        f"its {count_text(threads, 'thread')} may use only CPU {cpuset_text(held & allowed)}, "
        f"but it holds CPU {cpuset_text(held)}"
    )
    if by_cpuset and len(by_cpuset) == len(cpusets):
        where = ", ".join(sorted(own.path for own in by_cpuset))
        yield finding(
            CONFINED,
            promise.name,
            None,
            f"{sentence}: its cpuset {where} has no more",
            f"give {where} the CPUs {cpuset_text(held)} again, and see who took them from it",
        )
        return
    pids = [process.pid for process in processes]
    yield finding(CONFINED, promise.name, None, sentence, _widen(promise, pids, held), tuple(pids))


def _crowded(promise: Promise, activity: Activity, held: int) -> Iterator[AuditFinding]:
    """Threads that may run elsewhere are the scheduler's business. The most crowded CPUs are told, of equals the
    lowest."""
    owners = {use.thread.id: pid for pid in promise.pids for use in activity.processes.get(pid, ())}
    busy = [use for use in activity.threads(promise.pids) if activity.wants(use) >= WANTS and use.thread.cpus & held]
    used = 0
    for use in busy:
        used |= 1 << use.thread.last_cpu
    idle = held & ~used
    heaps: dict[int, list[ThreadUse]] = {}
    for mask in {use.thread.cpus & held for use in busy}:
        inside = [use for use in busy if not use.thread.cpus & held & ~mask]
        if mask != held and len(inside) > mask.bit_count():
            heaps[mask] = inside
    if not heaps or not idle:
        return
    mask = max(heaps, key=lambda one: (len(heaps[one]) / one.bit_count(), -one))
    inside = heaps[mask]
    pids = sorted({owners[use.thread.id] for use in inside})
    yield finding(
        CROWDED,
        promise.name,
        None,
        f"{len(inside)} busy threads may use only CPU {cpuset_text(mask)}, "
        f"while none of its busy threads was on CPU {cpuset_text(idle)} of those that it holds",
        _widen(promise, pids, held),
        tuple(pids),
    )


def _widen(promise: Promise, pids: Sequence[int], held: int) -> str:
    cpus = cpuset_text(held)
    first = move_cure(pids[0], cpus) if len(pids) == 1 else f"taskset -apc {cpus} PID for each of its processes"
    return f"{first}; start it without what pins it (taskset, GOMP_CPU_AFFINITY, OMP_PLACES, OMP_PROC_BIND)"
