"""`numafit run` inside other jobs and limits, in the queue, and with a ledger that is lost."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from numafit.host.book.store import FILE
from tests.cli.host.test_run import SHOW, leases
from tests.host.children import needs_cpus, needs_root
from tests.host.ledgers import as_user, children_of, end, environment, eventually, job, numafit, user_folder

# Around and inside


def test_a_restricted_caller_gets_only_what_it_may_use(tmp_path: Path) -> None:
    """Under `taskset`: CPUs outside are not given, also when they are free."""
    cpus = needs_cpus(2)
    taskset = ("taskset", "-c", str(cpus[1]))
    code = (sys.executable, "-c", SHOW)
    done = numafit(tmp_path, "run", "-q", "--cpus", "1", "--", *code, before=taskset)
    assert (done.returncode, done.stdout) == (0, f"{cpus[1]}\n")
    done = numafit(tmp_path, "run", "-q", "--", *code, before=taskset)
    assert (done.returncode, done.stdout) == (0, f"{cpus[1]}\n")
    assert numafit(tmp_path, "run", "--cpus", "2", "--", "true", before=taskset).returncode == 75
    done = numafit(tmp_path, "run", "--cpus", "2", "--wait=1s", "--", "true", before=taskset)
    assert done.returncode == 2
    assert "would not fit this host if nobody held anything" in done.stderr
    with job(tmp_path, "--cpus", "1", before=taskset):
        done = numafit(tmp_path, "run", "--", "true", before=taskset)
        assert done.returncode == 75
        assert "every CPU that this process may use is held exclusively" in done.stderr


def test_a_run_inside_a_run_shares_its_ledger(tmp_path: Path) -> None:
    """Inside exclusive CPUs there is nothing to take; inside shared work there is."""
    needs_cpus(2)
    inner = (sys.executable, "-m", "numafit", "run", "-q", "--cpus", "1", "--", sys.executable, "-c", SHOW)
    done = numafit(tmp_path, "run", "-q", "--cpus", "1", "--", *inner)
    assert done.returncode == 75
    assert done.stderr.endswith(" is free (start it outside of this job)\n")
    done = numafit(tmp_path, "run", "-q", "--shared", "--", *inner)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 1
    assert leases(tmp_path) == []


@pytest.mark.parametrize("user", [False, True], ids=["as root", "as an ordinary user"])
def test_a_job_that_is_started_from_shared_work_drives_it_off_its_cpus(tmp_path: Path, user: bool) -> None:
    """A shell in the shared pool starts a job of its own: that has its CPU alone, and the shell goes to the others."""
    cpus = needs_cpus(2)
    folder = user_folder(tmp_path) if user else tmp_path
    inner = f"{sys.executable} -m numafit run -q --cpus 1 -- {sys.executable} -c"
    code = "import os; print(*os.sched_getaffinity(0)); print(*os.sched_getaffinity(int(os.environ['SHELL_PID'])))"
    script = f'export SHELL_PID=$$; {inner} "{code}"; :'
    done = numafit(folder, "run", "-q", "--shared", "--", "sh", "-c", script, before=as_user() if user else ())
    assert done.returncode == 0, done.stderr
    own, shell = (set(map(int, line.split())) for line in done.stdout.splitlines())
    assert len(own) == 1
    assert shell == set(cpus) - own


def test_strict_fails_where_no_cpuset_can_be_had(tmp_path: Path) -> None:
    folder = user_folder(tmp_path)
    done = numafit(folder, "run", "--strict", "--cpus", "1", "--", "echo", "never", before=as_user())
    assert (done.returncode, done.stdout) == (2, "")
    assert "the job cannot be held by a cpuset" in done.stderr
    assert leases(folder) == []


def test_an_ordinary_user_is_bound_and_told_how(tmp_path: Path) -> None:
    needs_cpus(2)
    folder = user_folder(tmp_path)
    done = numafit(folder, "run", "--cpus", "1", "--", sys.executable, "-c", SHOW, before=as_user())
    assert done.returncode == 0
    assert len(done.stdout.split()) == 1
    assert "bound by affinity" in done.stderr
    assert "not bound by cgroup v2: " in done.stderr
    assert "not bound by cgroup v1: " in done.stderr


# The queue


def test_who_waits_starts_when_there_is_room(tmp_path: Path) -> None:
    cpus = needs_cpus(1)
    with job(tmp_path, "--cpus", str(len(cpus))) as process:
        words = [sys.executable, "-m", "numafit", "run", "-q", "--cpus", "1", "--wait", "--", "echo", "mine"]
        with subprocess.Popen(words, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) as waiter:
            eventually(lambda: "waits since" in numafit(tmp_path, "ps").stdout)
            end(children_of(process.pid)[0])
            out, _ = waiter.communicate(timeout=30)
        assert (waiter.returncode, out) == (0, "mine\n")


def test_nobody_waits_for_the_job_that_he_is_a_part_of(tmp_path: Path) -> None:
    """All that it may use is its own job's: it would wait for ever."""
    inner = [sys.executable, "-m", "numafit", "run", "-q", "--cpus", "1", "--wait", "--", "true"]
    done = numafit(tmp_path, "run", "-q", "--cpus", "1", "--", *inner)
    assert done.returncode == 2
    assert "it would wait for its own end" in done.stderr
    assert leases(tmp_path) == []


def test_a_time_ends_the_waiting(tmp_path: Path) -> None:
    cpus = needs_cpus(1)
    with job(tmp_path, "--cpus", str(len(cpus))):
        done = numafit(tmp_path, "run", "-q", "--cpus", "1", "--wait=0.2s", "--", "true")
    assert done.returncode == 75
    assert done.stderr.startswith("numafit: no lease for 1 CPU in that time: ")


def test_ctrl_c_ends_the_waiting_with_130(tmp_path: Path) -> None:
    cpus = needs_cpus(1)
    with job(tmp_path, "--cpus", str(len(cpus))):
        words = [sys.executable, "-m", "numafit", "run", "-q", "--cpus", "1", "--wait", "--", "true"]
        with subprocess.Popen(words, env=environment(tmp_path), stderr=subprocess.PIPE, text=True) as waiter:
            eventually(lambda: "waits since" in numafit(tmp_path, "ps").stdout)
            waiter.send_signal(signal.SIGINT)
            _, text = waiter.communicate(timeout=30)
        assert (waiter.returncode, text.strip()) == (130, "")
        assert "waits since" not in numafit(tmp_path, "ps").stdout


# The ledger


def test_a_full_disk_starts_nothing(tmp_path: Path) -> None:
    needs_root()
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], check=False).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        (disk / "ballast").write_bytes(b"x" * (60 << 10))
        done = numafit(disk, "run", "--cpus", "1", "--", "echo", "never")
    finally:
        subprocess.run(["umount", disk], check=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "bug" not in done.stderr


def test_a_newer_ledger_starts_nothing(tmp_path: Path) -> None:
    import sqlite3

    assert numafit(tmp_path, "ps").returncode == 0
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    done = numafit(tmp_path, "run", "--", "echo", "never")
    assert (done.returncode, done.stdout) == (2, "")
    assert "it was written by a newer numafit" in done.stderr
