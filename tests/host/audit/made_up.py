"""Threads and what they did, made up: eight CPUs, all of them online."""

from collections.abc import Mapping

from numafit.host.audit.activity import Activity, ThreadUse
from numafit.host.process.observation import Observation, Thread

LOW, HIGH, ALL = 0x0F, 0xF0, 0xFF


def use(cpus: int, last_cpu: int, ran: float = 0.0, waited: float | None = 0.0, *, id: int = 1) -> ThreadUse:
    thread = Thread(id, cpus, last_cpu)
    return ThreadUse(thread, ran, waited, voluntary=3, involuntary=1, seen_on=1 << last_cpu, running=bool(ran))


def during(seconds: float, processes: Mapping[int, tuple[ThreadUse, ...]]) -> Activity:
    return Activity(seconds, processes)


def seen(activity: Activity, pid: int, name: str = "x", *, kernel: bool = False) -> Observation:
    return Observation(pid, name, kernel=kernel, threads=tuple(one.thread for one in activity.processes[pid]))
