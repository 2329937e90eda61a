"""A ledger that was lost is made anew from what runs: real jobs of `numafit run`."""

import json
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from numafit.host.book.rebuild import _without_conflicts, running_leases
from numafit.host.book.store import FILE
from numafit.host.lease import Lease
from tests.host.children import needs_cpus
from tests.host.ledgers import as_user, children_of, cpus_of, end, environment, eventually, job, numafit, user_folder

SLEEPS = ("sh", "-c", "echo ready; exec sleep 60")


def leases(folder: Path, **more: Any) -> dict[str, Any]:
    done = numafit(folder, "ps", "-o", "json", **more)
    assert done.returncode == 0, done.stderr
    return {lease["id"]: lease for lease in json.loads(done.stdout)["leases"]}


def only(folder: Path, **more: Any) -> dict[str, Any]:
    """The lease of this ledger's one job."""
    (lease,) = leases(folder, **more).values()
    assert isinstance(lease, dict)
    return lease


def ruin(folder: Path, how: str) -> None:
    if how == "folder":
        rmtree(folder)
    elif how == "deleted":
        (folder / FILE).unlink()
    else:
        (folder / FILE).write_bytes(b"garbage" * 1000)


def forget_others(folder: Path, mine: str) -> None:
    """Jobs that somebody else runs on this host meanwhile, and that tell of no ledger."""
    with sqlite3.connect(folder / FILE) as connection:
        connection.execute("DELETE FROM leases WHERE id != ?", (mine,))
        connection.execute("DELETE FROM claims WHERE lease != ?", (mine,))
    connection.close()


WHAT = ("id", "name", "user", "uid", "exclusive", "nodes", "mems", "memory", "devices", "cgroup", "shared", "bound")


@pytest.mark.parametrize("how", ["damaged", "deleted", "folder"])
def test_a_job_that_runs_is_entered_again(tmp_path: Path, how: str) -> None:
    """With everything that it holds; nobody gets its CPU, and it is freed when the job ends."""
    cpus = needs_cpus(2)
    with job(tmp_path, "--cpus", "1", "--memory", "64Mi", "--name", "mine") as process:
        before = only(tmp_path)
        ruin(tmp_path, how)
        done = numafit(tmp_path, "ps", "-o", "json")
        assert "mine (" in done.stderr
        assert ("is damaged" in done.stderr) is (how == "damaged")
        after = next(lease for lease in json.loads(done.stdout)["leases"] if lease["id"] == before["id"])
        assert {name: after[name] for name in WHAT} == {name: before[name] for name in WHAT}
        done = numafit(tmp_path, "run", "--cpus", str(len(cpus)), "--", "true")
        assert done.returncode == 75
        end(children_of(process.pid)[0])
        process.wait()
    assert before["id"] not in leases(tmp_path)


def test_a_job_without_variables_is_known_by_its_cgroup(tmp_path: Path) -> None:
    needs_cpus(2)
    with job(tmp_path, "--cpus", "1", "--no-env"):
        before = only(tmp_path)
        if not before["cgroup"]:
            pytest.skip("no cgroup can be made here")
        # Of two with the same CPUs the older stays, and somebody else may run jobs on this host.
        running = {lease.id: lease for lease in running_leases(ledger=tmp_path)}
        if before["id"] not in running:
            pytest.skip("a job of another ledger has the same CPU")
        ruin(tmp_path, "damaged")
        after = leases(tmp_path)[before["id"]]
        assert (after["exclusive"], after["cgroup"]) == (before["exclusive"], before["cgroup"])


def test_a_job_of_an_ordinary_user_is_entered_again_and_followed(tmp_path: Path) -> None:
    """Bound by affinity only. As shared work it is moved when somebody takes CPUs, though nobody remembers which
    process watches over it."""
    cpus = needs_cpus(2)
    folder = user_folder(tmp_path)
    with job(folder, "--shared", before=as_user()) as process:
        (child,) = children_of(process.pid)
        before = only(folder, before=as_user())
        assert before["shared"]
        assert before["rung"].startswith("affinity")
        assert cpus_of(child) == set(cpus)
        ruin(folder, "damaged")
        assert leases(folder, before=as_user())[before["id"]]["shared"]
        forget_others(folder, before["id"])
        # Without a supervisor somebody else must do it.
        process.kill()
        process.wait()
        with job(folder, "--cpus", "1", before=as_user()) as other:
            held = cpus_of(children_of(other.pid)[0])
            eventually(lambda: cpus_of(child) == set(cpus) - held)


def test_jobs_of_another_ledger_are_left_to_it(tmp_path: Path) -> None:
    """They tell by a variable which one they belong to."""
    with job(tmp_path / "one", "--cpus", "1"):
        theirs = only(tmp_path / "one")["id"]
        assert theirs in {lease.id for lease in running_leases(ledger=tmp_path / "one")}
        found = {lease.id for lease in running_leases(ledger=tmp_path / "two")}
        assert theirs not in found


def test_two_commands_that_find_the_damage_give_no_cpu_twice(tmp_path: Path) -> None:
    """One CPU of two is held by a job; at most one of two that ask for a CPU gets the other."""
    cpus = needs_cpus(2)
    with job(tmp_path, "--cpus", str(len(cpus) - 1)) as process:
        held = cpus_of(children_of(process.pid)[0])
        code = "import os, time; print(*os.sched_getaffinity(0)); time.sleep(0.5)"
        words = ("run", "-q", "--cpus", "1", "--", sys.executable, "-c", code)
        for _ in range(3):
            ruin(tmp_path, "damaged")
            with ThreadPoolExecutor() as pool:
                answers = list(pool.map(lambda _: numafit(tmp_path, *words), range(2)))
            given = [int(word) for answer in answers for word in answer.stdout.split()]
            assert len(given) == len(set(given))
            assert not held & set(given)
            assert sorted(answer.returncode for answer in answers) in ([0, 75], [75, 75])
    assert len(list(tmp_path.glob("*.damaged-*"))) >= 3


def test_a_supervisor_outlives_the_ledger(tmp_path: Path) -> None:
    """At the end its lease is in none, and its cgroup is gone."""
    code = "print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-m", "numafit", "run", "--cpus", "1", "--", sys.executable, "-c", code],
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        lease = only(tmp_path)
        mine = lease["id"]
        ruin(tmp_path, "damaged")
        process.communicate("\n", timeout=60)
        assert process.returncode == 0
    assert mine not in leases(tmp_path)
    assert not lease["cgroup"] or not Path(lease["cgroup"]).exists()


def test_of_two_that_claim_the_same_the_older_stays() -> None:
    def lease(name: str, since: float, cpus: int) -> Lease:
        return Lease(name, "", 0, "", since, exclusive=cpus)

    old, new, other = lease("a", 1.0, 0b11), lease("b", 2.0, 0b110), lease("c", 3.0, 0b100)
    assert _without_conflicts([old, new, other]) == [old, other]
