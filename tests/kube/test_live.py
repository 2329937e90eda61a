"""Random histories on real kubelets, each decision compared with numafit's.

NUMAFIT_SEED names the first of the seeds, where they should be those of an earlier run.
"""

import os
import secrets
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.kube.control_plane import ControlPlane
from tests.kube.live import SHARED, Live, told

pytestmark = pytest.mark.real

KEPT = range(1, 5)
"""Each time the same, and so many others."""
FRESH = 4
EVENTS = 32
FEWEST_DECISIONS = 100


def test_histories_end_as_numafit_says(
    kubelets: None, cluster: ControlPlane, short_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (SHARED / "captures").exists():
        pytest.skip("the captured machines are not there")
    first = int(os.environ.get("NUMAFIT_SEED") or 1000 + secrets.randbelow(1_000_000))
    seeds = [*KEPT, *range(first, first + FRESH)]
    # outside the folders that pytest removes: what differs is looked at later
    out = Path(tempfile.mkdtemp(prefix="numafit-live-")) / "runs"
    lines: list[str] = []
    found = told(Live(cluster, short_folder, out, EVENTS).all_of(seeds, len(seeds)), lines.append)
    with capsys.disabled():
        print(f"\nlive: seeds {seeds}, runs in {out}", *lines, sep="\nlive: ")
    if not any(own.is_bad for own in found):
        shutil.rmtree(out.parent)
    assert [own for own in found if own.is_bad] == []
    assert sum(own.decisions for own in found) >= FEWEST_DECISIONS
