"""The command as other users and restricted processes of this host start it, and where its jobs found themselves."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
LOOK = "import json, os; print(json.dumps([open('/proc/self/status').read(), dict(os.environ)]))"
SECONDS = 60


class Done:
    def __init__(self, process: "subprocess.CompletedProcess[str]") -> None:
        self.status, self.stdout, self.stderr = process.returncode, process.stdout, process.stderr

    @property
    def variables(self) -> dict[str, str]:
        """Of the job, when that was `LOOK`."""
        return dict(json.loads(self.stdout)[1])

    def allowed(self, what: str) -> str:
        """`Cpus` or `Mems`."""
        lines = json.loads(self.stdout)[0].splitlines()
        return str(next(line.split()[1] for line in lines if line.startswith(f"{what}_allowed_list:")))


def lacking() -> str:
    """Why these tests cannot run here; empty when they can."""
    if sys.platform != "linux":
        return f"needs Linux, and this is {sys.platform}"
    if os.geteuid() != 0:
        return "only root can become another user and restrict processes: run it as root"
    missing = [name for name in ("setpriv", "unshare") if not shutil.which(name)]
    return f"needs {' and '.join(missing)}: apt-get install util-linux" if missing else ""


def python() -> str:
    """An interpreter that every user can run: that of a virtual environment may lie in the home of root."""
    code = "import numafit.cli.host.run"
    for candidate in (sys.executable, f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}"):
        try:
            done = subprocess.run(
                [candidate, "-c", code],
                env=environment(),
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                check=False,
                capture_output=True,
            )
        except OSError:
            continue
        if done.returncode == 0:
            return candidate
    return ""


def environment(ledger: Path | None = None) -> dict[str, str]:
    """Without the variables of a job that these tests may themselves run in."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("NUMAFIT_")}
    packages = [path for path in sys.path if path.endswith("site-packages")]
    mine["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), *packages])
    return mine if ledger is None else {**mine, "NUMAFIT_STATE": str(ledger)}


def numafit(
    ledger: Path, *words: str, user: int = 0, group: int = 0, before: Sequence[str] = (), interpreter: str = ""
) -> Done:
    """`before`: a command that numafit is started by."""
    become = {"user": user, "group": group or user, "extra_groups": []} if user else {}
    command = [*before, interpreter or sys.executable, "-m", "numafit", *words]
    return Done(
        subprocess.run(
            command, env=environment(ledger), timeout=SECONDS, capture_output=True, text=True, check=False, **become
        )
    )
