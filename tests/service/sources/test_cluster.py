"""A node of a cluster as a source: its pods, asked for again and again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from numafit.cluster.case.fetch import pods_of
from numafit.cluster.kube.access import access
from numafit.cluster.kube.client import Client
from numafit.errors import ApiServerError
from numafit.machine.file.read import read_machine_file
from numafit.service.node import Snapshot
from numafit.service.sources import cluster
from numafit.service.sources.cluster import ReplayedNode
from tests.cluster.api_server import PODS, ApiServer, Reply, recorded, refusal
from tests.cluster.conftest import config, server
from tests.service.agents import ROOT
from tests.service.sources.changes import changes_of

__all__ = ["config", "server"]

EXAMPLE = ROOT / "examples" / "small-node"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "SECONDS", 0.01)


@pytest.fixture
def source(config: Path) -> Iterator[ReplayedNode]:
    machine = read_machine_file((EXAMPLE / "machine.json").read_text(), "machine.json")
    kubelet = (EXAMPLE / "kubelet.yaml").read_text()
    with Client(access(config, None)) as client:
        yield ReplayedNode("node gpu-1", machine, kubelet, "v1.36.4", lambda: pods_of(client, "gpu-1"))


def test_the_pods_that_run_are_shown_where_they_would_sit(source: ReplayedNode) -> None:
    (change,) = changes_of(source)
    view = Snapshot(source.place, change.stage, change.known).view()
    assert {holder.name: holder.cpus for holder in view.holders} == {
        "ml/cache-0": "4-6,12-14",
        "ml/train-0": "1-2,9-10",
        "web/front-0": "",
    }
    assert change.warning == (
        "node gpu-1: shown is what its pods would hold had they come in the order of their start; the API tells no more"
    )


def test_a_pod_that_goes_is_told(server: ApiServer, source: ReplayedNode) -> None:
    def end() -> None:
        pods = recorded("pods.json")
        kept = [pod for pod in pods["items"] if pod["metadata"]["name"] != "cache-0"]
        server.replies[PODS] = Reply(body=json.dumps({**pods, "items": kept}).encode())

    _, change = changes_of(source, end)
    assert change.happened is not None
    assert change.happened.sentence == "ml/cache-0 holds nothing any more."


def test_pods_that_cannot_sit_together_are_doubted(server: ApiServer, source: ReplayedNode) -> None:
    """They run, so the kubelet admitted them: in another order, or beside others."""
    pods = recorded("pods.json")
    for pod in pods["items"]:
        if pod["metadata"]["name"] == "train-1":
            pod["status"] |= {"phase": "Running", "reason": "", "message": ""}
    server.replies[PODS] = Reply(body=json.dumps(pods).encode())
    (change,) = changes_of(source)
    assert change.warning.endswith(
        "; the API tells no more, and ml/train-1 would be rejected: they really sit otherwise"
    )


def test_a_node_without_pods_is_empty(server: ApiServer, source: ReplayedNode) -> None:
    server.replies[PODS] = Reply(body=b'{"kind": "PodList", "metadata": {}, "items": []}')
    (change,) = changes_of(source)
    assert (change.known, change.warning) == ({}, "")


def test_an_api_server_that_refuses_raises(server: ApiServer, source: ReplayedNode) -> None:
    """The application asks again, and keeps showing what was read last."""
    server.replies[PODS] = refusal(403, "pods is forbidden")
    with pytest.raises(ApiServerError, match="pods is forbidden"):
        changes_of(source)
