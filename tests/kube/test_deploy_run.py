"""What the chart starts, started as it says: the command, the account, no root, nothing that can be written."""

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.kube import podlike
from tests.kube.build import binaries, missing, missing_for_helm
from tests.kube.control_plane import ControlPlane
from tests.kube.helm import CHART, IMAGE, RELEASE_NAME, helm, templated
from tests.kube.processes import free_ports, start, stop, until
from tests.kube.simulation import simulated

pytestmark = pytest.mark.real

NAMESPACE = "numafit"
NODES = {
    "name": "node",
    "count": 2,
    "machine": "sketch:2 sockets x 8 cores x 2 threads, 32Gi per numa",
    "kubelet": {
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "single-numa-node",
        "reservedSystemCPUs": "0,1",
    },
    "topology": True,
    "startSeconds": 0.1,
}


class Started:
    """A component."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log

    def ready(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def metrics(self, name: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))


@pytest.fixture(scope="module")
def fleet(short_folder: Path) -> Iterator[ControlPlane]:
    if lacking := missing() or missing_for_helm() or podlike.missing():
        pytest.skip(lacking)
    with ControlPlane(short_folder / "run", binaries()) as own:
        own.api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        done = helm(
            *("install", RELEASE_NAME, str(CHART), f"--namespace={NAMESPACE}", IMAGE, "--set=place.guard=on"),
            *("--set=agent.enabled=false",),
            cluster=own,
        )
        assert done.status == 0, done.text
        # Their pods would only be played, and hold CPUs.
        own.api.delete(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/numafit-place")
        with simulated(own.kubeconfig, short_folder / "nodes", [NODES]):
            yield own


@contextmanager
def placing(cluster: ControlPlane, folder: Path) -> Iterator[Started]:
    """By the chart's own command, on ports that are free; without a network of Services the API server asks by URL."""
    port, metrics = free_ports(2)
    values = {"guard": "on", "port": port, "metricsPort": metrics, "extraArgs": [f"--url=https://127.0.0.1:{port}"]}
    made = templated(f"--set-json=place={json.dumps(values)}")
    (own,) = (each for each in made if each["kind"] == "Deployment")
    spec = own["spec"]["template"]["spec"]
    tokens = podlike.token_folder(cluster, NAMESPACE, spec["serviceAccountName"], folder / "tokens")
    log = folder / "place.log"
    process = start(podlike.in_a_pod(cluster, tokens, spec["containers"][0]["command"]), log)
    component = Started(process, metrics, log)
    try:
        until("it is ready", 60, component.ready)
        yield component
    finally:
        stop(process, 10)


def deployment(cpus: int, replicas: int) -> dict[str, object]:
    container = {"name": "c", "image": "none:1", "resources": {"limits": {"cpu": str(cpus), "memory": "64Mi"}}}
    labels = {"app": "own"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "own"}, "spec": spec}


def phases(cluster: ControlPlane) -> list[str]:
    return [pod["status"]["phase"] for pod in cluster.api.pods().values()]


def test_place_works_as_the_chart_starts_it(fleet: ControlPlane, short_folder: Path) -> None:
    """Twelve CPUs on one NUMA node: each node has room for two such pods. Twenty: no node ever has."""
    api = fleet.api
    api.post("/api/v1/namespaces", {"metadata": {"name": "wide"}})
    with placing(fleet, short_folder) as place:
        api.post("/apis/apps/v1/namespaces/default/deployments", deployment(12, 5))
        until("four run", 60, lambda: phases(fleet).count("Running") == 4)
        api.post("/apis/apps/v1/namespaces/wide/deployments", deployment(20, 1))
        until("two wait", 60, lambda: place.metrics("numafit_place_waiting_pods") == 2)
        until("they were told why", 60, lambda: place.metrics("numafit_place_conditions_total") >= 2)
        assert "Failed" not in phases(fleet)
        assert len(api.pods("wide")) == 1
        assert place.metrics("numafit_guard_enforces") == 1
        assert place.metrics('numafit_api_server_failures_total{status="403"}') == 0, place.log.read_text()
