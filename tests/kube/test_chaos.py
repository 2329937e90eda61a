"""Every program is killed by chance under load, for half a minute; `python -m tests.kube.chaos` does it for longer."""

import json
import os
import shutil
import tempfile
from pathlib import Path
from random import randrange
from types import SimpleNamespace
from typing import cast

import pytest

from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, DEVICE_PLUGINS, state_path
from tests.kube.agent import Agent
from tests.kube.api import Api, Json
from tests.kube.build import binaries
from tests.kube.chaos.holdings import in_folder
from tests.kube.chaos.story import live_through
from tests.kube.chaos.watch import Watch
from tests.kube.control_plane import ControlPlane
from tests.kube.live import SHARED

SECONDS = 25
POD: Json = {
    "metadata": {"name": "p", "uid": "u", "labels": {}},
    "spec": {"nodeName": "n", "containers": [{"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}]},
    "status": {"phase": "Running", "qosClass": "Guaranteed"},
}


def write(folder: Path, cpus: Json, devices: Json) -> None:
    (folder / DEVICE_PLUGINS).mkdir(exist_ok=True)
    state_path(folder, CPU_FILE).write_text(json.dumps({"entries": {uid: {"c": own} for uid, own in cpus.items()}}))
    entries = [
        {"PodUID": uid, "ContainerName": "c", "ResourceName": "x/fpga", "DeviceIDs": {"0": ids}}
        for uid, ids in devices.items()
    ]
    state_path(folder, DEVICE_FILE).write_text(json.dumps({"Data": {"PodDeviceEntries": entries}}))


def test_what_two_pods_hold_is_found(tmp_path: Path) -> None:
    write(tmp_path, {"a": "1-2", "b": "3"}, {"a": ["f0"], "b": ["f1"]})
    held = in_folder(tmp_path)
    assert held is not None
    assert list(held.twice()) == []
    write(tmp_path, {"a": "1-2", "b": "2-3"}, {"a": ["f0"], "b": ["f0"]})
    held = in_folder(tmp_path)
    assert held is not None
    assert list(held.twice()) == ["CPU 2 is held by a and b", "device x/fpga=f0 is held by a and b"]


class OneRuns:
    """In the place of the API server."""

    def pods(self) -> dict[str, Json]:
        return {"p": POD}


@pytest.mark.parametrize(
    ("cpus", "text"), [({}, "runs and has no CPUs of its own"), ({"u": "3-4"}, "runs with 3, 4 and had 1, 2")]
)
def test_a_pod_that_loses_its_cpus_is_found(tmp_path: Path, cpus: Json, text: str) -> None:
    watch = Watch(cast(Api, OneRuns()), {"n": tmp_path}, cast(Agent, SimpleNamespace(process=None)))
    write(tmp_path, {"u": "1-2"}, {})
    watch.look()
    assert watch.violations == set()
    write(tmp_path, cpus, {})
    watch.look()
    assert any(text in own for own in watch.violations)


@pytest.mark.real
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
