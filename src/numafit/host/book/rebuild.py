"""The leases that really run, read from processes, cgroups and Docker: a ledger that was lost is made anew from them.

A job tells of its lease by its variables, and by its cgroup where it has one. What is told twice is taken once; of two
that claim the same CPU or device the one stays that tells of this very ledger, else the older one, and the other is
left to the audit.
"""

import os
import time
from pathlib import Path

from msgspec.structs import replace

from numafit.host.bind.cgroup import FOLDER
from numafit.host.bind.ladder import lease_groups
from numafit.host.bind.target import AFFINITY, CGROUP_V1, CGROUP_V2, SCOPE
from numafit.host.book.folder import VARIABLE
from numafit.host.book.work import LEASE_VARIABLE
from numafit.host.environment import lease_told
from numafit.host.lease import Lease, claims
from numafit.host.process.identity import PROC, ProcessId, identify, processes, user_name, user_of


def running_leases(root: Path = PROC, ledger: Path | None = None, *, named: bool = False) -> list[Lease]:
    """`ledger`: without jobs that tell of another one. `named`: only jobs that tell of this very one."""
    found: dict[str, Lease] = {}
    own: set[str] = set()
    others: set[str] = set()
    for pid in processes(root):
        variables = _variables(pid, root)
        told = lease_told(variables) if variables else None
        process = identify(pid, root) if told is not None else None
        if told is None or process is None:
            continue
        if ledger is not None and VARIABLE in variables:
            same = Path(variables[VARIABLE]).resolve() == ledger.resolve()
            (own if same else others).add(told.id)
        if told.id in others:
            continue
        known = found.get(told.id)
        if known is None:
            uid = user_of(pid, root) or 0
            since = _started(process)
            known = replace(told, uid=uid, user=user_name(uid), since=since, rung=AFFINITY, command=_command(pid, root))
            # The first owner is the process that watches over the job, which is not among those that are moved. Who
            # that was is not known here, so the job's own first process stands in its place, and again as itself.
            known = replace(known, owners=(process,))
        found[told.id] = replace(known, owners=(*known.owners, process), since=min(known.since, _started(process)))
    if named:
        found = {lease_id: lease for lease_id, lease in found.items() if lease_id in own}
    for group in lease_groups() if found or not named else ():
        members = [process for pid in group.pids if (process := identify(pid, root)) is not None]
        if not members or group.lease_id in others or (named and group.lease_id not in own):
            continue
        known = found.get(group.lease_id) or _of_group(group.lease_id, group.cpus, group.mems, members, root)
        found[group.lease_id] = replace(known, cgroup=group.cgroup, rung=_rung(Path(group.cgroup)), bound=group.cpus)
    for lease in () if named else _of_containers():
        # The processes of a container come and go with a restart; the container stays.
        found[lease.id] = lease
    order = sorted(found.values(), key=lambda lease: (lease.id not in own, lease.since, lease.id))
    return _without_conflicts(order)


def _rung(group: Path) -> str:
    if group.parent.name != FOLDER:
        return SCOPE
    return CGROUP_V1 if (group / "tasks").exists() else CGROUP_V2


def _variables(pid: int, root: Path) -> dict[str, str]:
    """None of them, when there is not that of a lease."""
    try:
        data = (root / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    if f"{LEASE_VARIABLE}=".encode() not in data:
        return {}
    pairs = (os.fsdecode(part).partition("=") for part in data.split(b"\0") if part)
    return {name: value for name, _, value in pairs}


def _started(process: ProcessId) -> float:
    """On the wall clock as it goes now."""
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - process.start / os.sysconf("SC_CLK_TCK")
    return time.time() - max(0.0, age)


def _command(pid: int, root: Path) -> str:
    try:
        return (root / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _of_group(lease_id: str, cpus: int, mems: int, members: list[ProcessId], root: Path) -> Lease:
    """Nothing but a cgroup is left of it: its CPUs are taken for exclusive, which gives them to nobody else."""
    first = members[0]
    uid = user_of(first.pid, root) or 0
    command = _command(first.pid, root)
    lease = Lease(lease_id, "", uid, user_name(uid), _started(first), command)
    return replace(lease, exclusive=cpus, mems=mems, owners=tuple(members))


def _of_containers() -> list[Lease]:
    from numafit.host.docker.containers import container_leases

    return container_leases()


def _without_conflicts(leases: list[Lease]) -> list[Lease]:
    taken: set[tuple[str, str]] = set()
    kept = []
    for lease in leases:
        own = set(claims(lease))
        if not own & taken:
            taken |= own
            kept.append(lease)
    return kept
