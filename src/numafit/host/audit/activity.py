"""What processes did between two looks at them: CPU time, waiting for a CPU, context switches.

The kernel counts for each thread and forgets those that ended: what started and ended between two looks is not seen.
"""

from collections.abc import Iterable, Mapping

import msgspec

from numafit.host.process.observation import Observation, Thread

_NANOSECONDS = 1e9


class HostLook(msgspec.Struct, frozen=True):
    """All processes at one moment, with each of their threads."""

    time: float
    """Seconds of a clock that only goes forward."""
    processes: Mapping[int, Observation]


class ThreadUse(msgspec.Struct, frozen=True):
    thread: Thread
    """As it was at the second look."""
    ran: float
    """Seconds of CPU time."""
    waited: float | None
    """Seconds in which it wanted to run and had no CPU; None: this kernel does not tell."""
    voluntary: int
    involuntary: int
    seen_on: int
    """The CPUs where one of the looks saw that it had run last, as a mask."""
    running: bool
    """At both looks it ran or wanted to."""


class Activity(msgspec.Struct, frozen=True):
    seconds: float
    """Between the looks."""
    processes: Mapping[int, tuple[ThreadUse, ...]] = {}

    def threads(self, pids: Iterable[int]) -> list[ThreadUse]:
        return [use for pid in pids for use in self.processes.get(pid, ())]

    def wants(self, use: ThreadUse) -> float:
        """The part of the time, 0 to 1, in which the thread ran or wanted to."""
        if use.waited is None:
            return 1.0 if use.running else min(1.0, use.ran / self.seconds)
        return min(1.0, (use.ran + use.waited) / self.seconds)


def activity_between(before: HostLook, after: HostLook) -> Activity:
    seconds = max(after.time - before.time, 1e-6)
    found = {}
    for pid, process in after.processes.items():
        old = before.processes.get(pid)
        known = {} if old is None else {(thread.id, thread.start): thread for thread in old.threads}
        found[pid] = tuple(_use(known.get((thread.id, thread.start)), thread, seconds) for thread in process.threads)
    return Activity(seconds, found)


def _use(before: Thread | None, after: Thread, seconds: float) -> ThreadUse:
    """A thread that the first look did not see has started since; it cannot have run longer than that."""
    old = before or Thread(after.id, after.cpus, after.last_cpu, waited=0)
    waited = None if after.waited is None else _seconds(after.waited - (old.waited or 0), seconds)
    return ThreadUse(
        after,
        ran=_seconds(after.ran - old.ran, seconds),
        waited=waited,
        voluntary=max(0, after.voluntary - old.voluntary),
        involuntary=max(0, after.involuntary - old.involuntary),
        seen_on=1 << after.last_cpu | 1 << old.last_cpu,
        running=after.running and old.running,
    )


def _seconds(nanoseconds: int, most: float) -> float:
    return min(max(0.0, nanoseconds / _NANOSECONDS), most)


class JobUse(msgspec.Struct, frozen=True):
    """What all processes of a promise did between two looks, and where their memory lies."""

    name: str
    lease: str
    """Its id; empty for what has none."""
    seconds: float
    cpus: float
    """How many CPUs' worth of time it used."""
    waiting: float | None
    """How many of its threads, on average, wanted to run and had no CPU; None: this kernel does not tell."""
    voluntary: int
    involuntary: int
    """Context switches in these seconds."""
    processes: int
    threads: int
    memory: Mapping[int, int] | None
    """NUMA node -> bytes; None: of one of its processes they may not be seen."""


def job_use(name: str, lease: str, pids: Iterable[int], activity: Activity, seen: Mapping[int, Observation]) -> JobUse:
    mine = [pid for pid in pids if pid in seen]
    uses = activity.threads(mine)
    waited = [use.waited for use in uses]
    return JobUse(
        name,
        lease,
        activity.seconds,
        sum(use.ran for use in uses) / activity.seconds,
        None if None in waited else sum(wait or 0.0 for wait in waited) / activity.seconds,
        sum(use.voluntary for use in uses),
        sum(use.involuntary for use in uses),
        len(mine),
        len(uses),
        _memory(seen[pid] for pid in mine),
    )


def _memory(processes: Iterable[Observation]) -> dict[int, int] | None:
    nodes: dict[int, int] = {}
    for process in processes:
        if process.pages is None:
            return None
        for node, amount in process.pages.nodes.items():
            nodes[node] = nodes.get(node, 0) + amount
    return dict(sorted(nodes.items()))


def seconds_text(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 120 else f"{round(seconds / 60)} min"
