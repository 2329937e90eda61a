"""Which processes an audit looks at, and what it found of them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from numafit.bits import mask_of
from numafit.errors import InputError
from numafit.host.audit.alignment import audit_process
from numafit.host.audit.codes import AuditFinding
from numafit.host.audit.promise import NVIDIA, Promise, audit_intruders, audit_promise
from numafit.host.gpu.users import GpuUse, gpu_users
from numafit.host.process.identity import PROC, parents, processes
from numafit.host.process.observation import Observation, glance, observe
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

    @property
    def failed(self) -> bool:
        return any(found.severity != "info" for found in self.findings)


class Survey:
    """One look at the processes of a host, for a machine and the promises that were made on it."""

    def __init__(self, machine: Machine, promises: Iterable[Promise], users: Users | None = None, root: Path = PROC):
        self.machine = machine
        self.root = root
        self.unseen: list[str] = []
        self.users = self._users() if users is None else users
        self.seen: dict[int, Observation] = {}
        self.promises = self._with_descendants(list(promises))

    def of_processes(self, pids: Sequence[int]) -> AuditReport:
        """Also the promises that they belong to; raises `InputError` for a process that is not there."""
        alone: list[Observation] = []
        judged: list[Promise] = []
        for pid in dict.fromkeys(pids):
            mine = [promise for promise in self.promises if pid in promise.pids]
            judged += [promise for promise in mine if promise not in judged]
            process = self._look(pid)
            if process is None:
                raise InputError(f"there is no process {pid}", cure="it may have ended")
            if not mine:
                alone.append(process)
        report = self._report(judged, alone)
        kept = [found for found in report.findings if found.pid in (*pids, None)]
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

    def _worth(self, process: Observation) -> bool:
        """It is kept to some CPUs or NUMA nodes, has a GPU, or holds much memory of a machine with several nodes."""
        if process.kernel:
            return False
        cpus = mask_of(cpu.id for cpu in self.machine.cpus if cpu.online)
        nodes = mask_of(node.id for node in self.machine.numa_nodes if node.memory)
        return (
            (process.cpus is not None and bool(cpus & ~process.cpus))
            or (process.mems is not None and bool(nodes & ~process.mems))
            or bool(self.users and process.pid in self.users)
            or (process.resident >= LARGE and len(self.machine.numa_nodes) > 1)
        )

    def _report(self, promises: Sequence[Promise], alone: Sequence[Observation]) -> AuditReport:
        findings: list[AuditFinding] = []
        for promise in promises:
            mine = [process for pid in promise.pids if (process := self._look(pid)) is not None]
            if not mine:
                self.unseen.append(f"{promise.name}: none of its processes is there any more")
            findings += audit_promise(self.machine, promise, mine)
        for promise, others in self._others([promise for promise in promises if promise.exclusive]):
            findings += audit_intruders(self.machine, promise, others)
        for process in alone:
            findings += audit_process(self.machine, process)
        unseen = [f"process {pid}, {what}" for pid, process in sorted(self.seen.items()) for what in process.unseen]
        return AuditReport(
            processes=tuple(process for _, process in sorted(self.seen.items())),
            promises=tuple(promises),
            findings=tuple(findings),
            unseen=(*self.unseen, *unseen),
        )

    def _others(self, promises: Sequence[Promise]) -> list[tuple[Promise, list[Observation]]]:
        """For each promise all processes that are not of it, but for this very one and those that watch over jobs."""
        if not promises:
            return []
        quiet = {os.getpid(), *(promise.watcher for promise in self.promises)}
        everybody = [
            process
            for pid in processes(self.root)
            if pid not in quiet and (process := glance(pid, self.root, every_thread=True)) is not None
        ]
        return [
            (promise, [process for process in everybody if process.pid not in promise.pids]) for promise in promises
        ]
