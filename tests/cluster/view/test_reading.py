"""The cluster at one look: what is seen, and what may not be."""

from pathlib import Path

import pytest

from numafit.cluster.kube.access import access
from numafit.cluster.kube.client import Client
from numafit.cluster.topology.model import PATH
from numafit.cluster.view.reading import pods_in, read_cluster, read_node
from numafit.cluster.view.rights import NODES_RIGHT, PODS_RIGHT, RIGHTS, TOPOLOGIES_RIGHT, role_text
from numafit.cluster.view.seen import ClusterView
from numafit.document import read_documents
from numafit.errors import ApiServerError, InputError
from tests.cluster.api_server import ApiServer, refusal
from tests.cluster.conftest import config, server
from tests.cluster.view.small_cluster import NODES, OWN_PODS, PODS, listing, stage, usual

__all__ = ["config", "server"]


def seen(config: Path, *, pods: bool = True) -> ClusterView:
    with Client(access(config, None)) as client:
        return read_cluster(client, namespace="team", pods=pods)


def test_nodes_reports_and_pods_make_the_fleet(server: ApiServer, config: Path) -> None:
    usual(server)
    view = seen(config)
    assert sorted(view.book.fleet.nodes) == ["gpu-1", "gpu-2"]
    assert view.unknown == ("dark",)
    assert {pod.full_name for pod in view.book.pods.values()} >= {"team/train", "team/huge"}
    assert (view.missing, view.notes, view.sightless, view.podless) == ([], [], "", False)


def test_a_pod_that_is_bound_and_in_no_report_counts_as_promised(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    cluster.pod("fresh", 4, 0, "gpu-2")
    cluster.serve()
    assert [own.pod.name for own in seen(config).book.fleet.nodes["gpu-2"].promised] == ["fresh"]


def test_without_pods_that_list_is_not_asked_for(server: ApiServer, config: Path) -> None:
    usual(server)
    view = seen(config, pods=False)
    assert len(view.book.fleet.nodes) == 2
    assert not [path for path in server.asked if path.startswith(PODS)]


def test_without_nodes_those_that_report_stand_for_all(server: ApiServer, config: Path) -> None:
    usual(server).deny(NODES)
    view = seen(config)
    assert sorted(view.book.fleet.nodes) == ["gpu-1", "gpu-2"]
    assert view.missing == [NODES_RIGHT]
    assert "labels, taints and cordons are not known" in view.notes[0].text


def test_without_the_pods_of_all_namespaces_those_of_one_are_looked_at(server: ApiServer, config: Path) -> None:
    usual(server).deny(PODS)
    view = seen(config)
    assert view.missing == [PODS_RIGHT]
    assert "train" in view.book.pods
    assert not view.podless


def test_where_no_pod_may_be_listed_that_is_said(server: ApiServer, config: Path) -> None:
    usual(server).deny(PODS, OWN_PODS)
    view = seen(config)
    assert view.podless
    assert view.book.pods == {}


def test_without_reports_nothing_is_known_of_nodes(server: ApiServer, config: Path) -> None:
    usual(server).deny(PATH)
    view = seen(config)
    assert view.missing == [TOPOLOGIES_RIGHT]
    assert "you may not list nodetopologies" in view.sightless
    assert view.book.fleet.nodes == {}


def test_a_cluster_that_does_not_know_the_kind_is_told_from_a_right_that_lacks(server: ApiServer, config: Path) -> None:
    usual(server)
    server.replies[PATH] = refusal(404, "the server could not find the requested resource")
    view = seen(config)
    assert (view.missing, view.sightless) == ([], "this cluster does not know the kind NodeTopology")
    assert "node-agent --manifest" in view.notes[0].text


def test_other_refusals_end_it(server: ApiServer, config: Path) -> None:
    usual(server)
    server.replies[NODES] = refusal(500, "etcd is gone")
    with pytest.raises(ApiServerError, match="etcd is gone"):
        seen(config)


def test_a_report_that_was_tampered_with_takes_its_node_out_and_no_other(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    cluster.topologies["gpu-1"]["status"]["sharedPool"] = "0-3"
    cluster.serve()
    view = seen(config)
    assert view.unknown == ("dark", "gpu-1")
    assert view.refused["gpu-1"].field == "status.digest"


@pytest.mark.parametrize("item", [{"metadata": 3}, {"metadata": {"name": "x"}, "spec": []}, []])
def test_an_object_that_makes_no_sense_is_left_out_and_said(server: ApiServer, config: Path, item: object) -> None:
    cluster = usual(server)
    server.replies[PODS] = server.replies[PODS]._replace(body=listing([item, *cluster.pods]))  # type: ignore
    view = seen(config)
    assert "train" in view.book.pods
    assert "one cannot be read" in view.notes[0].text


def test_all_pods_of_a_namespace_are_read_those_that_ended_too(server: ApiServer, config: Path) -> None:
    usual(server)
    with Client(access(config, None)) as client:
        found = pods_in(ClusterView(), client, "team")
    assert [pod.metadata.name for pod in found] == ["train", "huge", "turned"]


def test_one_node_is_read_alone(server: ApiServer, config: Path) -> None:
    usual(server)
    with Client(access(config, None)) as client:
        view = read_node(client, "gpu-1", namespace="team")
    assert list(view.book.fleet.nodes) == ["gpu-1"]
    assert PATH not in [path.partition("?")[0] for path in server.asked]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gpu-3", "there is no node gpu-3 .did you mean"),
        ("dark", "nobody tells how it stands"),
        ("no/such", "is no name of a node"),
    ],
)
def test_a_node_that_is_not_there_or_tells_nothing_is_a_sentence(
    server: ApiServer, config: Path, name: str, why: str
) -> None:
    usual(server)
    with Client(access(config, None)) as client, pytest.raises(InputError, match=why):
        read_node(client, name, namespace="team")


def test_the_namespace_of_the_context_is_known(server: ApiServer, config: Path) -> None:
    text = config.read_text().replace('"user": "jane"}}', '"user": "jane", "namespace": "team"}}')
    config.write_text(text)
    assert access(config, None).namespace == "team"


def test_the_role_is_one_that_an_api_server_takes_with_all_rights() -> None:
    role, binding = (each.value for each in read_documents(role_text(), "role"))
    assert [rule["resources"] for rule in role["rules"]] == [[right.resource] for right in RIGHTS]  # type: ignore
    assert binding["roleRef"]["name"] == role["metadata"]["name"]  # type: ignore


def test_a_node_with_nobody_reads_like_a_full_one(server: ApiServer, config: Path) -> None:
    cluster = usual(server)
    cluster.node("full", stage(("a", 60, 4), ("b", 60, 4)))
    cluster.serve()
    assert len(seen(config).book.fleet.nodes["full"].state.ledger.active) == 2
