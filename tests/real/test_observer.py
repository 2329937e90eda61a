"""The observer of the storms sees what it is there for."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.real.observer import Observer, numbers, things

CPUS = ",".join(map(str, sorted(os.sched_getaffinity(0)))) if hasattr(os, "sched_getaffinity") else ""
pytestmark = pytest.mark.skipif(not CPUS, reason="needs Linux: it reads /proc")


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    return str(tmp_path)


def looked(ledger: str, *jobs: dict[str, str]) -> Observer:
    """At sleeping processes with these variables."""
    processes = [
        subprocess.Popen(["sleep", "30"], env={"NUMAFIT_STATE": ledger, "PATH": os.environ["PATH"], **job})
        for job in jobs
    ]
    try:
        observer = Observer(ledger)
        # A new process shows its variables once it is `sleep`.
        end = time.monotonic() + 20
        while len(observer.known) < sum(job.get("NUMAFIT_STATE", ledger) == ledger for job in jobs):
            assert time.monotonic() < end
            observer.look()
        observer.look()
        return observer
    finally:
        for process in processes:
            process.kill()
            process.wait()


def job(lease: str, **more: str) -> dict[str, str]:
    return {"NUMAFIT_LEASE": lease, "NUMAFIT_CPUS": CPUS, "NUMAFIT_SHARED": "1", **more}


def test_a_device_at_two_jobs_is_seen(ledger: str) -> None:
    """Both live at one time."""
    devices = {"NUMAFIT_DEVICES": "example.com/dev=a,b"}
    observer = looked(ledger, job("one", **devices), job("two", **devices), job("three"))
    assert {line.partition(":")[0] for line in observer.twice} == {"example.com/dev=a", "example.com/dev=b"}
    assert observer.most == 3


def test_two_processes_of_one_job_hold_the_same(ledger: str) -> None:
    """And a job of another ledger is not looked at."""
    devices = {"NUMAFIT_DEVICES": "example.com/dev=a"}
    elsewhere = job("two", **devices, NUMAFIT_STATE="/elsewhere")
    observer = looked(ledger, job("one", **devices), job("one", **devices), elsewhere)
    assert (observer.twice, observer.most) == (set(), 1)


def test_exclusive_cpus_at_two_jobs_are_seen(ledger: str) -> None:
    """Shared ones are no holding."""
    observer = looked(ledger, job("one", NUMAFIT_SHARED=""), job("two", NUMAFIT_SHARED=""), job("three"))
    assert {line.partition(":")[0] for line in observer.twice} == {f"CPU {cpu}" for cpu in CPUS.split(",")}


def test_a_job_on_other_cpus_than_its_own_is_seen(ledger: str) -> None:
    """It says CPU 4095 and may run on those of this process."""
    observer = looked(ledger, job("one", NUMAFIT_SHARED="", NUMAFIT_CPUS="4095"))
    assert [line.partition(" ")[0] for line in observer.strayed] == ["one"]


def test_shared_work_on_exclusive_cpus_is_seen(ledger: str) -> None:
    """Where it may run, the kernel says, and not its variables."""
    observer = looked(ledger, job("one", NUMAFIT_SHARED=""), job("two", NUMAFIT_CPUS=""))
    assert {line.partition(" ")[0] for line in observer.intruded} == {"two"}
    assert observer.twice == set()


def test_a_job_that_ended_holds_nothing(ledger: str) -> None:
    """The next one may have the same."""
    observer = looked(ledger, job("one", NUMAFIT_SHARED=""))
    observer.look()
    seen = dict(observer.last_seen)
    observer.look()
    assert (observer.last_seen, observer.twice) == (seen, set())


def test_what_variables_tell() -> None:
    """Devices by resource, CPUs unless they are shared."""
    variables = {"NUMAFIT_DEVICES": "a/b=1,2;c/d=3", "NUMAFIT_CPUS": "0-1,4"}
    assert things(variables) == ["a/b=1", "a/b=2", "c/d=3", "CPU 0", "CPU 1", "CPU 4"]
    assert things({**variables, "NUMAFIT_SHARED": "1"}) == ["a/b=1", "a/b=2", "c/d=3"]
    assert numbers(" ") == frozenset()
