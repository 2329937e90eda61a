"""A control plane of real programs."""

import contextlib
import json
import ssl
import stat
import subprocess

import httpx
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
        name = until("it has a node", 60, lambda: cluster.api.pods()["scheduled"]["spec"].get("nodeName"))
        assert name == "bare"
    finally:
        cluster.api.delete("/api/v1/namespaces/default/pods/scheduled?gracePeriodSeconds=0")
        cluster.api.delete("/api/v1/nodes/bare")


def test_etcd_answers_the_api_server_only(cluster: ControlPlane) -> None:
    """It is above all rights: neither who is on this host nor who has a certificate of the cluster gets in."""
    port = json.loads((cluster.folder / "cluster.json").read_text())["ports"][0]
    pki = cluster.authority.folder
    let_in = set()
    for name, folder in (("nobody", None), ("admin", pki), ("etcd", pki / "etcd")):
        context = ssl.create_default_context(cafile=str(pki / "etcd" / "ca.crt"))
        if folder is not None:
            context.load_cert_chain(str(folder / f"{name}.crt"), str(folder / f"{name}.key"))
        with contextlib.suppress(httpx.TransportError):
            httpx.get(f"https://127.0.0.1:{port}/version", verify=context, trust_env=False)
            let_in.add(name)
    assert let_in == {"etcd"}
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{port}/version", trust_env=False).raise_for_status()


def test_keys_are_read_by_their_owner_only(cluster: ControlPlane) -> None:
    keys = [*cluster.folder.rglob("*.key")]
    assert keys
    assert {stat.S_IMODE(own.stat().st_mode) for own in keys} == {0o600}
    assert stat.S_IMODE(cluster.authority.folder.stat().st_mode) == 0o700
