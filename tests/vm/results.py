"""What comes back from a guest."""

import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.vm.cargo import Job
from tests.vm.guest import COMPLETE


class Result(NamedTuple):
    status: int
    """Negative when a signal ended the script; 124 when its time was over."""
    stdout: str
    stderr: str
    folder: Path
    """What the script left in $OUT."""


def unpacked(disk: Path, folder: Path) -> bool:
    """Whether the guest wrote its results, all of them; only then they are unpacked."""
    try:
        with tarfile.open(disk, mode="r:") as archive:
            whole = COMPLETE in archive.getnames()
            if whole:
                extract(archive, folder)
            return whole
    except tarfile.ReadError:
        return False


def extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Nothing outside of `folder`, and no owners, where this Python knows how: 3.11 learnt it in 3.11.4."""
    archive.extraction_filter = getattr(tarfile, "data_filter", None)
    archive.extractall(folder)


def results(folder: Path, jobs: Sequence[Job]) -> dict[str, Result]:
    """By the name of the job."""
    return {
        job.name: Result(
            int((folder / job.name / "status").read_text()),
            (folder / job.name / "stdout").read_text(errors="replace"),
            (folder / job.name / "stderr").read_text(errors="replace"),
            folder / job.name / "files",
        )
        for job in jobs
    }
