"""`numafit place` as processes of their own, beside nodes that are simulated and tell how they stand."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.guard.manifest import cluster_rules, own_rules
from numafit.cluster.place.manifest import PlaceManifest
from numafit.cluster.topology.definition import definition
from numafit.cluster.topology.model import PATH
from numafit.document import read_documents
from tests.kube.api import Api, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import free_ports, start, stop, until

NAMESPACE = "numafit"
CONFIG = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "single-numa-node",
    "reservedSystemCPUs": "0,1",
    "cpuManagerReconcilePeriod": "1s",
}
"""Who has gone holds nothing after a second, so that the next test finds the nodes empty."""


class PlacerProcess:
    def __init__(self, kubeconfig: Path, folder: Path, name: str, *more: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"{name}.log"
        self.port, self.metrics_port = free_ports(2)
        self.command = [
            *(sys.executable, "-m", "numafit", "place", f"--kubeconfig={kubeconfig}", f"--identity={name}"),
            *(f"--url=https://127.0.0.1:{self.port}", "--address=127.0.0.1", f"--port={self.port}"),
            *(f"--metrics-port={self.metrics_port}", *more),
        ]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.log.write_text("")
        self.process = start(self.command, self.log)

    def ready(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"it ended: {self.log.read_text()}")
        try:
            return httpx.get(f"http://127.0.0.1:{self.metrics_port}/readyz").is_success
        except httpx.HTTPError:
            return False

    def leads(self) -> bool:
        """It decides, and the API server was told to ask here."""
        applied = "numafit_webhook_configurations_applied_total"
        return self.metric("numafit_place_leader") == 1 and self.metric(applied) > 0

    def metric(self, name: str) -> float:
        """All of that name, summed."""
        text = httpx.get(f"http://127.0.0.1:{self.metrics_port}/metrics").text
        lines = [line for line in text.splitlines() if line.partition("{")[0].partition(" ")[0] == name]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def metric_of(self, name: str, label: str) -> float:
        """Of one label; 0 where there is none."""
        text = httpx.get(f"http://127.0.0.1:{self.metrics_port}/metrics").text
        lines = [line for line in text.splitlines() if line.startswith(f"{name}{{{label}")]
        return sum(float(line.rpartition(" ")[2]) for line in lines)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int | None:
        assert self.process is not None
        stop(self.process, 20)
        return self.process.returncode


@contextmanager
def placing(
    kubeconfig: Path, folder: Path, *more: str, name: str = "one", leads: bool = True
) -> Iterator[PlacerProcess]:
    own = PlacerProcess(kubeconfig, folder, name, *more)
    own.start()
    try:
        until(f"the placer is ready ({own.log})", 60, own.ready)
        until(f"it leads ({own.log})", 60, lambda: own.leads() or not leads)
        yield own
    finally:
        if own.process is not None and own.process.poll() is None:
            own.kill()


def define_topologies(cluster: ControlPlane) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    (own,) = (each.value for each in read_documents(definition()))
    assert isinstance(own, dict)
    if cluster.api.get(f"{path}/{own['metadata']['name']}") is None:
        cluster.api.post(path, own)
    until("the definition is served", 30, lambda: cluster.api.ask("GET", PATH).status_code == 200)


def reported(api: Api, nodes: str | tuple[str, ...] = "") -> set[str]:
    """The UIDs of those who hold something by the reports of the nodes whose names begin so."""
    listed = api.get(PATH) or {"items": []}
    own = [each for each in listed["items"] if each["metadata"]["name"].startswith(nodes)]
    return {holder["uid"] for each in own for holder in each["status"].get("holders", ())}


def make_namespace(cluster: ControlPlane, name: str) -> None:
    if cluster.api.get(f"/api/v1/namespaces/{name}") is None:
        cluster.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    until("the account is there", 30, lambda: cluster.api.get(account))


def forget_webhook(cluster: ControlPlane) -> None:
    path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/numafit-place"
    cluster.api.delete(path)


def aligned(cpus: int, memory: str = "64Mi", **spec: Any) -> Json:
    """A pod's spec: Guaranteed, with whole CPUs."""
    amounts = {"cpu": str(cpus), "memory": memory}
    main = {"name": "main", "image": "none:1", "resources": {"limits": amounts, "requests": amounts}}
    return {"automountServiceAccountToken": False, "containers": [main], **spec}


def replica_set(name: str, replicas: int, spec: Json, labels: Json | None = None) -> Json:
    labels = labels or {"app": name}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
    }


@contextmanager
def allowed_placer(cluster: ControlPlane) -> Iterator[Path]:
    """A kubeconfig of somebody who may do what the manifest says, and nothing else."""
    group = "/apis/rbac.authorization.k8s.io/v1"
    made: list[str] = []
    subject = {"kind": "User", "name": "placer", "apiGroup": "rbac.authorization.k8s.io"}
    more = (cluster_rules(enforce=False), own_rules(enforce=False))
    for own in PlaceManifest(WebhookOptions(NAMESPACE), "none:1", 9468, more_rules=more).rights():
        space = own["metadata"].get("namespace")
        path = f"{group}/namespaces/{space}/{own['kind'].lower()}s" if space else f"{group}/{own['kind'].lower()}s"
        cluster.api.post(path, {**own, "subjects": [subject]} if "subjects" in own else own)
        made.append(f"{path}/{own['metadata']['name']}")
    yield cluster.authority.kubeconfig("placer", cluster.server, "placer")
    for path in made:
        cluster.api.delete(path)
