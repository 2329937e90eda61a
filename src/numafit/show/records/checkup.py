"""A checkup of a node: would its kubelet start, what is wrong, and what was repaired."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from numafit.advice.doctor.checkup import Checkup
from numafit.advice.doctor.diagnosis import Diagnosis
from numafit.advice.doctor.repair import Repair
from numafit.advice.inspection.checks import Unchecked
from numafit.notes import Note
from numafit.settings.versions import KubeVersion

WrittenRepairs = Sequence[tuple[Repair, Path | None]]
"""Each repair, and where the corrected file lies."""


class RepairDone(msgspec.Struct, frozen=True):
    file: str
    written: str | None
    """Where the corrected file lies; null: there is none."""
    changes: tuple[str, ...]
    problem: str


class CheckupAnswer(msgspec.Struct, frozen=True, rename="camel"):
    kube_version: str
    starts: bool
    files: tuple[str, ...]
    """The state files that were looked at."""
    findings: tuple[Diagnosis, ...]
    unchecked: tuple[Unchecked, ...]
    """Checks that were not made, each with the values that were missing for it."""
    repairs: tuple[RepairDone, ...]
    notes: tuple[Note, ...] = ()
    """What the answer stands on."""


def checkup_record(
    checkup: Checkup,
    version: KubeVersion,
    written: WrittenRepairs = (),
    files: Sequence[str] = (),
    notes: Sequence[Note] = (),
) -> CheckupAnswer:
    return CheckupAnswer(
        str(version),
        checkup.starts,
        tuple(files),
        checkup.findings,
        checkup.unchecked,
        tuple(
            RepairDone(made.name, None if path is None else str(path), made.changes, made.problem)
            for made, path in written
        ),
        tuple(notes),
    )
