"""Claims of the pods on one node: asked for where a pod has some, with a note where they may not be."""

import json
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main
from numafit.cluster.case.case import CLAIMS
from numafit.cluster.case.fetch import fetched
from numafit.cluster.case.strip import stripped
from numafit.cluster.kube.access import access
from numafit.cluster.kube.client import Client
from tests.cluster.api_server import PODS, ApiServer, Reply, recorded, refusal
from tests.cluster.claims.objects import claim, slice_of

LISTED = "/apis/resource.k8s.io/v1/namespaces/ml/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def with_claims(server: ApiServer) -> str:
    """train-0 has one; its UID."""
    pods = recorded("pods.json")
    pods["items"] = [pod for pod in pods["items"] if pod["spec"]["nodeName"] == "gpu-1"]
    (own,) = [pod for pod in pods["items"] if pod["metadata"]["name"] == "train-0"]
    own["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "train-gpu"}]
    own["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpu"}]
    server.replies[PODS] = Reply(body=json.dumps(pods).encode())
    return str(own["metadata"]["uid"])


def served(*items: dict[str, Any]) -> Reply:
    bare = [{name: value for name, value in item.items() if name not in ("kind", "apiVersion")} for item in items]
    return Reply(body=json.dumps({"kind": "List", "metadata": {}, "items": bare}).encode())


def served_claims(server: ApiServer) -> None:
    uid = with_claims(server)
    server.replies[LISTED] = served(claim("train-gpu", uid, "gpu-3"), claim("other", "another-pod", "gpu-1"))
    server.replies[SLICES] = served(slice_of({"gpu-3": {"resource.kubernetes.io/numaNode": {"int": 1}}}))


def test_nobody_asks_where_no_pod_has_claims(server: ApiServer, config: Path) -> None:
    with Client(access(config, None)) as client:
        assert CLAIMS not in fetched(client, "gpu-1").files
    assert not any("resource.k8s.io" in path for path in server.asked)


def test_claims_of_other_pods_are_left_out(server: ApiServer, config: Path) -> None:
    served_claims(server)
    with Client(access(config, None)) as client:
        case = fetched(client, "gpu-1")
    items = json.loads(case.files[CLAIMS])["items"]
    assert [(item["kind"], item["metadata"]["name"]) for item in items] == [
        ("ResourceClaim", "train-gpu"),
        ("ResourceSlice", "gpu-1-gpu.nvidia.com"),
    ]
    assert any("resourceslices?fieldSelector=spec.nodeName%3Dgpu-1" in path for path in server.asked)


def test_an_older_server_is_asked_for_what_it_knows(server: ApiServer, config: Path) -> None:
    served_claims(server)
    for path in (LISTED, SLICES):
        server.replies[path.replace("/v1/", "/v1beta1/")] = server.replies.pop(path)
    with Client(access(config, None)) as client:
        items = json.loads(fetched(client, "gpu-1").files[CLAIMS])["items"]
    assert {item["apiVersion"] for item in items} == {"resource.k8s.io/v1beta1"}


def test_who_may_not_ask_is_told(server: ApiServer, config: Path) -> None:
    with_claims(server)
    server.replies[LISTED] = refusal(403, "no")
    with Client(access(config, None)) as client:
        case = fetched(client, "gpu-1")
    assert CLAIMS not in case.files
    assert [note.text for note in case.about.notes] == [
        "which devices resource claims (DRA) give to its pods is not known: you may not ask for it (the right is list "
        "on resourceclaims and resourceslices)"
    ]


def test_what_drivers_are_told_is_taken_out(server: ApiServer, config: Path) -> None:
    served_claims(server)
    with_secret = claim("train-gpu", with_claims(server), "gpu-3")
    secret = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": {"token": "secret"}}}]
    with_secret["spec"]["devices"]["config"] = secret
    with_secret["status"]["allocation"]["devices"]["config"] = secret
    with_secret["status"]["devices"] = [{"data": {"token": "secret"}}]
    server.replies[LISTED] = served(with_secret)
    with Client(access(config, None)) as client:
        case = stripped(fetched(client, "gpu-1"))
    assert b"secret" not in case.files[CLAIMS]
    assert case.about.removed["configuration of drivers"] == 2


def test_simulate_tells_where_claims_and_cpus_lie(
    server: ApiServer, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served_claims(server)
    monkeypatch.setenv("KUBECONFIG", str(config))
    machine = ["--machine", "examples/small-node/machine.json"]
    assert main(["simulate", "--node", "gpu-1", *machine, "-o", "json"]) in (0, 1)
    notes = json.loads(capsys.readouterr().out)["notes"]
    (text,) = [note["text"] for note in notes if note["code"] == "claim-not-aligned"]
    assert text == (
        "it has gpu-3 of gpu.nvidia.com on NUMA node 1 by claims, and exclusive CPUs: nobody aligns these, the "
        "Topology Manager does not know claims"
    )
