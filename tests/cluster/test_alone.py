"""Tests that are kept away from all others: see `tests/cluster/device/conftest.py`."""

import os
import subprocess
import sys
from pathlib import Path

ALONE = "NUMAFIT_ALONE"
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (
    "tests/cluster/device",
    "tests/cluster/node",
    "tests/cluster/orders",
    "tests/cluster/sim/sockets",
    "tests/cluster/wire",
)
SECONDS = 600
"""They take some ten."""


def test_what_speaks_grpc_passes_in_a_process_of_its_own() -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *FOLDERS],
        cwd=ROOT,
        env={**env, ALONE: "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
