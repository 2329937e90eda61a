"""A node from a cluster: what is there, and a note for what is not."""

import json
from pathlib import Path

import pytest

from numafit.cluster.case.case import KUBELET, NODE, PODS, TOPOLOGY, NodeCase
from numafit.cluster.case.fetch import fetched
from numafit.cluster.kube.access import access
from numafit.cluster.kube.client import Client
from numafit.errors import ApiServerError, InputError
from numafit.notes import NOTE_CODES, Note
from tests.cluster import api_server
from tests.cluster.api_server import ApiServer, Reply, recorded, refusal


def case_of(config: Path, name: str = "gpu-1") -> NodeCase:
    with Client(access(config, None)) as client:
        return fetched(client, name)


def test_a_node_that_tells_everything_has_no_notes(config: Path) -> None:
    case = case_of(config)
    assert case.about.notes == ()
    assert {name: json.loads(data)["kind"] for name, data in case.files.items() if name != KUBELET} == {
        NODE: "Node",
        PODS: "List",
        TOPOLOGY: "NodeResourceTopology",
    }
    assert json.loads(case.files[KUBELET]) == recorded("configz.json")
    assert sorted(pod["metadata"]["name"] for pod in json.loads(case.files[PODS])["items"]) == [
        *("cache-0", "eval-0", "front-0", "train-0", "train-1")
    ]


def test_pods_of_several_pages_are_one_list(server: ApiServer, config: Path) -> None:
    whole = case_of(config)
    server.page = 2
    assert case_of(config).files[PODS] == whole.files[PODS]
    assert {pod["kind"] for pod in json.loads(whole.files[PODS])["items"]} == {"Pod"}


@pytest.mark.parametrize(
    ("path", "reply", "file", "note"),
    [
        (
            api_server.CONFIGZ,
            api_server.FORBIDDEN,
            KUBELET,
            Note(
                "node-partly-known",
                "kubelet",
                "its configuration is not known: you may not ask for it (the right is get on nodes/proxy); "
                "give it with --kubelet",
            ),
        ),
        (
            api_server.CONFIGZ,
            refusal(503, "error trying to reach service: dial tcp 10.0.0.1:10250: connect: connection refused"),
            KUBELET,
            Note(
                "node-partly-known",
                "kubelet",
                "its configuration is not known: the API server answers with status 503: error trying to reach "
                "service: dial tcp 10.0.0.1:10250: connect: connection refused; give it with --kubelet",
            ),
        ),
        (
            api_server.PODS,
            refusal(403, "no"),
            PODS,
            Note(
                "node-partly-known",
                "node",
                "you may not list the pods of all namespaces, so those on the node are not known: it is taken as empty",
            ),
        ),
        (
            f"{api_server.TOPOLOGY}/gpu-1",
            refusal(403, "no"),
            TOPOLOGY,
            Note("node-partly-known", "machine", "its NodeResourceTopology is not known: you may not read it"),
        ),
        (f"{api_server.TOPOLOGY}/gpu-1", api_server.UNKNOWN_GROUP, TOPOLOGY, None),
    ],
)
def test_what_cannot_be_had_is_a_note(
    path: str, reply: Reply, file: str, note: Note | None, server: ApiServer, config: Path
) -> None:
    """The rest is there all the same. That a cluster has no NodeResourceTopology is told by whoever needs a machine."""
    server.replies[path] = reply
    case = case_of(config)
    assert file not in case.files
    assert len(case.files) == 3
    assert case.about.notes == (() if note is None else (note,))
    assert all(each.code in NOTE_CODES for each in case.about.notes)


def test_an_older_topology_is_taken_where_there_is_no_newer(server: ApiServer, config: Path) -> None:
    server.replies[f"{api_server.TOPOLOGY}/gpu-1"] = refusal(404, "no")
    older = api_server.TOPOLOGY.replace("v1alpha2", "v1alpha1")
    server.replies[f"{older}/gpu-1"] = Reply(body=b'{"kind": "NodeResourceTopology"}')
    assert case_of(config).files[TOPOLOGY] == b'{"kind": "NodeResourceTopology"}'


def test_a_node_that_is_not_ready_says_so(server: ApiServer, config: Path) -> None:
    node = recorded("node.json")
    node["status"]["conditions"][0] |= {"status": "Unknown", "reason": "NodeStatusUnknown"}
    server.replies[api_server.NODE] = Reply(body=json.dumps(node).encode())
    text = "it is not ready (NodeStatusUnknown): what the cluster tells of it may be old"
    assert case_of(config).about.notes == (Note("node-partly-known", "node", text),)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gpu-l", "there is no node gpu-l (did you mean gpu-2 or gpu-1?)"),
        ("worker", "there is no node worker (there are gpu-1, gpu-2)"),
        ("../pods", "../pods: is no name of a node"),
    ],
)
def test_a_node_that_is_not_there_is_told_with_those_that_are(name: str, sentence: str, config: Path) -> None:
    with pytest.raises(InputError) as error:
        case_of(config, name)
    assert sentence in str(error.value)


def test_who_may_not_list_nodes_is_told_which_cluster_was_asked(server: ApiServer, config: Path) -> None:
    server.replies["/api/v1/nodes"] = refusal(403, "no")
    with pytest.raises(ApiServerError, match="there is no node x") as error:
        case_of(config, "x")
    assert error.value.cure == f"asked was context test of {config}; --context names another cluster"


def test_the_rest_is_not_asked_for_where_the_node_may_not_be_read(server: ApiServer, config: Path) -> None:
    server.replies[api_server.NODE] = refusal(403, 'nodes "gpu-1" is forbidden')
    with pytest.raises(ApiServerError, match="is forbidden"):
        case_of(config)
    assert len(server.asked) == 1
