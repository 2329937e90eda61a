"""The controllers of JobSet and LeaderWorkerSet, which are no part of Kubernetes: as programs beside a control plane.

Their definitions and webhooks are those of their modules. The webhooks are asked on loopback, with a certificate of the
cluster's own authority.
"""

import base64
import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import yaml

from tests.kube.api import Json
from tests.kube.build import JOBSET, LWS, binaries
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import free_ports, start, stop, until

CONFIGURATION = {JOBSET: "config.jobset.x-k8s.io/v1alpha1", LWS: "config.lws.x-k8s.io/v1alpha1"}
"""Release -> the API version of its controller's configuration."""
SERVED = {
    JOBSET: "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
    LWS: "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
}
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"


@contextmanager
def controlling(cluster: ControlPlane, folder: Path, release: str) -> Iterator[None]:
    """Its objects are defined, and its controller and webhooks work; afterwards its webhooks are gone, and its
    definitions stay."""
    name = release.partition("-")[0]
    folder.mkdir(parents=True, exist_ok=True)
    own, log = folder / f"{name}.json", folder / f"{name}.log"
    hooks, health = free_ports(2)
    certificates = _certificates(cluster, folder / name)
    own.write_text(json.dumps(_configuration(release, hooks, health, certificates)))
    for definition in _objects(cluster, release, "crd"):
        _define(cluster, definition)
    until("its objects are served", 60, lambda: cluster.api.ask("GET", SERVED[release]).is_success)
    program = binaries(release) / name
    process = start([str(program), f"--config={own}", f"--kubeconfig={cluster.kubeconfig}"], log)
    made: list[str] = []
    try:
        until(f"it is ready ({log})", 60, lambda: _is_ready(process, log, health, hooks))
        for hook in _objects(cluster, release, "webhook"):
            if hook["kind"].endswith("WebhookConfiguration"):
                made.append(_register(cluster, name, hook, hooks))
        yield
    finally:
        for path in made:
            cluster.api.delete(path)
        stop(process)


def _certificates(cluster: ControlPlane, folder: Path) -> Path:
    """A folder with those of a server on loopback."""
    folder.mkdir()
    certificate, key = cluster.authority.issue(folder.name, folder.name, addresses="IP:127.0.0.1")
    (folder / "tls.crt").write_bytes(certificate.read_bytes())
    (folder / "tls.key").write_bytes(key.read_bytes())
    return folder


def _configuration(release: str, hooks: int, health: int, certificates: Path) -> Json:
    return {
        "apiVersion": CONFIGURATION[release],
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "webhook": {"host": "127.0.0.1", "port": hooks, "certDir": str(certificates)},
    }


def _objects(cluster: ControlPlane, release: str, folder: str) -> list[Json]:
    """As its module's own Kustomize folder makes them."""
    command = [str(cluster.binaries / "kubectl"), "kustomize", str(binaries(release).parent / folder)]
    made = subprocess.run(command, capture_output=True, check=True)
    return list(yaml.load_all(made.stdout, Loader=yaml.CSafeLoader))


def _define(cluster: ControlPlane, definition: Json) -> None:
    # There is one version, so nothing is ever converted.
    definition["spec"].pop("conversion", None)
    if cluster.api.get(f"{_DEFINITIONS}/{definition['metadata']['name']}") is None:
        cluster.api.post(_DEFINITIONS, definition)


def _is_ready(process: subprocess.Popen[bytes], log: Path, health: int, hooks: int) -> bool:
    """It says so, and somebody listens where its webhooks are asked."""
    if process.poll() is not None:
        raise AssertionError(f"it ended: {log.read_text()[-2000:]}")
    try:
        with socket.create_connection(("127.0.0.1", hooks), 5):
            return httpx.get(f"http://127.0.0.1:{health}/readyz", trust_env=False).is_success
    except (OSError, httpx.TransportError):
        return False


def _register(cluster: ControlPlane, name: str, configuration: Json, port: int) -> str:
    """Where it is."""
    bundle = base64.b64encode(cluster.authority.certificate.read_bytes()).decode()
    for hook in configuration["webhooks"]:
        path = hook["clientConfig"]["service"]["path"]
        hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{path}", "caBundle": bundle}
    configuration["metadata"] = {"name": f"{name}-{configuration['metadata']['name']}"}
    kind = f"{_WEBHOOKS}/{configuration['kind'].lower()}s"
    cluster.api.post(kind, configuration)
    return f"{kind}/{configuration['metadata']['name']}"
