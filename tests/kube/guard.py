"""`numafit guard` as a process with the rights that its manifest gives it, and owners whose pods nobody can take."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.guard.manifest import guard_manifest
from numafit.cluster.guard.words import ANCHOR, HOLD_POLICY, JOB_POLICY, MEMORY
from numafit.cluster.live.words import GUARD, HOLD_GATE
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.counted.owners import OWNER
from tests.kube.processes import free_ports, start, stop, until

NAMESPACE = "numafit"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
BINDING = f"{ADMISSION}/mutatingadmissionpolicybindings/{HOLD_POLICY}"
MEMORY_PATH = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{MEMORY}"
TOLD, UNTOLD = "told", "untold"
"""Pools of nodes: with a NodeTopology, and without."""
KUBELET = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "single-numa-node",
    "reservedSystemCPUs": "0",
    "cpuManagerReconcilePeriod": "1s",
}
MACHINE = "sketch:2 sockets x 8 cores, 64Gi per numa"
GROUPS: list[Json] = [
    {
        "name": f"guard-{pool}",
        "count": 2,
        "machine": MACHINE,
        "kubelet": KUBELET,
        "labels": {"pool": pool},
        "topology": pool == TOLD,
        "startSeconds": 0.2,
    }
    for pool in (TOLD, UNTOLD)
]
WIDE = 12
"""CPUs: a node has 15 free, and no NUMA node more than 8."""


def install(cluster: ControlPlane, path: Path, webhook: WebhookOptions | None = None) -> Path:
    """All of the manifest but its Deployment; a kubeconfig of the guard's account."""
    text = guard_manifest(NAMESPACE, "none:1", enforce=True, jobs=True, webhook=webhook)
    objects = [own for own in yaml.safe_load_all(text) if own["kind"] != "Deployment"]
    applied(cluster, yaml.safe_dump_all(objects))
    checked = subprocess.run(
        [*kubectl(cluster), "apply", "--dry-run=server", "-f", "-"],
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr.decode()
    return account(cluster, path)


def kubectl(cluster: ControlPlane) -> list[str]:
    return [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}"]


def applied(cluster: ControlPlane, text: str) -> None:
    done = subprocess.run(
        [*kubectl(cluster), "apply", "-f", "-"], input=text.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def uninstall(cluster: ControlPlane) -> None:
    for kind, name in (
        ("mutatingadmissionpolicybindings", HOLD_POLICY),
        ("mutatingadmissionpolicybindings", ANCHOR),
        ("mutatingadmissionpolicybindings", JOB_POLICY),
        ("mutatingadmissionpolicies", HOLD_POLICY),
        ("mutatingadmissionpolicies", JOB_POLICY),
        *(("validatingadmissionpolicybindings", name) for name in (GUARD, f"{GUARD}-offers")),
        *(("validatingadmissionpolicies", name) for name in (GUARD, f"{GUARD}-offers")),
    ):
        cluster.api.delete(f"{ADMISSION}/{kind}/{name}")
    cluster.api.delete(MEMORY_PATH)


def account(cluster: ControlPlane, path: Path) -> Path:
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    place = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{GUARD}/token"
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


class GuardProcess:
    def __init__(self, kubeconfig: Path, folder: Path, *options: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log, self.port, self.options = folder / "guard.log", free_ports(1)[0], options
        self.kubeconfig = kubeconfig
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        command = [sys.executable, "-m", "numafit", "guard", f"--kubeconfig={self.kubeconfig}"]
        self.process = start([*command, f"--metrics-port={self.port}", *self.options], self.log)
        until("the guard acts", 60, self._acts)

    def _acts(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return "numafit_guard_leads 1" in self.asked("/metrics") and self.asked("/readyz") == "ok\n"
        except urllib.error.URLError:
            return False

    def asked(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
            return text

    def metric(self, name: str) -> float:
        lines = [line for line in self.asked("/metrics").splitlines() if line.startswith(name)]
        return sum(float(line.split()[-1]) for line in lines)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int | None:
        stop(self.process, 20)
        return self.process.returncode


@contextmanager
def guarding(kubeconfig: Path, folder: Path, *options: str) -> Iterator[GuardProcess]:
    own = GuardProcess(kubeconfig, folder, *options)
    own.start()
    try:
        yield own
    finally:
        if own.process.poll() is None and own.stop() is None:
            own.kill()


def template(owner: str, cpus: int, pool: str, **spec: object) -> Json:
    amounts = {"cpu": str(cpus), "memory": "64Mi"}
    container = {"name": "c", "image": "none:1", "resources": {"requests": amounts, "limits": amounts}}
    own = {
        "containers": [container],
        "nodeSelector": {"pool": pool},
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        **spec,
    }
    return {"metadata": {"labels": {OWNER: owner}}, "spec": own}


def make(
    cluster: ControlPlane, kind: str, name: str, space: str, cpus: int = WIDE, pool: str = TOLD, **spec: object
) -> None:
    group = "batch" if kind == "jobs" else "apps"
    own: Json = {"template": template(name, cpus, pool)}
    if kind == "jobs":
        own["template"]["spec"]["restartPolicy"] = "Never"
    else:
        own["selector"] = {"matchLabels": {OWNER: name}}
    if kind == "statefulsets":
        own["serviceName"] = "none"
    own |= spec
    cluster.api.post(f"/apis/{group}/v1/namespaces/{space}/{kind}", {"metadata": {"name": name}, "spec": own})


def make_space(cluster: ControlPlane, name: str, **labels: str) -> None:
    cluster.api.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    until("its account is there", 30, lambda: cluster.api.get(f"/api/v1/namespaces/{name}/serviceaccounts/default"))


def gated(cluster: ControlPlane, space: str) -> list[str]:
    pods = cluster.api.pods(space)
    return [
        name
        for name, pod in pods.items()
        if any(gate["name"] == HOLD_GATE for gate in pod["spec"].get("schedulingGates") or ())
    ]


def events(cluster: ControlPlane, space: str) -> list[tuple[str, str, str]]:
    """Kind of what it is about, reason, message; those of the guard."""
    found = (cluster.api.get(f"/api/v1/namespaces/{space}/events") or {"items": []})["items"]
    return [
        (own["involvedObject"]["kind"], own["reason"], own["message"])
        for own in found
        if own.get("source", {}).get("component") == GUARD
    ]


def memory(cluster: ControlPlane) -> dict[str, str]:
    found = cluster.api.get(MEMORY_PATH) or {}
    return found.get("data") or {}
