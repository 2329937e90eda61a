"""A control plane of real programs."""

import subprocess

import pytest

from tests.kube.build import RELEASE
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until

pytestmark = pytest.mark.real

NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "bare"},
    "status": {
        "allocatable": {"cpu": "4", "memory": "4Gi", "pods": "10"},
        "capacity": {"cpu": "4", "memory": "4Gi", "pods": "10"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}


def test_it_is_of_the_release(cluster: ControlPlane) -> None:
    assert (cluster.api.get("/version") or {})["gitVersion"] == RELEASE
    kubectl = [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}", "get", "ns", "-o", "name"]
    told = subprocess.run(kubectl, capture_output=True, text=True, check=True).stdout
    assert "namespace/default" in told


def test_who_has_no_right_is_refused(cluster: ControlPlane) -> None:
    somebody = cluster.api_as("somebody", "somebody")
    try:
        answer = somebody.ask("GET", "/api/v1/nodes")
        assert answer.status_code == 403
        assert 'User "somebody" cannot list resource "nodes"' in answer.json()["message"]
    finally:
        somebody.close()


def test_a_pod_is_scheduled(cluster: ControlPlane) -> None:
    cluster.api.post("/api/v1/nodes", NODE)
    container = {"name": "c", "image": "none:1"}
    tolerations = [{"operator": "Exists"}]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "scheduled"},
        "spec": {"containers": [container], "tolerations": tolerations, "nodeSelector": {}},
    }
    cluster.api.post("/api/v1/namespaces/default/pods", pod)
    try:
        name = until("it has a node", 30, lambda: cluster.api.pods()["scheduled"]["spec"].get("nodeName"))
        assert name == "bare"
    finally:
        cluster.api.delete("/api/v1/namespaces/default/pods/scheduled?gracePeriodSeconds=0")
        cluster.api.delete("/api/v1/nodes/bare")
