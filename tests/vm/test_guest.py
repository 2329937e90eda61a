"""Jobs in a guest: what they find, what they leave, and that none outlives its time."""

from pathlib import Path

import pytest

from tests.vm import BootError, Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

SMALL = Shape(nodes=(Node(cpus=2, memory=512),))
JOBS = (
    Job("files", 'cat beside; echo left > "$OUT/left"; id -un; exit 3', {"beside": "beside\n"}, user="worker"),
    Job("leaves", "sleep 1000 & echo started"),
    Job("looks", "ps -C sleep -o comm="),
    Job("hangs", "echo hangs; exec sleep 1000", timeout=1),
    Job("killed", "kill -TERM $$; sleep 10"),
    Job("version", "numafit --version"),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return run_jobs(SMALL, JOBS, tmp_path_factory.mktemp("vm"))


def test_a_job_reads_its_files_and_leaves_others(results: dict[str, Result]) -> None:
    """It runs as the user it names; its exit status, its output and its files come back."""
    result = results["files"]
    assert (result.status, result.stdout, result.stderr) == (3, "beside\nworker\n", "")
    assert (result.folder / "left").read_text() == "left\n"


def test_what_a_job_leaves_running_is_ended(results: dict[str, Result]) -> None:
    """The next job finds nothing of it."""
    assert results["leaves"].stdout == "started\n"
    assert results["looks"].stdout == ""


def test_a_job_out_of_time_is_ended(results: dict[str, Result]) -> None:
    """Its status is 124, and the next jobs run."""
    assert (results["hangs"].status, results["hangs"].stdout) == (124, "hangs\n")
    assert results["version"].status == 0


def test_a_signal_is_a_negative_status(results: dict[str, Result]) -> None:
    """As in the module subprocess."""
    assert results["killed"].status == -15


def test_a_machine_out_of_time_is_ended(tmp_path: Path) -> None:
    """With the end of its console in the message."""
    with pytest.raises(BootError, match=r"ended without results, hanging for 0.5 s in its boot"):
        run_jobs(SMALL, [Job("a", "true", timeout=0.5)], tmp_path, boot_seconds=0.5)


def test_a_machine_that_ends_without_results_is_tried_once_more(tmp_path: Path) -> None:
    """Here each time: the job resets the machine."""
    with pytest.raises(BootError, match=r"ended without results(?s:.*)job a"):
        run_jobs(SMALL, [Job("a", "echo b > /proc/sysrq-trigger; sleep 30")], tmp_path)
    assert sorted(path.name for path in tmp_path.glob("console-*")) == ["console-1.txt", "console-2.txt"]
