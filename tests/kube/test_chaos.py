"""Every program is killed by chance under load, for half a minute; `python -m tests.kube.chaos` does it for longer."""

import os
import shutil
import tempfile
from pathlib import Path
from random import randrange

import pytest

from tests.kube.build import binaries
from tests.kube.chaos.story import live_through
from tests.kube.control_plane import ControlPlane
from tests.kube.live import SHARED

pytestmark = pytest.mark.real

SECONDS = 25


def test_nothing_is_lost_or_promised_twice_while_everything_is_killed(kubelets: None) -> None:
    """Its control plane is its own: others need theirs alive. `NUMAFIT_SEED` names the seed that was printed."""
    if not SHARED.exists():
        pytest.skip("the captured machines are not there")
    seed = int(os.environ.get("NUMAFIT_SEED") or randrange(1_000_000))
    print(f"seed {seed}")
    folder = Path(tempfile.mkdtemp(prefix="numafit-kube-"))
    try:
        with ControlPlane(folder / "cluster", binaries()) as cluster:
            report = live_through(cluster, folder / "c", seed, SECONDS, print)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(report)
    assert report.violations == ()
    assert report.pods > 0
    assert report.kills
