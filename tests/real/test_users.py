"""`numafit run` of an ordinary user on this very host: bound as well as the kernel lets him, and told so."""

import os
from pathlib import Path

import pytest

from tests.host.children import opened_up
from tests.real.numafit import LOOK, NOBODY, Done, lacking, numafit, python

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def interpreter() -> str:
    found = "" if lacking() else python()
    if not found:
        pytest.skip(lacking() or "no interpreter that an ordinary user may run has numafit's packages")
    return found


@pytest.fixture
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """His own. pytest's folders are for root alone."""
    folder = opened_up(tmp_path_factory.mktemp("ledger"))
    os.chown(folder, NOBODY, NOBODY)
    return folder


def as_nobody(ledger: Path, interpreter: str, *words: str) -> Done:
    return numafit(ledger, *words, user=NOBODY, interpreter=interpreter)


def test_an_ordinary_user_is_bound_by_affinity_and_memory_policy(ledger: Path, interpreter: str) -> None:
    """The kernel allows the job the CPUs of its lease and no others; each stronger way is named with its reason."""
    bind = ("--memory-bind", "bind")
    done = as_nobody(ledger, interpreter, "run", "--cpus", "1", *bind, "--", interpreter, "-c", LOOK)
    lines = done.stderr.splitlines()
    assert done.status == 0
    assert done.allowed("Cpus") == done.variables["NUMAFIT_CPUS"]
    assert "; bound by affinity and memory policy (bind " in lines[0]
    assert [line.partition(": ")[2].partition(":")[0] for line in lines[1:]] == [
        "not bound by cgroup v2",
        "not bound by cgroup v1",
        "not bound by systemd scope",
    ]


def test_strict_starts_nothing_that_only_affinity_would_hold(ledger: Path, interpreter: str) -> None:
    """Exit 2, one sentence, and no lease is left."""
    done = as_nobody(ledger, interpreter, "run", "--strict", "--cpus", "1", "--", "echo", "ran")
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith("numafit: the job cannot be held by a cpuset: ")
    assert as_nobody(ledger, interpreter, "ps").stdout == "No leases: nobody holds anything.\n"


def test_a_ledger_of_another_user_is_refused_in_one_sentence(tmp_path: Path, interpreter: str) -> None:
    """Nothing is taken without writing it down."""
    folder = tmp_path / "of-root"
    folder.mkdir(mode=0o700)
    done = as_nobody(folder, interpreter, "run", "--cpus", "1", "--", "echo", "ran")
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith("numafit: ")
    assert len(done.stderr.splitlines()) == 1
