"""What `numafit run` loads: each module is a part of the time that a job takes to start."""

import subprocess
import sys

LOADED = """
import sys
from numafit.cli.start import load_msgspec
load_msgspec()
from numafit.cli.quick import quick_job
quick_job(["--cpus", "1", "--", "true"])
print(*(name for name in sys.modules if name in {names!r} or name.startswith("numafit.decision")))
"""


def loaded(*names: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(names=names)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_engine_is_loaded_by_jobs_that_ask_it_only() -> None:
    """Shared work holds nothing: there is nothing to decide."""
    assert loaded("numafit.host.place", "numafit.managers", "numafit.workload.pod") == ""


def test_what_only_other_jobs_need_is_not_loaded() -> None:
    """click, tools of the machine, YAML, the API of processes, and what msgspec takes from elsewhere if it is there."""
    assert (
        loaded(
            "click",
            "inspect",
            "socket",
            "subprocess",
            "yaml",
            "typing_extensions",
            "ctypes",
            "numafit.machine.combine.machine",
        )
        == ""
    )
    assert loaded("msgspec") == "msgspec"
