"""When the nodes of kubelet-sim are there, with answers of an API server made up."""

import sys
from pathlib import Path
from typing import Any

import pytest

from numafit.cluster.up.control_plane import ControlPlane
from numafit.cluster.up.folder import ClusterFolder
from numafit.cluster.up.simulated import LEASES, NODES, start_nodes


def node(name: str, ready: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}}


def lease(name: str, renewed: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"renewTime": renewed}}


def test_all_that_are_played_are_waited_for_and_those_of_last_time_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = 0

    class Probe:
        def get(self, path: str) -> dict[str, Any]:
            nonlocal asked
            asked += path == LEASES
            if path == LEASES:
                return {"items": [lease("left", "1"), *([lease("a", "2"), lease("b", "2")] if asked > 1 else [])]}
            assert path == NODES
            return {"items": [node("left", "True"), node("a", "True"), node("b", "True" if asked > 4 else "False")]}

    started: list[list[str]] = []
    cluster = ControlPlane(ClusterFolder(tmp_path, kept=True), {})
    monkeypatch.setattr(cluster, "probe", Probe(), raising=False)
    monkeypatch.setattr(cluster, "start", lambda name, command: started.append([name, *command]))
    monkeypatch.setattr(cluster, "log", lambda name: "numafit: a note\n2 nodes are ready: a, b\n")
    assert start_nodes(cluster, tmp_path / "nodes.yaml") == ["a", "b"]
    assert asked > 4
    words = ["kubelet-sim", sys.executable, "-m", "numafit", "kubelet-sim", str(tmp_path / "nodes.yaml")]
    assert started == [[*words, "--kubeconfig", str(tmp_path / "kubeconfig"), "--state", str(tmp_path / "nodes")]]
