"""The work under a lease: whether somebody still uses it, and how shared work is moved when the pool changes.

A lease is freed only when it is certain that nobody uses it: doubt keeps it.
"""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from numafit.bits import CpusetError, parse_cpuset
from numafit.errors import InputError
from numafit.host.bind.ladder import (
    group_pids,
    is_cgroup,
    is_in_lease_group,
    is_surely_empty,
    lease_groups,
    rebind,
)
from numafit.host.bind.mark import is_marked, marked_processes
from numafit.host.bind.target import Bound, Target
from numafit.host.host import Host
from numafit.host.lease import Lease, LiveContainers
from numafit.host.pool import shared_cpus
from numafit.host.process.identity import (
    PROC,
    Liveness,
    ProcessId,
    boot_id,
    descendants,
    has_environment,
    identify,
    is_alive,
    processes,
    processes_with_environment,
    read_stat,
    status_fields,
    user_of,
)

LEASE_VARIABLE = "NUMAFIT_LEASE"


def is_in_use(
    lease: Lease, containers: Callable[[], LiveContainers | None], root: Path = PROC, liveness: Liveness | None = None
) -> bool:
    """`containers` asks Docker. None: it did not answer, so every container may be alive. `liveness` is given by who
    asks for many leases."""
    liveness = liveness or Liveness(root)
    states = [liveness.is_alive(owner) for owner in lease.owners]
    if any(states):
        return True
    if None in states:
        # Its command went into the cgroup before it was written down: an empty one means that it has ended.
        return not is_surely_empty(lease.cgroup)
    cgroup = cgroup_of(lease)
    # One that is not to be seen was removed, or is not mounted where this process runs.
    if cgroup and os.path.isdir(cgroup) and is_cgroup(Path(cgroup)):
        return bool(group_pids(cgroup))
    if lease.container:
        listed = containers()
        return listed is None or listed.get(lease.id, False)
    if lease.until is not None:
        return lease.boot == boot_id(root) and time.clock_gettime(time.CLOCK_BOOTTIME) < lease.until
    return _has_survivors(lease, root)


def cgroup_of(lease: Lease) -> str:
    """The cgroup made for it, if any. It is not written down when the process that had to was killed just before."""
    if lease.cgroup or lease.rung or lease.container or lease.until is not None:
        return lease.cgroup
    return next((group.cgroup for group in lease_groups() if group.lease_id == lease.id), "")


def can_be_seen(lease: Lease) -> bool:
    """Whether anything of its work is to be seen from here."""
    return bool(lease.container or any(is_alive(owner) for owner in lease.owners) or group_pids(lease.cgroup))


def with_command(lease: Lease, child: ProcessId | None, bound: Bound) -> Lease:
    """As it is written down when its command, a new process that is bound, is about to run."""
    owners = (*lease.owners, child) if child is not None else lease.owners
    marked = child is not None and is_marked(child.pid, lease.id)
    lease = replace(lease, owners=owners, marked=marked)
    return replace(lease, rung=bound.rung, cgroup=bound.cgroup, bound=bound.cpus, notes=bound.skipped)


def as_shared_work(lease: Lease) -> Lease:
    """It holds nothing any more, and stays until its processes end."""
    return replace(lease, exclusive=0, memory=(), devices={}, nodes=0)


def _has_survivors(lease: Lease, root: Path) -> bool:
    """Processes that the job left behind: they carry its variable, and its mark."""
    boot = boot_id(root)
    if lease.owners and boot and all(owner.boot not in ("", boot) for owner in lease.owners):
        # Nothing survives a restart of the machine.
        return False
    if processes_with_environment(LEASE_VARIABLE, lease.id, root):
        return True
    if lease.marked or not lease.rung:
        # Everybody may read the mark; and what was never bound was never started.
        return lease.marked and bool(marked_processes(lease.id, root))
    # Of other users only the CPUs may be read: what came later than the lease, belongs to the same user and is bound to
    # nothing but these CPUs is taken for a part of it.
    return bool(lease.exclusive) and any(_looks_bound(pid, lease, root) for pid in processes(root))


def _looks_bound(pid: int, lease: Lease, root: Path) -> bool:
    if user_of(pid, root) != lease.uid or _may_read_environment(pid, root) or _is_older(pid, lease, root):
        return False
    try:
        fields = status_fields(root / str(pid))
        # a thread of the kernel has no size
        return "VmSize" in fields and parse_cpuset(fields["Cpus_allowed_list"]) & ~lease.exclusive == 0
    except (OSError, KeyError, CpusetError):
        return False


def _is_older(pid: int, lease: Lease, root: Path) -> bool:
    """Than every process that the lease was given to: those of the machine itself, which may be bound to all CPUs."""
    try:
        process = identify(pid, root)
    except InputError:
        return False
    return process is None or any(process.start < owner.start for owner in lease.owners[:1])


def _may_read_environment(pid: int, root: Path) -> bool:
    try:
        (root / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return True


def move_to_pool(host: Host, leases: Sequence[Lease], lease: Lease) -> Lease | None:
    """The lease after its processes were moved to the pool; None when they are there, or could not be moved.

    With an empty pool they stay where they are: there is no better place.
    """
    cpus = shared_cpus(host, leases, lease)
    if cpus in (0, lease.bound):
        return None
    return moved_to(lease, cpus)


def moved_to(lease: Lease, cpus: int) -> Lease | None:
    """The lease after its processes were moved; None when they could not be."""
    if lease.container:
        from numafit.host.docker.containers import repinned

        return repinned(lease, cpus)
    pids = job_pids(lease)
    if not pids and not lease.cgroup and any(map(is_alive, lease.owners[1:])):
        return None
    bound = rebind(lease.id, lease.rung, lease.cgroup, pids, Target(cpus, 0))
    return None if isinstance(bound, str) else replace(lease, bound=bound.cpus)


def is_part(pid: int, lease: Lease, root: Path = PROC) -> bool:
    """Whether the kernel shows that a process belongs to the job: by its mark, its cgroup or its variable, or as a
    child of this very process. Only such are moved or ended: of those who share a ledger each could write the number of
    any process into it."""
    return (
        is_marked(pid, lease.id, root)
        or is_in_lease_group(pid, lease.id, root)
        or has_environment(pid, LEASE_VARIABLE, lease.id, root)
        or _parent(pid, root) == os.getpid()
    )


def _parent(pid: int, root: Path) -> int:
    try:
        stat = read_stat(root / str(pid) / "stat")
    except PermissionError:
        return 0
    return stat.parent if stat is not None else 0


def job_pids(lease: Lease) -> list[int]:
    """The job without the process that watches over it: the first owner."""
    pids: dict[int, None] = {}
    for owner in lease.owners[1:]:
        if is_alive(owner) and is_part(owner.pid, lease):
            pids[owner.pid] = None
            pids.update(dict.fromkeys(descendants(owner.pid)))
    return list(pids)
