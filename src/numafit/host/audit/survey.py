"""Which processes an audit looks at, and what it found of them."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from numafit.bits import mask_of
from numafit.errors import InputError
from numafit.host.audit.activity import Activity, HostLook, JobUse, activity_between, job_use
from numafit.host.audit.alignment import audit_process
from numafit.host.audit.codes import AuditFinding
from numafit.host.audit.crowd import audit_held
from numafit.host.audit.intruders import BUSY, WaysOut, audit_intruders
from numafit.host.audit.numastat import NodeAllocations
from numafit.host.audit.promise import NVIDIA, Promise, audit_promise
from numafit.host.gpu.users import GpuUse, gpu_users
from numafit.host.process.hidepid import hidden_from_us
from numafit.host.process.identity import PROC, parents, processes
from numafit.host.process.observation import Observation, glance, observe
from numafit.host.process.unit import systemd_unit
from numafit.machine.model import Machine

LARGE = 256 << 20
"""A process with so many bytes in memory is worth a look at where they lie, also when nothing restricts it."""

Users = Mapping[int, tuple[GpuUse, ...]]


class AuditReport(msgspec.Struct, frozen=True):
    processes: tuple[Observation, ...]
    """All that were judged, ascending."""
    promises: tuple[Promise, ...]
    """Those that were judged, with all of their processes."""
    findings: tuple[AuditFinding, ...]
    unseen: tuple[str, ...] = ()
    """What could not be looked at, and why."""
    seconds: float | None = None
    """Between the two looks that the counts below come from; None: there was one look only."""
    jobs: tuple[JobUse, ...] = ()
    """What each promise did in these seconds."""
    allocations: Mapping[int, NodeAllocations] = {}
    """Those in these seconds, by NUMA node."""

    @property
    def failed(self) -> bool:
        return any(found.severity != "info" for found in self.findings)


def look_around(root: Path = PROC) -> HostLook:
    """At all processes that may be seen."""
    now = time.monotonic()
    seen = ((pid, glance(pid, root, every_thread=True)) for pid in processes(root))
    return HostLook(now, {pid: process for pid, process in seen if process is not None})


class Survey:
    """One look at the processes of a host, for a machine and the promises that were made on it.

    What they did is known from an earlier look; without one nobody is judged by it.
    """

    def __init__(
        self,
        machine: Machine,
        promises: Iterable[Promise],
        users: Users | None = None,
        root: Path = PROC,
        *,
        before: HostLook | None = None,
        online: int | None = None,
    ) -> None:
        """`online` are the CPUs that are so now; None: those of the machine."""
        self.machine = machine
        self.root = root
        self.online = mask_of(cpu.id for cpu in machine.cpus if cpu.online) if online is None else online
        self.now = look_around(root)
        self.activity = None if before is None else activity_between(before, self.now)
        self.hidden = hidden_from_us(root)
        self.unseen: list[str] = []
        self.users = self._users() if users is None else users
        self.seen: dict[int, Observation] = {}
        self.promises = self._with_descendants(list(promises))

    def of_processes(self, pids: Sequence[int]) -> AuditReport:
        """Also the promises that they belong to; raises `InputError` for a process that is not there. One that watches
        over a job, as `numafit run` does, stands for all of the job."""
        alone: list[Observation] = []
        judged: list[Promise] = []
        about: set[int | None] = {None, *pids}
        for pid in dict.fromkeys(pids):
            mine = [promise for promise in self.promises if pid in (promise.watcher, *promise.pids)]
            about.update(other for promise in mine if pid == promise.watcher for other in promise.pids)
            judged += [promise for promise in mine if promise not in judged]
            process = self._look(pid)
            if process is None:
                raise InputError(f"there is no process {pid}", cure="it may have ended")
            if not mine:
                alone.append(process)
        report = self._report(judged, alone)
        kept = [found for found in report.findings if found.pid in about]
        return msgspec.structs.replace(report, findings=tuple(kept))

    def of_promises(self) -> AuditReport:
        return self._report(self.promises, [])

    def of_everything(self) -> AuditReport:
        """The promises, and each program beside them that is worth a word."""
        promised = {pid for promise in self.promises for pid in promise.pids}
        alone = []
        for pid in processes(self.root):
            if pid in promised or pid == os.getpid():
                continue
            first = glance(pid, self.root)
            if first is not None and self._worth(first):
                process = self._look(pid)
                alone += [process] if process is not None else []
        return self._report(self.promises, alone)

    def _users(self) -> Users | None:
        try:
            return gpu_users()
        except InputError as error:
            # Without an NVIDIA GPU there is nobody to ask about one.
            if not any(device.resource.startswith(NVIDIA) for device in self.machine.devices):
                return {}
            self.unseen.append(f"who uses which GPU: {error}")
            return None

    def _with_descendants(self, promises: list[Promise]) -> list[Promise]:
        """What a promised process started belongs to the promise; of nested promises, to the innermost."""
        owner = {pid: number for number, promise in enumerate(promises) for pid in promise.pids}
        members = [set(promise.pids) for promise in promises]
        above = parents(self.root) if promises else {}
        for pid in above:
            ancestor, passed = pid, set()
            while ancestor not in owner and ancestor in above and ancestor not in passed:
                passed.add(ancestor)
                ancestor = above[ancestor]
            if ancestor in owner:
                members[owner[ancestor]].add(pid)
        return [
            msgspec.structs.replace(promise, pids=tuple(sorted(pids)))
            for promise, pids in zip(promises, members, strict=True)
        ]

    def _look(self, pid: int) -> Observation | None:
        if pid not in self.seen:
            process = observe(pid, self.users, self.root)
            if process is None:
                return None
            self.seen[pid] = process
        return self.seen[pid]

    def _busy(self, process: Observation) -> bool:
        """Unknown counts as busy."""
        return self.activity is None or _share(self.activity, process) >= BUSY

    def _worth(self, process: Observation) -> bool:
        """It has a GPU, holds much memory of a machine with several nodes, or works while it is kept to some CPUs or
        NUMA nodes: what sleeps there is no matter."""
        if process.kernel:
            return False
        nodes = mask_of(node.id for node in self.machine.numa_nodes if node.memory)
        kept = (process.cpus is not None and bool(self.online & ~process.cpus)) or (
            process.mems is not None and bool(nodes & ~process.mems)
        )
        return (
            (kept and self._busy(process))
            or bool(self.users and process.pid in self.users)
            or (process.resident >= LARGE and len(self.machine.numa_nodes) > 1)
        )

    def _report(self, promises: Sequence[Promise], alone: Sequence[Observation]) -> AuditReport:
        findings: list[AuditFinding] = []
        for promise in promises:
            mine = [process for pid in promise.pids if (process := self._look(pid)) is not None]
            if not mine:
                self.unseen.append(self._nobody(promise))
            findings += audit_promise(self.machine, promise, mine)
            findings += audit_held(promise, mine, self.activity, self.online)
        findings += self._intruders([promise for promise in promises if promise.exclusive])
        for process in alone:
            findings += audit_process(self.machine, process)
        if self.hidden and (promises or alone):
            self.unseen.append(f"processes of other users, and what they do on CPUs of leases: {self.hidden}")
        unseen = [f"process {pid}, {what}" for pid, process in sorted(self.seen.items()) for what in process.unseen]
        activity = self.activity
        return AuditReport(
            processes=tuple(process for _, process in sorted(self.seen.items())),
            promises=tuple(promises),
            findings=tuple(findings),
            unseen=(*self.unseen, *unseen),
            seconds=None if activity is None else activity.seconds,
            jobs=()
            if activity is None
            else tuple(job_use(one.name, one.lease, one.pids, activity, self.seen) for one in promises),
        )

    def _nobody(self, promise: Promise) -> str:
        if self.hidden:
            return f"{promise.name}: none of its processes can be seen; {self.hidden}"
        return f"{promise.name}: none of its processes is there any more"

    def _intruders(self, promises: Sequence[Promise]) -> list[AuditFinding]:
        """All that work and are not of the promise, but for this very process and those that watch over jobs."""
        activity = self.activity
        if not promises or activity is None:
            return []
        quiet = {os.getpid(), *(promise.watcher for promise in self.promises)}
        busy = [
            process
            for pid, process in self.now.processes.items()
            if pid not in quiet and not process.kernel and self._busy(process)
        ]
        ways = self._ways_out(busy)
        return [
            found
            for promise in promises
            for found in audit_intruders(
                promise, (process for process in busy if process.pid not in promise.pids), activity, ways
            )
        ]

    def _ways_out(self, busy: Iterable[Observation]) -> WaysOut:
        free, homes = self.online, {}
        for promise in self.promises:
            if promise.exclusive:
                free &= ~promise.cpus
            homes.update(dict.fromkeys(promise.pids, promise.cpus))
        promised = {systemd_unit(pid, self.root) for pid in homes}
        services = {}
        for process in busy:
            unit = systemd_unit(process.pid, self.root)
            # A session of somebody is no service: what he starts there later would be narrowed, too.
            if unit is not None and unit.is_service and unit not in promised:
                services[process.pid] = unit.name
        return WaysOut(free, homes, services)


def _share(activity: Activity, process: Observation) -> float:
    """Of one CPU."""
    return sum(use.ran for use in activity.threads([process.pid])) / activity.seconds
