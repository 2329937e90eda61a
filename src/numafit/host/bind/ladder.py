"""The ladder: binds the calling process as strongly as this host allows, and reads back what came of it.

A cgroup of numafit's own comes before a systemd scope also where systemd runs: it takes effect at once and needs no
bus. systemd leaves groups alone that it did not make. It does take back the cpuset controller at the root when no unit
needs it, but the kernel refuses that while a group there hands the controller on, as `numafit` does. The price: while
`numafit` is there, a unit's `AllowedCPUs=` is undone by naming all CPUs, not by an empty value.
"""

import os
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.bits import members as ids_of
from numafit.host.bind import cgroup as groups
from numafit.host.bind import cgroup_v1, kernel, mempolicy, systemd
from numafit.host.bind.cgroup import LeaseGroup
from numafit.host.bind.slices import let_out
from numafit.host.bind.target import (
    AFFINITY,
    AFFINITY_AND_POLICY,
    CGROUP_V1,
    CGROUP_V2,
    NONE,
    POLICY,
    PREFER,
    SCOPE,
    BindError,
    Bound,
    RungRefused,
    Target,
    check_lease_id,
)
from numafit.host.process.cpuset import cgroup_mounts
from numafit.host.process.identity import PROC, descendants, threads

_ORPHAN_SECONDS = 600.0
_PASSES = 5
"""Threads may be born while the others are moved; new ones inherit from those that were moved already."""

_TOLD = 3
"""So many processes are named in a sentence."""
_SETTLE = 1.0
"""Seconds until a changed cpuset must show."""


def bind_self(lease_id: str, target: Target, *, strict: bool) -> Bound:
    """Called in the new process, before it becomes the command. With `strict`, nothing less than a cpuset will do, by
    whichever of the three ways to one; and only a cgroup has a limit of memory."""
    check_lease_id(lease_id)
    allowed = let_out(kernel.allowed_by_cpuset())
    _check_allowed(target, allowed)
    target = replace(target, within=fence(allowed.mems, kernel.memory_nodes()))
    skipped: list[str] = []
    attempts: dict[str, Callable[[], Bound]] = {
        CGROUP_V2: lambda: _in_v2(lease_id, target),
        CGROUP_V1: lambda: _in_v1(lease_id, target),
        SCOPE: lambda: _in_scope(lease_id, target),
    }
    for rung, attempt in attempts.items():
        try:
            bound = attempt()
            return replace(bound, skipped=(*skipped, *bound.skipped))
        except RungRefused as refused:
            skipped.append(f"{rung}: {refused}")
        except OSError as error:
            skipped.append(f"{rung}: {groups.refusal(error)}")
    if strict:
        raise BindError(f"the job cannot be held by a cpuset: {'; '.join(skipped)} (without --strict it is bound less)")
    if target.limit:
        raise BindError(f"the memory of the job cannot be limited: {'; '.join(skipped)} (leave --limit-memory away)")
    bound = bind_affinity(target)
    return replace(bound, skipped=(*skipped, *bound.skipped))


def expected_group() -> Bound | None:
    """The rung and the folder of groups in which a job of this process will most likely be held, and why not higher; of
    CPUs nothing is said. Nothing is touched. None: only an attempt can tell."""
    skipped: list[str] = []
    for rung, folder_of in ((CGROUP_V2, _v2_folder), (CGROUP_V1, _v1_folder)):
        try:
            folder = folder_of()
        except RungRefused as refused:
            skipped.append(f"{rung}: {refused}")
        except OSError as error:
            skipped.append(f"{rung}: {groups.refusal(error)}")
        else:
            ready = os.access(folder, os.W_OK | os.X_OK) and (folder / groups.CPUS).exists()
            return Bound(rung, 0, 0, str(folder), skipped=tuple(skipped)) if ready else None
    return None


def _v2_folder() -> Path:
    root = groups.v2_root()
    groups.check_limits(root, groups.v2_group(root))
    folder = root / groups.FOLDER
    # Without the controller its groups have no cpuset yet.
    return folder if groups.hands_on_cpusets(folder) else root / "missing"


def _v1_folder() -> Path:
    return cgroup_v1.base_group(cgroup_v1.own_group()) / groups.FOLDER


def _check_allowed(target: Target, allowed: Target) -> None:
    if not target.cpus:
        raise BindError("there is no CPU to bind to")
    for what, wanted, have in (("CPUs", target.cpus, allowed.cpus), ("memory nodes", target.mems, allowed.mems)):
        # A kernel without cpusets names no memory nodes; the memory policy will tell.
        if have and wanted & ~have:
            outside, inside = cpuset_text(wanted & ~have), cpuset_text(have)
            raise BindError(f"{what} {outside} are not allowed to this process, which may use {inside}")


def fence(allowed: int, every: int) -> int:
    """Nodes that a cpuset has to name. Where the process may use all there are it names none: more may come."""
    return allowed if every & ~allowed else 0


def _in_v2(lease_id: str, target: Target) -> Bound:
    root = groups.v2_root()
    old = groups.v2_group(root)
    groups.check_limits(root, old)
    return _entered(CGROUP_V2, groups.enter_v2(root, lease_id, target, os.getpid()), target, old)


def _in_v1(lease_id: str, target: Target) -> Bound:
    old = cgroup_v1.own_group()
    return _entered(CGROUP_V1, cgroup_v1.enter_v1(old, lease_id, target, os.getpid()), target, old)


def _in_scope(lease_id: str, target: Target) -> Bound:
    # The read back is of the affinity, which must not be narrower than the cpuset for another reason.
    with suppress(OSError):
        kernel.widen_affinity()
    return _entered(SCOPE, systemd.enter_scope(lease_id, target, os.getpid()), target, None)


def _entered(rung: str, group: Path, target: Target, old: Path | None) -> Bound:
    """The process may have come with a narrower affinity; in its cpuset it gets all of it, now and after a change.
    Where the kernel does not agree, the process goes back to its `old` group."""
    with suppress(OSError):
        kernel.widen_affinity()
    found = kernel.status()
    if found.cpus == target.cpus and found.mems == (target.cpuset_mems or found.mems):
        if target.forced or not target.mems:
            return Bound(rung, found.cpus, found.mems, str(group))
        policy, refusals = _directed(target, found.mems)
        mems = target.mems if policy is not None else found.mems
        return Bound(rung, found.cpus, mems, str(group), policy or "", _told(POLICY, refusals, policy))
    if old is not None:
        with suppress(OSError):
            groups.write(old / groups.PROCESSES, str(os.getpid()))
            group.rmdir()
    cpus, mems_text = cpuset_text(found.cpus), cpuset_text(found.mems)
    raise RungRefused(f"the kernel gives CPUs {cpus} and memory nodes {mems_text} instead")


def bind_affinity(target: Target) -> Bound:
    """The rungs that need no privilege."""
    before = kernel.affinity()
    try:
        os.sched_setaffinity(0, ids_of(target.cpus))
        if kernel.affinity() != target.cpus:
            found = cpuset_text(kernel.affinity())
            os.sched_setaffinity(0, ids_of(before))
            raise RungRefused(f"the kernel gives CPUs {found} instead")
    except (OSError, RungRefused) as error:
        now = kernel.status()
        return Bound(NONE, now.cpus, now.mems, skipped=(f"{AFFINITY}: {groups.refusal(error)}",))
    mems = kernel.status().mems
    if not target.mems:
        return Bound(AFFINITY, target.cpus, mems)
    policy, refusals = _directed(target, mems)
    skipped = _told(AFFINITY_AND_POLICY, refusals, policy)
    if policy is None:
        return Bound(AFFINITY, target.cpus, mems, skipped=skipped)
    return Bound(AFFINITY_AND_POLICY if policy else AFFINITY, target.cpus, target.mems, "", policy, skipped)


def _directed(target: Target, allowed: int) -> tuple[str | None, list[str]]:
    """The memory policy of this process as the kernel tells it, and what was refused before. None: it could not be had.
    Empty: none is needed, since all memory that the process may use is as good."""
    if target.way == PREFER and allowed and not allowed & ~target.mems:
        return "", []
    refusals: list[str] = []
    for mode in mempolicy.modes_for(target.way, target.mems):
        plain = kernel.MemoryPolicy(mode & ~mempolicy.BALANCING, target.mems)
        try:
            kernel.set_memory_policy(mode, target.mems)
            found = kernel.get_memory_policy()
        except OSError as error:
            refusals.append(f"{plain}: {error.strerror}")
            continue
        if found == plain:
            return str(found), refusals
        refusals.append(f"the kernel made {found or 'the default'} of {plain}")
        with suppress(OSError):
            kernel.set_memory_policy(mempolicy.DEFAULT, 0)
    return None, refusals


def _told(what: str, refusals: list[str], policy: str | None) -> tuple[str, ...]:
    """Refusals of forms of one wish count as one, and as none where another form was taken."""
    meant = list(dict.fromkeys(refusals))
    if policy is not None:
        meant = [refusal for refusal in meant if not refusal.startswith(policy.partition(" ")[0])]
    return (f"{what}: {'; '.join(meant)}",) if meant else ()


def rebind(lease_id: str, bound_rung: str, cgroup: str, pids: Iterable[int], target: Target) -> Bound | str:
    """Moves a running job to other CPUs; without a cgroup, by every thread of `pids` and their descendants. A text says
    why it did not work; then some threads may have been moved."""
    try:
        if bound_rung in (CGROUP_V1, CGROUP_V2) and not is_cgroup(Path(cgroup)):
            raise RungRefused(f"{cgroup} is no cgroup")
        if bound_rung == SCOPE:
            systemd.change_scope(lease_id, target)
        elif bound_rung == CGROUP_V2:
            groups.rewrite_v2(Path(cgroup), target)
        elif bound_rung == CGROUP_V1:
            cgroup_v1.rewrite_v1(Path(cgroup), target)
        else:
            return _move_threads(bound_rung, pids, target)
        found = _settled(Path(cgroup), target)
    except (OSError, RungRefused) as error:
        return str(groups.refusal(error))
    if found.cpus != target.cpus or (target.forced and found.mems != target.forced):
        return f"{cgroup} has CPUs {cpuset_text(found.cpus)} and memory nodes {cpuset_text(found.mems)} instead"
    return Bound(bound_rung, found.cpus, found.mems, cgroup)


def _settled(group: Path, target: Target) -> Target:
    """What the cgroup gives; systemd writes it some time after its answer."""
    until = time.monotonic() + _SETTLE
    while True:
        found = groups.group_masks(group)
        if found.cpus == target.cpus or time.monotonic() >= until:
            return found
        time.sleep(_SETTLE / 100)


def _move_threads(rung: str, pids: Iterable[int], target: Target) -> Bound | str:
    roots = sorted(set(pids))
    cpus = list(ids_of(target.cpus))
    refused: dict[int, str] = {}
    for _ in range(_PASSES):
        moved = 0
        for pid in sorted({*roots, *(child for root in roots for child in descendants(root))}):
            for thread in threads(pid):
                try:
                    if kernel.affinity(thread) != target.cpus:
                        os.sched_setaffinity(thread, cpus)
                        moved += 1
                        if kernel.affinity(thread) != target.cpus:
                            refused[pid] = f"its CPUs are {cpuset_text(kernel.affinity(thread))} instead"
                except ProcessLookupError:
                    continue
                except OSError as error:
                    refused[pid] = error.strerror or str(error)
        if not moved or refused:
            break
    if refused:
        told = [f"process {pid}: {reason}" for pid, reason in refused.items()][:_TOLD]
        return "; ".join(told) + (f" and {len(refused) - _TOLD} more" if len(refused) > _TOLD else "")
    # The memory policy of a process can be changed by itself only.
    mems = next((kernel.status(PROC / str(pid)).mems for pid in roots if threads(pid)), 0)
    return Bound(AFFINITY if rung == NONE else rung, target.cpus, mems)


def group_pids(cgroup: str) -> list[int]:
    """The processes in a lease's cgroup, ascending; none when it is gone."""
    return groups.group_members(Path(cgroup)) if cgroup else []


def is_surely_empty(cgroup: str) -> bool:
    """Whether nothing runs in the cgroup and those below it, in whichever pid namespace. The list of processes leaves
    out those that the reader cannot see; only version 2 has a file that does not."""
    try:
        return "populated 0" in groups.read(Path(cgroup) / "cgroup.events").splitlines() if cgroup else False
    except OSError:
        return False


def remove_group(cgroup: str) -> bool:
    """Removes a lease's cgroup if nothing runs in it; True when it is gone. That of a scope is systemd's to remove."""
    path = Path(cgroup)
    if not cgroup or not path.exists():
        return True
    if path.parent.name != groups.FOLDER or not is_cgroup(path):
        return False
    return groups.remove_folder(path)


def is_cgroup(path: Path) -> bool:
    """Whether it lies where cgroups are mounted. Of those who share a ledger each could write any path into it."""
    mounts = (*cgroup_mounts(kernel.SELF, "cgroup2"), *cgroup_mounts(kernel.SELF, "cgroup", "cpuset"))
    return ".." not in path.parts and any(mount.folder in path.parents for mount in mounts)


def is_in_lease_group(pid: int, lease_id: str, root: Path = PROC) -> bool:
    """Whether the kernel has the process in the lease's cgroup, or in one below."""
    try:
        lines = (root / str(pid) / "cgroup").read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    for line in lines:
        parts = line.split(":", 2)[-1].split("/")
        if any(systemd.lease_of_unit(part) == lease_id for part in parts):
            return True
        if any(pair == (groups.FOLDER, lease_id) for pair in pairwise(parts)):
            return True
    return False


def remove_orphans(known: Collection[str]) -> None:
    """Removes empty cgroups of leases that nobody knows any more, left behind where numafit itself was killed. A young
    one may belong to a job that is about to enter it, of this or another ledger."""
    for group in lease_groups():
        with suppress(OSError):
            age = time.time() - os.stat(group.cgroup).st_ctime
            if group.lease_id not in known and not group.pids and age > _ORPHAN_SECONDS:
                remove_group(group.cgroup)


def lease_groups() -> list[LeaseGroup]:
    """The cgroups of all leases on this host, also empty ones, by lease id."""
    found: list[LeaseGroup] = []
    mounts = (*cgroup_mounts(kernel.SELF, "cgroup2"), *cgroup_mounts(kernel.SELF, "cgroup", "cpuset"))
    # The same hierarchy may be mounted more than once.
    roots = {mount.folder.stat().st_dev: mount.folder for mount in reversed(mounts) if mount.folder.exists()}
    for root in reversed(roots.values()):
        for name, names, _ in os.walk(root):
            folder = Path(name)
            for child in names:
                lease_id = child if folder.name == groups.FOLDER else systemd.lease_of_unit(child)
                if lease_id:
                    with suppress(OSError):
                        found.append(groups.lease_group(lease_id, folder / child))
    return sorted(found, key=lambda group: (group.lease_id, group.cgroup))
