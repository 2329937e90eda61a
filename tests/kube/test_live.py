"""Random histories on a real kubelet, each decision compared with numafit's."""

from pathlib import Path

import pytest

from tests.kube.control_plane import ControlPlane
from tests.kube.live import SHARED, compare, record

pytestmark = pytest.mark.real

SEEDS = (1, 2)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_ends_as_numafit_says(
    seed: int, kubelets: None, cluster: ControlPlane, short_folder: Path, tmp_path: Path
) -> None:
    if not (SHARED / "captures").exists():
        pytest.skip("the captured machines are not there")
    (tmp_path / "captures").symlink_to(SHARED / "captures")
    found = compare(*record(cluster, short_folder, tmp_path / "runs", seed, events=12))
    assert found.verdict != "differs", found.difference
