"""The admission webhook on a real API server: gates are put, and whatever happens to it, pods are created."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numafit.cluster.admission.configuration import API_VERSION, PLURAL
from numafit.cluster.admission.options import WebhookOptions
from tests.kube.admission import GATE, allowed, gate, own_options, running
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until

pytestmark = pytest.mark.real

OWN, WORK = "admission", "admission-work"
LIMITS = {"cpu": "2", "memory": "64Mi"}


@pytest.fixture(scope="module", autouse=True)
def namespaces(cluster: ControlPlane) -> None:
    for name in (OWN, WORK):
        cluster.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        until("the account is there", 30, lambda account=account: cluster.api.get(account))


@pytest.fixture
def options(cluster: ControlPlane) -> Iterator[WebhookOptions]:
    own = own_options(OWN)
    yield own
    cluster.api.delete(f"/apis/{API_VERSION}/{PLURAL}/{own.name}")
    cluster.api.delete(f"/api/v1/namespaces/{OWN}/secrets/{own.secret}")
    for name in (OWN, WORK):
        cluster.api.delete(f"/api/v1/namespaces/{name}/pods?gracePeriodSeconds=0")


@pytest.fixture
def kubeconfig(cluster: ControlPlane, options: WebhookOptions) -> Iterator[Path]:
    with allowed(cluster, options) as found:
        yield found


def pod(name: str = "", limits: Json | None = LIMITS, **spec: Any) -> Json:
    container = {"name": "c", "image": "none:1", "resources": {"limits": limits} if limits else {}}
    content = {"containers": [container], "terminationGracePeriodSeconds": 0, **spec}
    metadata = {"name": name} if name else {"generateName": "p-"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": content}


def create(cluster: ControlPlane, content: Json, namespace: str = WORK) -> list[str]:
    """The gates that it has then."""
    made = cluster.api.post(f"/api/v1/namespaces/{namespace}/pods", content)
    return [own["name"] for own in made["spec"].get("schedulingGates", ())]


def configured(cluster: ControlPlane, options: WebhookOptions) -> Json:
    found = cluster.api.get(f"/apis/{API_VERSION}/{PLURAL}/{options.name}")
    assert found is not None
    webhook: Json = found["webhooks"][0]
    return webhook


def until_gated(cluster: ControlPlane) -> None:
    """API servers read a configuration by and by."""
    until("pods are gated", 10, lambda: create(cluster, pod()) == [GATE])


def test_a_pod_gets_the_gate_once_and_keeps_those_of_others(
    cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path
) -> None:
    with running(kubeconfig, options, gate) as own:
        until_gated(cluster)
        assert create(cluster, pod(schedulingGates=[{"name": "other.io/wait"}])) == ["other.io/wait", GATE]
        assert create(cluster, pod(schedulingGates=[{"name": GATE}])) == [GATE]
        assert create(cluster, pod(schedulingGates=[])) == [GATE]
        assert own.webhook.trouble == ""
        assert (own.webhook.counts.reviews["failed"], own.webhook.counts.reviews["unreadable"]) == (0, 0)
