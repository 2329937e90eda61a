"""`numafit run` in a restricted cpuset of this very host, as in a container: it takes nothing that is not allowed."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.real.numafit import LOOK, Done, lacking, numafit

pytestmark = pytest.mark.real

CONTAINER = ("unshare", "--cgroup", "--mount", "--pid", "--fork", "--mount-proc")
"""As a container has them; /proc shows its own processes only."""


@pytest.fixture
def box() -> Iterator[tuple[Path, str]]:
    """A cpuset with one CPU, the last that is allowed here, in whichever version of cgroups has cpusets."""
    root = Path("/sys/fs/cgroup")
    root = root / "cpuset" if (root / "cpuset").is_dir() else root
    if lacking():
        pytest.skip(lacking())
    folder = root / f"numafit-test-{os.getpid()}"
    cpu = str(max(os.sched_getaffinity(0)))
    memory = next(path for path in (root / "cpuset.mems", root / "cpuset.mems.effective") if path.exists())
    try:
        folder.mkdir()
        (folder / "cpuset.cpus").write_text(cpu)
        (folder / "cpuset.mems").write_text(memory.read_text())
    except OSError as error:
        pytest.skip(f"{folder}: {error.strerror}: no cpuset can be made here")
    yield folder, cpu
    for group in sorted(folder.rglob("*"), reverse=True):
        if group.is_dir():
            group.rmdir()
    # The last process may still be on its way out.
    for _ in range(50):
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.02)


def enter(box: Path, *command: str) -> tuple[str, ...]:
    return ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(box), *command)


def run(ledger: Path, before: Sequence[str], cpus: int) -> Done:
    return numafit(ledger, "run", "--cpus", str(cpus), "--", "python3", "-c", LOOK, before=before)


@pytest.mark.parametrize("container", [(), CONTAINER], ids=["cpuset", "namespaces"])
def test_a_job_gets_the_one_cpu_that_is_allowed(
    box: tuple[Path, str], container: tuple[str, ...], tmp_path: Path
) -> None:
    """And is bound to it, as the kernel says."""
    folder, cpu = box
    done = run(tmp_path, enter(folder, *container), 1)
    assert (done.status, done.variables["NUMAFIT_CPUS"], done.allowed("Cpus")) == (0, cpu, cpu)
    assert "; bound by " in done.stderr


def test_more_than_is_allowed_is_refused(box: tuple[Path, str], tmp_path: Path) -> None:
    """75, though this machine has the CPUs."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("this machine has one CPU: there is nothing to restrict")
    done = run(tmp_path, enter(box[0]), 2)
    assert (done.status, done.stdout) == (75, "")
    assert "2 CPUs are asked for and 1 is free" in done.stderr


def test_a_lease_taken_in_a_container_is_freed_in_there(box: tuple[Path, str], tmp_path: Path) -> None:
    """Those outside could not tell: its process ids are of another pid namespace."""
    done = numafit(tmp_path, "run", "--cpus", "1", "--", "true", before=enter(box[0], *CONTAINER))
    assert done.status == 0
    assert numafit(tmp_path, "ps").stdout == "No leases: nobody holds anything.\n"
