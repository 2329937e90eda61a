"""A job whose time is over, or that somebody cancels: asked to end, then ended."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from numafit.host.book.book import Book
from numafit.host.lease import Lease
from numafit.host.process.identity import is_alive, read_stat
from numafit.host.run.ending import cancel, members
from tests.host.fake_docker import described, fake_engine
from tests.host.ledgers import elsewhere, end, eventually, job, numafit

DEAF = "trap '' TERM; echo ready; while :; do sleep 0.1; done"
"""Hears no SIGTERM, nor do its children."""


def lease_in(folder: Path) -> Lease:
    with Book.open(folder) as book:
        (lease,) = book.leases()
    return lease


def events(folder: Path) -> list[str]:
    with Book.open(folder) as book:
        return [entry.event for entry in reversed(book.history(10))]


# --time


def test_a_job_ends_gently_when_its_time_is_over(tmp_path: Path) -> None:
    """It may tidy up and say how it ended; the history tells why."""
    script = "trap 'echo tidy; kill $!; exit 7' TERM; sleep 60 & wait"
    done = numafit(tmp_path, "run", "--cpus", "1", "--time", "1s", "--", "sh", "-c", script)
    assert (done.returncode, done.stdout) == (7, "tidy\n")
    assert "the job has run for 1 s, as long as it may: SIGTERM to " in done.stderr
    assert events(tmp_path) == ["taken", "expired", "released"]


def test_a_job_that_does_not_listen_is_killed_after_the_grace(tmp_path: Path) -> None:
    words = ("run", "--cpus", "1", "--time", "0.5s", "--grace", "0.5s", "--", "sh", "-c", DEAF)
    assert numafit(tmp_path, *words).returncode == -signal.SIGKILL
    assert events(tmp_path) == ["taken", "expired", "released"]


def test_what_the_command_left_behind_ends_with_its_time(tmp_path: Path) -> None:
    """The command itself listens; what it started in a session of its own does not, and holds the lease no longer."""
    script = f"setsid sh -c '{DEAF.replace(chr(39), chr(34))}' & echo $!; wait"
    words = ("run", "--cpus", "1", "--time", "1s", "--grace", "0.5s", "--", "sh", "-c", script)
    done = numafit(tmp_path, *words)
    assert done.returncode == -signal.SIGTERM
    for pid in (int(word) for word in done.stdout.split() if word.isdecimal()):
        # Who adopted it may not have buried it yet.
        stat = read_stat(Path(f"/proc/{pid}/stat"))
        assert stat is None or stat.state == "Z"
    assert events(tmp_path) == ["taken", "expired", "released"]


def test_a_job_that_ends_in_time_hears_nothing(tmp_path: Path) -> None:
    done = numafit(tmp_path, "run", "-q", "--cpus", "1", "--time", "1h", "--", "echo", "done")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert events(tmp_path) == ["taken", "released"]


def test_a_stopped_job_hears_of_its_end(tmp_path: Path) -> None:
    done = numafit(tmp_path, "run", "--cpus", "1", "--time", "1s", "--", "sh", "-c", "kill -STOP $$; sleep 60")
    assert done.returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--time", "soon"), 'numafit: --time: "soon" is not a time (write it like 90s, 5m or 2h)\n'),
        (("--time", "0"), "numafit: --time: a job needs some time (write it like 90s, 5m or 2h)\n"),
        (("--grace", "x", "--time", "1m"), 'numafit: --grace: "x" is not a time (write it like 90s, 5m or 2h)\n'),
    ],
)
def test_a_time_that_is_none_is_one_sentence(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    done = numafit(tmp_path, "run", *words, "--", "true")
    assert (done.returncode, done.stderr) == (2, sentence)


# cancel


def test_a_cancelled_job_is_gone_with_all_that_it_started(tmp_path: Path) -> None:
    """Also what left its session; the command line says so, and the lease is free."""
    with job(tmp_path, "--cpus", "1", command=("sh", "-c", "setsid sleep 60 & echo ready; wait")) as process:
        lease = lease_in(tmp_path)
        pids = members(lease)
        assert process.pid not in pids
        done = numafit(tmp_path, "cancel", lease.id)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"cancelled {lease.id}\n", "")
        assert process.wait(30) == -signal.SIGTERM
        assert all(is_alive(owner) is False for owner in lease.owners[1:])
        assert members(lease) == []
    assert len(pids) == 2
    # Who watched over the job may have ended before all of it was gone: then the next who looks frees the lease.
    eventually(lambda: "nobody holds anything" in numafit(tmp_path, "ps").stdout)
    assert events(tmp_path) in (["taken", "cancelled", "released"], ["taken", "cancelled", "freed"])


def test_a_job_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    with job(tmp_path, "--cpus", "1", command=("sh", "-c", DEAF)) as process:
        assert numafit(tmp_path, "cancel", "--mine", "--grace", "0.2s").returncode == 0
        assert process.wait(30) == -signal.SIGKILL


def test_a_job_without_its_watcher_can_be_cancelled(tmp_path: Path) -> None:
    """Its lease is freed by the one who cancels it."""
    with job(tmp_path, "--cpus", "1") as process:
        lease = lease_in(tmp_path)
        end(process.pid)
        process.wait()
        assert numafit(tmp_path, "cancel", lease.id).returncode == 0
    assert events(tmp_path) == ["taken", "cancelled", "freed"]


def test_who_is_not_there_cannot_be_cancelled(tmp_path: Path) -> None:
    done = numafit(tmp_path, "cancel", "nobody")
    assert (done.returncode, done.stderr) == (2, "numafit: there is no lease nobody (`numafit ps` lists them)\n")
    for words in ((), ("--mine", "nobody")):
        done = numafit(tmp_path, "cancel", *words)
        assert done.returncode == 2
        assert "which leases?" in done.stderr


def test_a_job_that_cannot_be_seen_is_not_said_to_be_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of another pid namespace."""
    monkeypatch.setattr("numafit.host.run.ending.is_alive", lambda owner: None)
    lease = Lease("a", "", os.getuid(), "", 0.0, owners=elsewhere().processes)
    assert cancel(lease, 0.0) == "its processes cannot be reached from here"


def test_a_container_is_stopped_by_its_engine(tmp_path: Path) -> None:
    with fake_engine(tmp_path / "socket") as engine:
        engine.containers = [described("c1")]
        assert cancel(Lease("a", "", 0, "", 0.0, container="c1", engine=engine.address), 2.5) == ""
        assert engine.asked[-1] == "/containers/c1/stop?t=3 {}"
        gone = cancel(Lease("a", "", 0, "", 0.0, container="c2", engine=engine.address), 1.0)
        assert gone == "there is no such container"


def test_the_caller_and_the_watcher_are_no_members(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], env={"NUMAFIT_LEASE": "mine"}) as sleeper:
        try:
            lease = Lease("mine", "", os.getuid(), "", 0.0)
            eventually(lambda: members(lease) == [sleeper.pid])
        finally:
            sleeper.kill()
