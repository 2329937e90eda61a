"""What goes into a guest, and whole results out of it."""

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.vm import Job, Node, Shape
from tests.vm.cargo import GUEST, cargo
from tests.vm.guest import COMPLETE
from tests.vm.results import extract, unpacked

SHAPE = Shape((Node(1, 512),), cgroup=1)


def unpacked_cargo(folder: Path, *jobs: Job) -> Path:
    with tarfile.open(fileobj=io.BytesIO(cargo(SHAPE, jobs))) as archive:
        extract(archive, folder)
    return folder / "job"


def shown(job: Path) -> tuple[int, str]:
    code = "from numafit.__main__ import main; import sys; sys.exit(main(['machine', 'show', '--machine', 'dgx-h100']))"
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": f"{job}/src:{job}/site", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_numafit_runs_from_the_cargo_alone(tmp_path: Path) -> None:
    """Its source and all packages that it needs are there; `-S` leaves out those of this environment."""
    assert shown(unpacked_cargo(tmp_path)) == (0, "")


def test_bytecode_comes_along(tmp_path: Path) -> None:
    """Python takes it in the place of sources of that size and age, whatever they hold."""
    job = unpacked_cargo(tmp_path)
    for source in (job / "src/numafit/__main__.py", job / "site/msgspec/__init__.py"):
        found = source.stat()
        source.write_bytes(b"?" * found.st_size)
        os.utime(source, (found.st_atime, found.st_mtime))
    assert shown(job) == (0, "")


def test_what_numafit_needs_is_complete_in_the_cargo(tmp_path: Path) -> None:
    """Packages that packages need come along."""
    job = unpacked_cargo(tmp_path)
    assert {"anyio", "click", "h11", "idna", "msgspec", "starlette", "uvicorn", "yaml"} <= {
        path.name for path in (job / "site").iterdir()
    }


def test_jobs_lie_beside_their_files(tmp_path: Path) -> None:
    """And the plan names them in their order."""
    job = unpacked_cargo(tmp_path, Job("b", "true"), Job("a", "cat x/y", {"x/y": b"\0"}, user="worker", timeout=2))
    assert json.loads((job / "plan.json").read_text()) == {
        "cgroup": 1,
        "jobs": [
            {"name": "b", "user": "root", "timeout": 60.0},
            {"name": "a", "user": "worker", "timeout": 2},
        ],
    }
    assert ((job / "jobs/a/script").read_text(), (job / "jobs/a/x/y").read_bytes()) == ("cat x/y", b"\0")


@pytest.mark.parametrize("names", [("a", "a"), ("../a",), ("",), ("A b",)])
def test_a_name_that_is_no_folder_is_refused(names: tuple[str, ...]) -> None:
    """It names a folder on both sides."""
    with pytest.raises(ValueError, match="job name"):
        cargo(SHAPE, [Job(name, "true") for name in names])


def test_the_first_process_runs_nowhere_else() -> None:
    """It ends all other processes, so it first looks where it is."""
    done = subprocess.run([sys.executable, str(GUEST)], capture_output=True, text=True, check=False)
    assert (done.returncode, "only as the first process" in done.stderr) == (1, True)


@pytest.mark.parametrize(("names", "whole"), [(["a", COMPLETE], True), (["a"], False), ([], False)])
def test_results_count_only_when_all_are_there(tmp_path: Path, names: list[str], whole: bool) -> None:
    """A guest that dies while it writes leaves a .tar that looks whole: zeros end it."""
    disk = tmp_path / "disk"
    with tarfile.open(disk, "w") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    assert unpacked(disk, tmp_path / "results") is whole
    assert (tmp_path / "results" / "a").exists() is whole


def test_an_untouched_disk_holds_no_results(tmp_path: Path) -> None:
    """A guest that never came that far."""
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(1 << 20))
    assert unpacked(disk, tmp_path / "results") is False
