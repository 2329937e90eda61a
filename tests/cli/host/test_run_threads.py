"""What a program that loads libgomp, as PyTorch, scikit-learn and most solvers do, hands on to its workers."""

import ctypes
import sys
from pathlib import Path

import pytest

from tests.host.children import needs_cpus
from tests.host.ledgers import numafit

WORKERS = """
import ctypes, os
ctypes.CDLL("libgomp.so.1")
for _ in range(3):
    if not os.fork():
        print(len(os.sched_getaffinity(0)), flush=True)
        os._exit(0)
    os.wait()
"""
"""Loads the library, which looks at the variables, and starts workers one after the other."""


@pytest.fixture(autouse=True)
def _gomp() -> None:
    try:
        ctypes.CDLL("libgomp.so.1")
    except OSError:
        pytest.skip("libgomp.so.1 is not installed here: Debian's libgomp1, which .ci/run installs as root")


def workers(folder: Path, *options: str) -> list[str]:
    needs_cpus(2)
    done = numafit(folder, "run", "-q", "--cpus", "2", *options, "--", sys.executable, "-c", WORKERS)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_workers_that_start_after_libgomp_was_loaded_have_all_cpus_of_the_lease(tmp_path: Path) -> None:
    """Seen with PyTorch 2.11: eight workers of a DataLoader shared one CPU of the eight of their lease."""
    assert workers(tmp_path) == ["2", "2", "2"]


def test_one_openmp_program_is_pinned_on_request_and_its_workers_with_it(tmp_path: Path) -> None:
    """Which is why nobody gets it who did not ask."""
    assert workers(tmp_path, "--omp") == ["1", "1", "1"]
