"""The end of a job that others decide: its time is over, or somebody cancels it. Gently first (SIGTERM to all of its
processes), then by force (SIGKILL) to what is left after a grace.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from numafit.host.bind.ladder import group_pids
from numafit.host.book.work import LEASE_VARIABLE, is_part, job_pids
from numafit.host.lease import Lease
from numafit.host.process.identity import is_alive, processes_with_environment

GRACE = 30.0
"""Seconds, unless told otherwise."""
_POLL = 0.05
_AFTER_KILL = 5.0
"""Seconds for the kernel to end what was killed; a process may wait for a disk."""


def now() -> float:
    """Seconds since boot, also those in which the machine slept."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def members(lease: Lease) -> list[int]:
    """The processes of a job, ascending: those in its cgroup, those that descend from its command, and those that
    carry its variable as far as that may be read. Not the process that watches over it, nor the caller."""
    grouped = {pid for pid in group_pids(lease.cgroup) if is_part(pid, lease)}
    pids = {*grouped, *job_pids(lease), *processes_with_environment(LEASE_VARIABLE, lease.id)}
    watcher = {owner.pid for owner in lease.owners[:1] if is_alive(owner)} if len(lease.owners) > 1 else set()
    # One of another pid namespace has the number 0 here.
    return sorted(pid for pid in pids - watcher - {os.getpid()} if pid > 1)


def send(lease: Lease, number: signal.Signals) -> int:
    """To every process of the job; returns how many were reached. One that is stopped goes on, to hear of it."""
    reached = 0
    for pid in members(lease):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            reached += 1
            if number != signal.SIGKILL:
                os.kill(pid, signal.SIGCONT)
    return reached


def end(lease: Lease, until: float) -> bool:
    """Waits for a job that was told to end, kills what is left of it at `until` (as `now` tells time), and says whether
    all of it is gone."""
    killed = 0.0
    while members(lease):
        if not killed and now() >= until:
            killed = now()
        if killed:
            # Again: one that was just forked may have been missed.
            send(lease, signal.SIGKILL)
            if now() > killed + _AFTER_KILL:
                return False
        time.sleep(_POLL)
    return True


def cancel(lease: Lease, grace: float) -> str:
    """Ends the job of a lease; returns why that did not work. Its lease is freed by who watches over it, or by the next
    who looks."""
    if lease.container:
        # Most jobs are no containers.
        from numafit.host.docker.engine import stop

        return stop(lease.engine, lease.container, grace)
    if not send(lease, signal.SIGTERM):
        return "" if not members(lease) and not may_live(lease) else "its processes cannot be reached from here"
    return "" if end(lease, now() + grace) else "some of its processes do not end"


def may_live(lease: Lease) -> bool:
    """Whether a process that the ledger names, but for the one that watches over the job, lives or cannot be looked at,
    such as one of another pid namespace."""
    watched = lease.owners[1:] or lease.owners
    return any(is_alive(owner) is not False for owner in watched) or any(
        is_alive(owner) is None for owner in lease.owners
    )


class TimeLimit:
    """How long a job may run. What is said of it goes to `tell`; `over` is asked once when it is."""

    def __init__(self, seconds: float, grace: float, tell: Callable[[str], None], over: Callable[[], None]) -> None:
        self.seconds = seconds
        self.grace = grace
        self._tell = tell
        self._over = over
        self._lease: Lease | None = None
        self._until = 0.0

    def begin(self, lease: Lease) -> None:
        """The command starts now; `lease` knows its processes."""
        self._lease = lease

    @property
    def alarms(self) -> tuple[tuple[float, Callable[[], None]], ...]:
        """Seconds after the start, and what is to be done then."""
        return (self.seconds, self._gently), (self.seconds + self.grace, self._by_force)

    def _gently(self) -> None:
        assert self._lease is not None
        self._until = now() + self.grace
        # Before anything else: what follows may fail.
        reached = send(self._lease, signal.SIGTERM)
        told = f"SIGTERM to {reached} of its processes, SIGKILL in {self.grace:g} s to those that are left"
        self._tell(f"the job has run for {self.seconds:g} s, as long as it may: {told}")
        self._over()

    def _by_force(self) -> None:
        assert self._lease is not None
        send(self._lease, signal.SIGKILL)

    def settle(self) -> None:
        """After the command has ended: what it left behind has the rest of the grace."""
        if self._lease is not None and self._until and not end(self._lease, self._until):
            self._tell("processes of the job could not be ended")
