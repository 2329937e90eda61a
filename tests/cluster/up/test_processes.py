"""What we start ends with us."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from numafit.cluster.up.processes import start, stop, until

CHILD = """
import sys, time
from pathlib import Path
from numafit.cluster.up.processes import start
process = start(["sleep", "100"], Path(sys.argv[1]))
print(process.pid, flush=True)
time.sleep(100)
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")


def _runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_a_program_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path / "log")]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert _runs(child)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    until("it is gone", 5, lambda: not _runs(child))


def test_a_program_that_does_not_end_is_killed(tmp_path: Path) -> None:
    process = start(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"], tmp_path / "log")
    until("it ignores the signal", 5, lambda: (tmp_path / "log").read_text())
    stop(process, 0.2)
    assert process.returncode == -signal.SIGKILL


def test_waiting_ends(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError, match=r"after 0\.1 seconds still not: rain"):
        until("rain", 0.1, lambda: None)
