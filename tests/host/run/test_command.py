"""A command under a lease: what happens between taking the lease and the first step of the command."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from numafit.bits import mask_of
from numafit.host.bind.target import AFFINITY, Bound, Target
from numafit.host.request import JobRequest
from numafit.host.run import command
from numafit.host.session import open_session
from tests.host.ledgers import me, taken

CPUS = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


@pytest.mark.skipif(len(CPUS) < 2, reason="needs Linux with two CPUs")
def test_shared_work_that_was_bound_too_late_is_moved_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who takes CPUs while a shared job starts cannot move it yet: it stands nowhere how it is bound. What is
    told is where it is then."""
    place = open_session(tmp_path, print, devices=False)
    with place.book() as book:
        shared = taken(book, place.host, JobRequest())
        target = Target(mask_of(CPUS))
        taker = taken(book, place.host, JobRequest(cpus=1))
    seen: list[set[int]] = []

    def supervise(*_: object, started: Callable[[int, Bound], None], **__: object) -> int:
        sleeper = subprocess.Popen(["sleep", "30"])
        try:
            started(sleeper.pid, Bound(AFFINITY, target.cpus, 1))
            seen.append(os.sched_getaffinity(sleeper.pid))
        finally:
            sleeper.kill()
            sleeper.wait()
        return 0

    monkeypatch.setattr(command, "supervise", supervise)
    (watcher,) = me().processes
    told: list[int] = []
    status = command.run_leased(
        place,
        shared,
        target,
        ["sleep"],
        {},
        watcher=watcher,
        strict=False,
        report=lambda _, bound: told.append(bound.cpus),
    )
    rest = target.cpus & ~taker.exclusive
    assert (status, [mask_of(cpus) for cpus in seen], told) == (0, [rest], [rest])
