"""Each form of a release, on a real API server: what it lets through, and what it refuses."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from numafit.cluster.place.patch import release_patch, scale_patch, ungate_patch, waiting_spec
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until

pytestmark = pytest.mark.real

GATE, OTHER = "numafit.io/place", "example.com/other"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NAMESPACE = "patched"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
POOL = {"key": "pool", "operator": "In", "values": ["gpu"]}
HOSTS = {"a": "host-a", "b": "host-b"}
MOST_NODES = 5_000


@pytest.fixture(scope="module", autouse=True)
def namespace(cluster: ControlPlane) -> Iterator[None]:
    cluster.api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    until("the account is there", 60, lambda: cluster.api.get(account))
    yield
    cluster.api.delete(f"/api/v1/namespaces/{NAMESPACE}")


def gated(cluster: ControlPlane, spec: Json, gates: tuple[str, ...] = (GATE,), **metadata: Any) -> Json:
    name = f"p{len(cluster.api.pods(NAMESPACE))}"
    content = {
        "metadata": {"name": name, **metadata},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": "none:1"}],
            "schedulingGates": [{"name": own} for own in gates],
            **spec,
        },
    }
    return cluster.api.post(PODS, content)


def send(cluster: ControlPlane, pod: Json, patch: bytes) -> httpx.Response:
    return cluster.api.client.patch(
        f"{PODS}/{pod['metadata']['name']}", content=patch, headers={"Content-Type": "application/json-patch+json"}
    )


def release(cluster: ControlPlane, pod: Json, names: list[str], **options: Any) -> httpx.Response:
    annotated = options.get("annotated", "annotations" in pod["metadata"])
    spec = waiting_spec(json.dumps(pod["spec"]).encode())
    return send(cluster, pod, release_patch(spec, pod["metadata"]["uid"], names, HOSTS, annotated=annotated))


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"nodeSelector": {"pool": "gpu"}},
        {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 5, "preference": {"matchExpressions": [POOL]}}]}}},
        {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [POOL]}, {}]}}}},
        {
            "affinity": {
                "podAntiAffinity": {
                    REQUIRED: [{"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "kubernetes.io/hostname"}]
                }
            }
        },
    ],
)
@pytest.mark.parametrize("names", [["a"], ["b", "a"]])
@pytest.mark.parametrize("metadata", [{}, {"annotations": {"theirs": "kept"}}])
def test_a_gated_pod_is_narrowed_and_released_by_one_patch(
    cluster: ControlPlane, spec: Json, names: list[str], metadata: Json
) -> None:
    answer = release(cluster, gated(cluster, spec, **metadata), names)
    assert answer.status_code == 200, answer.text
    pod = answer.json()
    assert "schedulingGates" not in pod["spec"]
    assert pod["metadata"]["annotations"] == {**metadata.get("annotations", {}), "numafit.io/nodes": ",".join(names)}
    assert pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {"nodeSelector": {"pool": "gpu"}}},
        {"spec": {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {"matchFields": []}}]}}}},
        {"metadata": {"annotations": {"theirs": "new"}}},
    ],
)
def test_a_pod_that_was_changed_after_the_decision_is_left_as_it_is(cluster: ControlPlane, change: Json) -> None:
    pod = gated(cluster, {})
    changed = cluster.api.ask("PATCH", f"{PODS}/{pod['metadata']['name']}", change, "application/merge-patch+json")
    assert changed.status_code == 200, changed.text
    answer = release(cluster, pod, ["a"])
    assert answer.status_code == 422, answer.text
    assert cluster.api.pods(NAMESPACE)[pod["metadata"]["name"]]["spec"]["schedulingGates"] == [{"name": GATE}]


def test_a_status_that_was_written_meanwhile_does_not_matter(cluster: ControlPlane) -> None:
    """The scheduler writes a condition of its own at the same moment."""
    pod = gated(cluster, {}, labels={"x": "y"})
    path = f"{PODS}/{pod['metadata']['name']}/status"
    condition = {"type": "numafit.io/Placed", "status": "False", "reason": "Waiting", "message": "it waits"}
    change = {"status": {"conditions": [condition]}}
    written = cluster.api.ask("PATCH", path, change, "application/strategic-merge-patch+json")
    assert written.status_code == 200, written.text
    assert release(cluster, pod, ["a"]).status_code == 200


def test_a_second_release_and_one_of_a_pod_of_the_same_name_change_nothing(cluster: ControlPlane) -> None:
    pod = gated(cluster, {})
    other = {**pod, "metadata": {**pod["metadata"], "uid": "another"}}
    assert release(cluster, other, ["b"]).status_code == 422
    assert release(cluster, pod, ["a"]).status_code == 200
    assert release(cluster, pod, ["b"]).status_code == 422
    pod = {**pod, "metadata": {**pod["metadata"], "name": "never-there"}}
    assert release(cluster, pod, ["a"]).status_code == 404


def test_gates_of_others_stay_when_ours_is_taken_away(cluster: ControlPlane) -> None:
    pod = gated(cluster, {}, (OTHER, GATE))
    answer = send(cluster, pod, ungate_patch([OTHER, GATE], pod["metadata"]["uid"]))
    assert answer.json()["spec"]["schedulingGates"] == [{"name": OTHER}]
    alone = gated(cluster, {})
    assert "schedulingGates" not in send(cluster, alone, ungate_patch([GATE], alone["metadata"]["uid"])).json()["spec"]


@pytest.mark.parametrize(
    "spec",
    [{}, {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [POOL]}, {}]}}}}],
)
@pytest.mark.parametrize("labelled", [True, False])
def test_thousands_of_nodes_can_be_excluded(cluster: ControlPlane, spec: Json, labelled: bool) -> None:
    pod = gated(cluster, spec)
    names = {f"node-{number:04d}.example.com": f"node-{number:04d}" for number in range(MOST_NODES)}
    excluded = names if labelled else dict.fromkeys(names, "")
    read = waiting_spec(json.dumps(pod["spec"]).encode())
    answer = send(cluster, pod, scale_patch(read, pod["metadata"]["uid"], excluded, annotated=False))
    assert answer.status_code == 200, answer.text[:500]
    assert answer.json()["metadata"]["annotations"] == {"numafit.io/scaled": str(MOST_NODES)}
