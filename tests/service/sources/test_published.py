"""A node of a cluster as a source, where an agent publishes who sits where."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.cluster.case.fetch import pods_of, published_of
from numafit.cluster.kube.access import access
from numafit.cluster.kube.client import Client
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.write import topology_bytes, topology_of
from numafit.decision.life import reconcile, release
from numafit.decision.stage import Stage
from numafit.service.node import Change, Snapshot
from numafit.service.sources import published
from numafit.service.sources.published import PublishedNode
from tests.cli.options.test_published import OBJECT, small_stage
from tests.cluster.api_server import PODS, ApiServer, Reply, recorded, refusal
from tests.cluster.conftest import config, server
from tests.service.sources.changes import changes_of

__all__ = ["config", "server"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "SECONDS", 0.01)


def publish(server: ApiServer, stage: Stage) -> None:
    server.replies[OBJECT] = Reply(body=topology_bytes(topology_of("gpu-1", stage)))


@pytest.fixture
def source(server: ApiServer, config: Path) -> Iterator[PublishedNode]:
    publish(server, small_stage())
    with Client(access(config, None)) as client:
        told = published_of(client, "gpu-1")
        assert told is not None
        yield PublishedNode(
            read_topology(told), lambda: published_of(client, "gpu-1"), lambda: pods_of(client, "gpu-1")
        )


def shown(source: PublishedNode, change: Change) -> dict[str, str]:
    view = Snapshot(source.place, change.stage, change.known).view()
    return {holder.name: holder.cpus for holder in view.holders}


def test_pods_are_shown_where_they_really_sit(source: PublishedNode) -> None:
    """Not where they would sit had they come in the order of their start."""
    (change,) = changes_of(source)
    assert shown(source, change) == {"ml/cache-0": "1-3,9-11", "ml/train-0": "4-5,12-13", "web/front-0": ""}
    assert change.warning == ""


def test_a_pod_that_goes_is_told_when_the_agent_says_so(server: ApiServer, source: PublishedNode) -> None:
    """What it held is free when the kubelet has freed it, and not when the API server forgets the pod."""
    stage = small_stage()
    uid = next(pod.uid for pod in stage.ledger.active.values() if pod.name == "cache-0")
    without = replace(stage, ledger=reconcile(stage.node, release(stage.ledger, uid)))

    def end() -> None:
        publish(server, without)

    _, change = changes_of(source, end)
    assert change.happened is not None
    assert change.happened.uid == uid
    assert "cache-0" not in "".join(shown(source, change))


def test_pods_of_which_the_agent_does_not_tell_are_named(server: ApiServer, source: PublishedNode) -> None:
    pods = recorded("pods.json")
    (one,) = [pod for pod in pods["items"] if pod["metadata"]["name"] == "cache-0"]
    more = json.loads(json.dumps(one))
    more["metadata"] |= {"name": "late-0", "uid": "11111111-2222-3333-4444-555555555555"}
    server.replies[PODS] = Reply(body=json.dumps({**pods, "items": [*pods["items"], more]}).encode())
    (change,) = changes_of(source)
    assert "ml/late-0 run there, and its NodeTopology does not tell of them (yet)" in change.warning
    assert "ml/late-0" not in shown(source, change)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (refusal(404, "not found"), "its NodeTopology is gone"),
        (Reply(body=b'{"kind": "Node", "apiVersion": "v1"}'), "is no NodeTopology"),
    ],
)
def test_what_was_shown_stands_with_a_warning(server: ApiServer, source: PublishedNode, reply: Reply, why: str) -> None:
    def end() -> None:
        server.replies[OBJECT] = reply

    first, change = changes_of(source, end)
    assert "may be old" in change.warning
    assert why in change.warning
    assert shown(source, change) == shown(source, first)


def test_another_kubelet_needs_another_start(server: ApiServer, source: PublishedNode) -> None:
    def switch() -> None:
        publish(server, small_stage(lambda text: text.replace("Policy: single-numa-node", "Policy: restricted")))

    _, change = changes_of(source, switch)
    assert "its machine or its kubelet is another one now" in change.warning
