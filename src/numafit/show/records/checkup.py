"""A checkup of a node as JSON."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from numafit.advice.doctor.checkup import Checkup
from numafit.advice.doctor.repair import Repair
from numafit.settings.versions import KubeVersion
from numafit.show.json import json_text

WrittenRepairs = Sequence[tuple[Repair, Path | None]]
"""Each repair, and where the corrected file lies."""


def checkup_json(
    checkup: Checkup, version: KubeVersion, written: WrittenRepairs = (), files: Sequence[str] = ()
) -> str:
    result = {
        "kubeVersion": str(version),
        "starts": checkup.starts,
        "files": list(files),
        "findings": [msgspec.to_builtins(finding) for finding in checkup.findings],
        "unchecked": list(checkup.unchecked),
        "repairs": [
            {
                "file": made.name,
                "written": None if path is None else str(path),
                "changes": list(made.changes),
                "problem": made.problem,
            }
            for made, path in written
        ],
    }
    return json_text(result)
