"""`numafit place --scale` on a real control plane: Jobs whose pods wait for a node that comes later, or come back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.placing import (
    CONFIG,
    NAMESPACE,
    PlacerProcess,
    aligned,
    allowed_placer,
    define_topologies,
    forget_webhook,
    make_namespace,
    placing,
    reported,
)
from tests.kube.processes import until
from tests.kube.simulation import simulated

pytestmark = pytest.mark.real

SPACE = "scaled"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
EVENTS = f"/api/v1/namespaces/{SPACE}/events"
MACHINE = "sketch:2 sockets x 8 cores x 2 threads, 32Gi per numa"
"""14 CPUs for pods on the first NUMA node, 16 on the second."""
IGNORED = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def group(name: str) -> Json:
    return {"name": name, "count": 1, "machine": MACHINE, "kubelet": CONFIG, "topology": True, "startSeconds": 0.1}


@pytest.fixture(scope="module")
def placer(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlacerProcess]:
    """One that may no more than its manifest says, and one node."""
    define_topologies(cluster)
    make_namespace(cluster, NAMESPACE)
    make_namespace(cluster, SPACE)
    with simulated(cluster.kubeconfig, tmp_path_factory.mktemp("sim"), [group("known")], "--remove") as own:
        folder = tmp_path_factory.mktemp("place")
        with allowed_placer(cluster) as kubeconfig, placing(kubeconfig, folder, "--scale") as placer:
            yield placer
        own.stop()
    forget_webhook(cluster)


@pytest.fixture
def full(cluster: ControlPlane, placer: PlacerProcess) -> Iterator[ControlPlane]:
    """Two pods hold 12 CPUs of each NUMA node."""
    for name in ("one", "two"):
        cluster.api.post(PODS, {"metadata": {"name": name}, "spec": aligned(12)})
    until("they run", 60, lambda: [pod["status"]["phase"] for pod in pods(cluster).values()] == ["Running"] * 2)
    yield cluster
    for path in (JOBS, PODS):
        cluster.api.ask("DELETE", f"{path}?propagationPolicy=Background")
    until("all pods are gone", 60, lambda: not pods(cluster))
    until("nobody holds anything", 60, lambda: not reported(cluster.api, "known-"))


def pods(cluster: ControlPlane, prefix: str = "") -> dict[str, Json]:
    return {name: pod for name, pod in cluster.api.pods(SPACE).items() if name.startswith(prefix)}


def make_job(cluster: ControlPlane, name: str, annotations: dict[str, str] | None = None, **spec: object) -> None:
    template = {"metadata": {"annotations": annotations or {}}, "spec": aligned(12, restartPolicy="Never")}
    spec = {"backoffLimit": 0, "template": template, **spec}
    cluster.api.post(JOBS, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})


def gated(cluster: ControlPlane, prefix: str) -> list[bool]:
    return [bool(pod["spec"].get("schedulingGates")) for pod in pods(cluster, prefix).values()]


def nodes_of(cluster: ControlPlane, prefix: str) -> list[str]:
    """Where they run."""
    own = pods(cluster, prefix).values()
    return [pod["spec"]["nodeName"] for pod in own if pod["status"]["phase"] == "Running"]


def reasons(cluster: ControlPlane, prefix: str) -> set[str]:
    events = (cluster.api.get(EVENTS) or {"items": []})["items"]
    return {own["reason"] for own in events if own["involvedObject"]["name"].startswith(prefix)}


def said(cluster: ControlPlane, prefix: str) -> str:
    (pod,) = pods(cluster, prefix).values()
    found = [own["message"] for own in pod["status"].get("conditions", ()) if own["type"] == "numafit.io/Placed"]
    return found[0] if found else ""


def failures(cluster: ControlPlane, job: str) -> int:
    found: int = cluster.api.get(f"{JOBS}/{job}")["status"].get("failed", 0)  # type: ignore[index]
    return found


def test_pods_of_jobs_are_released_for_the_node_that_comes_later_but_for_one_whose_maker_keeps_it(
    full: ControlPlane, tmp_path: Path
) -> None:
    make_job(full, "plain")
    make_job(full, "kept", {"numafit.io/scale": "false"})
    until("it is released", 60, lambda: gated(full, "plain-") == [False])
    (pod,) = pods(full, "plain-").values()
    assert pod["metadata"]["annotations"]["numafit.io/scaled"] == "1"
    until("no autoscaler sees the other", 60, lambda: "No autoscaler sees it" in said(full, "kept-"))
    until("the event says that no node has come", 120, lambda: "NotBound" in reasons(full, "plain-"))
    assert gated(full, "kept-") == [True]
    with simulated(full.kubeconfig, tmp_path / "late", [group("late")], "--remove") as late:
        until("it runs there", 60, lambda: nodes_of(full, "plain-") == ["late-0"])
        until("and so does the other", 60, lambda: nodes_of(full, "kept-") == ["late-0"])
        assert list(pods(full, "plain-")) == [pod["metadata"]["name"]]
        full.api.ask("DELETE", f"{JOBS}?propagationPolicy=Background")
        until("they are gone", 60, lambda: not pods(full, "plain-") and not pods(full, "kept-"))
        late.stop()


def test_a_jobs_pod_comes_back_when_a_known_node_comes_free_and_its_job_does_not_count_it(full: ControlPlane) -> None:
    make_job(full, "forgiving", podFailurePolicy=IGNORED)
    until("it is released", 60, lambda: gated(full, "forgiving-") == [False])
    (first,) = pods(full, "forgiving-")
    full.api.delete(f"{PODS}/one")
    # A minute until it is deleted, and twenty seconds until Kubernetes has called it failed.
    until("another one runs there", 180, lambda: nodes_of(full, "forgiving-") == ["known-0"])
    assert first not in pods(full, "forgiving-")
    assert "Replaced" in reasons(full, first)
    assert failures(full, "forgiving") == 0
