"""`numafit node-agent` as a process on the node of a real kubelet, and the account that its manifest gives it."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from numafit.cluster.node.manifest import NAME, manifest
from numafit.cluster.topology.model import PATH
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import KubeletNode
from tests.kube.mounts import entered
from tests.kube.processes import free_ports, start, until

NAMESPACE = "numafit"
PLACES = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
}


def agent_account(cluster: ControlPlane, path: Path) -> Path:
    """What the manifest says is applied, but for the DaemonSet; returns a kubeconfig of its service account."""
    text = manifest(NAMESPACE, "none:1")
    for each in yaml.safe_load_all(text):
        if each["kind"] in PLACES:
            place = PLACES[each["kind"]]
            if cluster.api.get(f"{place}/{each['metadata']['name']}") is None:
                cluster.api.post(place, each)
    until("the definition is served", 30, lambda: cluster.api.ask("GET", PATH).is_success)
    kubectl = [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}"]
    checked = [*kubectl, "apply", "--dry-run=server", "--force-conflicts", "--server-side", "-f", "-"]
    done = subprocess.run(checked, input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return account_kubeconfig(cluster, path)


def account_kubeconfig(cluster: ControlPlane, path: Path, **more: Any) -> Path:
    """With a token of the agent's account; `more` may bind it to a node or a pod."""
    spec = {"expirationSeconds": 3600, **more}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    place = f"{PLACES['ServiceAccount']}/{NAME}/token"
    token = cluster.api.post(place, asked)["status"]["token"]
    own = {"server": cluster.server, "certificate-authority": str(cluster.authority.certificate)}
    content = {
        "clusters": [{"name": "c", "cluster": own}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path.write_text(json.dumps(content))
    return path


class Agent:
    """The command itself, on the node that the kubelet is on."""

    def __init__(self, node: KubeletNode, config: Path, *options: str) -> None:
        self.node, self.config, self.options = node, config, options
        self.log = node.folder / "agent.log"
        self.port = free_ports(1)[0]
        self.recordings = node.folder / "recordings"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            *(sys.executable, "-m", "numafit", "node-agent", "--node-name", self.node.name),
            *("--kubeconfig", str(self.config), "--metrics-port", str(self.port)),
            *("--recordings", str(self.recordings), *self.options),
        ]
        self.process = start(entered(self.node.outside.process.pid, self.node.folder / "agent", command), self.log)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def asked(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    def decisions(self) -> dict[str, int]:
        lines = self.asked("/metrics").splitlines()
        found = [line for line in lines if line.startswith("numafit_node_decisions_total")]
        return {line.split('"')[1]: int(float(line.split()[-1])) for line in found}

    def has_decided(self, more_than: int) -> bool:
        return sum(self.decisions().values()) > more_than
