"""The admission webhook on a real API server: gates are put, and whatever happens to it, pods are created."""

import json
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.admission import store, webhook
from numafit.cluster.admission.configuration import API_VERSION, PLURAL
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.admission.review import AdmittedPod, review_uid
from numafit.cluster.https.messages import ServerAnswer
from numafit.cluster.topology.model import PATH as TOPOLOGIES
from tests.kube.admission import GATE, RunningWebhook, allowed, gate, own_options, removed, running
from tests.kube.api import MERGE, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import free_ports, until
from tests.kube.simulation import simulated
from tests.kube.test_topology import kubectl

pytestmark = pytest.mark.real

OWN, WORK = "admission", "admission-work"
LIMITS = {"cpu": "2", "memory": "64Mi"}


@pytest.fixture(scope="module", autouse=True)
def namespaces(cluster: ControlPlane) -> None:
    for name in (OWN, WORK):
        cluster.api.post("/api/v1/namespaces", {"metadata": {"name": name}})
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        until("the account is there", 60, lambda account=account: cluster.api.get(account))


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
    until("pods are gated", 60, lambda: create(cluster, pod()) == [GATE])


def test_a_pod_gets_the_gate_once_and_keeps_those_of_others(
    cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path
) -> None:
    with running(kubeconfig, options, gate) as own:
        until_gated(cluster)
        assert create(cluster, pod(schedulingGates=[{"name": "other.io/wait"}])) == ["other.io/wait", GATE]
        assert create(cluster, pod(schedulingGates=[{"name": GATE}])) == [GATE]
        assert create(cluster, pod(schedulingGates=[])) == [GATE]
        for _ in range(3):
            own.do(own.webhook._look)
        # What the API server made of it is what was wanted.
        assert (own.webhook.trouble, own.webhook.counts.applied) == ("", 1)
        assert (own.webhook.counts.reviews["failed"], own.webhook.counts.reviews["unreadable"]) == (0, 0)


def test_pods_that_can_never_need_a_gate_are_not_asked_about(
    cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path
) -> None:
    """The API server looks at the conditions itself."""
    daemon = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
    with running(kubeconfig, options, gate) as own:
        until_gated(cluster)
        asked = sum(own.webhook.counts.reviews.values())
        assert create(cluster, pod(limits=None)) == []
        assert create(cluster, pod(nodeName="nowhere")) == []
        owned = pod()
        owned["metadata"]["ownerReferences"] = [daemon]
        assert create(cluster, owned) == []
        assert create(cluster, pod(), OWN) == []
        account = cluster.api.get("/api/v1/namespaces/kube-system/serviceaccounts/default")
        if account is not None:
            assert create(cluster, pod("in-the-system"), "kube-system") == []
            cluster.api.delete("/api/v1/namespaces/kube-system/pods/in-the-system?gracePeriodSeconds=0")
        assert sum(own.webhook.counts.reviews.values()) == asked

        init = {"name": "i", "image": "none:1", "resources": {"limits": LIMITS}}
        assert create(cluster, pod(limits=None, initContainers=[init])) == [GATE]
        assert create(cluster, pod(limits=None, resources={"limits": LIMITS})) == [GATE]


def test_a_namespace_opts_out_and_only_those_that_opt_in_are_in(cluster: ControlPlane) -> None:
    def label(value: str | None) -> None:
        content = {"metadata": {"labels": {"numafit.io/place": value}}}
        assert cluster.api.ask("PATCH", f"/api/v1/namespaces/{WORK}", content, MERGE).is_success

    for opt_in, expected in ((False, (True, False, True)), (True, (False, False, True))):
        options = own_options(OWN, opt_in=opt_in)
        with allowed(cluster, options) as kubeconfig, running(kubeconfig, options, gate) as own:
            for value, gated in zip((None, "disabled", "enabled"), expected, strict=True):
                label(value)
                wanted = [GATE] if gated else []
                until(f"{value} is heard", 60, lambda wanted=wanted: create(cluster, pod()) == wanted)
            own.do(own.webhook.remove)
    label(None)


def test_what_is_removed_is_gone_and_pods_are_created_as_before(
    cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path
) -> None:
    with running(kubeconfig, options, gate):
        until_gated(cluster)
    with running(kubeconfig, options, gate) as own:
        own.do(own.webhook._keeper.remove)
        until("it is put back", 60, lambda: cluster.api.get(f"/apis/{API_VERSION}/{PLURAL}/{options.name}"))
    own = RunningWebhook(kubeconfig, options)
    own.until_ready()
    own.stop()
    # As `--remove` does: nobody runs any more.
    removed(kubeconfig, options)
    assert cluster.api.get(f"/apis/{API_VERSION}/{PLURAL}/{options.name}") is None
    assert cluster.api.get(f"/api/v1/namespaces/{OWN}/secrets/{options.secret}") is None
    until("pods pass", 60, lambda: create(cluster, pod()) == [])


def test_it_fails_open_when_nobody_answers_or_answers_too_late_or_rubbish(
    cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path
) -> None:
    with running(kubeconfig, options, gate):
        until_gated(cluster)
    # It was stopped: the connection is refused.
    assert create(cluster, pod()) == []

    def late(_: object) -> tuple[str, ...]:
        time.sleep(1.5)
        return (GATE,)

    with running(kubeconfig, options, late):
        assert create(cluster, pod()) == []

    answers: list[bytes | None] = []
    with running(kubeconfig, options, gate) as own:
        right = own.webhook.reply
        until_gated(cluster)

        def wrong(path: str, content: bytes) -> ServerAnswer:
            found = answers[0]
            if found is None:
                raise ZeroDivisionError("a bug in the server")
            return ServerAnswer(found.replace(b"UID", review_uid(content).encode()))

        own.webhook.reply = wrong  # type: ignore[method-assign]
        for found in (
            b"",
            b"nonsense",
            b"{}",
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"x","allowed":true}}',
            b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",'
            b'"response":{"uid":"UID","allowed":true,"patchType":"JSONPatch","patch":"bm9uc2Vuc2U="}}',
            None,
        ):
            answers[:] = [found]
            assert create(cluster, pod()) == []
        own.webhook.reply = right  # type: ignore[method-assign]
        assert create(cluster, pod()) == [GATE]


def test_certificates_are_renewed_while_pods_are_created(
    cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No pod passes without its gate, however often."""
    monkeypatch.setattr(webhook, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(webhook, "SETTLE_SECONDS", 1.5)
    monkeypatch.setattr(webhook, "FORGET_SECONDS", 4.5)
    monkeypatch.setattr(store, "BETWEEN_SECONDS", 0.0)
    path = f"/api/v1/namespaces/{OWN}/secrets/{options.secret}"
    with running(kubeconfig, options, gate) as own:
        until_gated(cluster)
        passed, created, shown = 0, 0, set()
        for turn in range(3):
            before = own.webhook._shown
            if turn == 1:
                # Somebody empties the Secret.
                cluster.api.ask("PATCH", path, {"data": dict.fromkeys(("ca.crt", "tls.crt", "tls.key"), "")}, MERGE)
            else:
                own.webhook._store._names = (*options.hosts, f"other-{turn}.svc")
            end = time.monotonic() + 20
            while own.webhook._shown == before and time.monotonic() < end:
                passed += create(cluster, pod()) != [GATE]
                created += 1
            shown.add(own.webhook._shown)
            for _ in range(20):
                passed += create(cluster, pod()) != [GATE]
                created += 1
        assert (passed, len(shown)) == (0, 3)
        assert created > 60
        assert own.webhook.counts.certificates == 4


def test_two_replicas_share_one_secret(cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path) -> None:
    """They begin at the same moment; whoever answers, the API server takes it."""
    (port,) = free_ports(1)
    other = replace(options, port=port)
    first, second = RunningWebhook(kubeconfig, options, gate), RunningWebhook(kubeconfig, other, gate)
    try:
        for own in (first, second):
            own.until_ready()
        assert first.webhook._shown == second.webhook._shown
        assert first.webhook.counts.certificates + second.webhook.counts.certificates == 1
        until_gated(cluster)
        first.stop()
        address = {"webhooks": [{**configured(cluster, options), "clientConfig": {}}]}
        # What a Service does: the same name leads to the other one.
        address["webhooks"][0]["clientConfig"] = {
            **configured(cluster, options)["clientConfig"],
            "url": f"https://127.0.0.1:{port}/pods",
        }
        second._keeps = False
        cluster.api.ask("PATCH", f"/apis/{API_VERSION}/{PLURAL}/{options.name}", address, MERGE)
        until_gated(cluster)
    finally:
        first.stop()
        second.stop()


def test_it_is_reached_by_a_service(cluster: ControlPlane, short_folder: Path) -> None:
    """There is no proxy here, so the Service leads to a name of this host."""
    (port,) = free_ports(1)
    options = WebhookOptions(OWN, "by-service", "", "127.0.0.1", port)
    ports = [{"port": 443, "targetPort": port}]
    service = {"metadata": {"name": options.name}, "spec": {"type": "ExternalName", "externalName": "localhost"}}
    cluster.api.post(f"/api/v1/namespaces/{OWN}/services", {**service, "spec": {**service["spec"], "ports": ports}})
    with allowed(cluster, options) as kubeconfig, running(kubeconfig, options, gate) as own:
        found = configured(cluster, options)["clientConfig"]["service"]
        assert found == {"namespace": OWN, "name": options.name, "path": "/pods", "port": 443}
        # Port 443 of this host is not ours: the configuration names the one that is.
        own._keeps = False
        webhooks = [configured(cluster, options)]
        webhooks[0]["clientConfig"]["service"]["port"] = port
        cluster.api.ask("PATCH", f"/apis/{API_VERSION}/{PLURAL}/{options.name}", {"webhooks": webhooks}, MERGE)
        until_gated(cluster)
        own.do(own.webhook.remove)


def test_a_right_that_is_missing_is_named(cluster: ControlPlane, options: WebhookOptions) -> None:
    nobody = cluster.authority.kubeconfig("nobody", cluster.server, "nobody")
    own = RunningWebhook(nobody, options, gate)
    try:
        until("it says so", 60, lambda: hasattr(own, "webhook") and own.webhook.trouble)
        assert 'User "nobody" cannot get resource "secrets"' in own.webhook.trouble
    finally:
        own.stop()


def test_the_api_server_has_filled_in_what_decides(
    cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path
) -> None:
    """Requests from limits, the priority of a class, the overhead of a runtime, defaults of a namespace (1.36)."""
    seen: list[AdmittedPod] = []

    def look(own: AdmittedPod) -> tuple[str, ...]:
        seen.append(own)
        return (GATE,)

    cluster.api.post("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "high"}, "value": 7000})
    runtime = {"metadata": {"name": "boxed"}, "handler": "boxed", "overhead": {"podFixed": {"cpu": "1"}}}
    cluster.api.post("/apis/node.k8s.io/v1/runtimeclasses", runtime)
    limit = {"metadata": {"name": "usual"}, "spec": {"limits": [{"type": "Container", "default": {"memory": "96Mi"}}]}}
    cluster.api.post(f"/api/v1/namespaces/{WORK}/limitranges", limit)
    try:
        with running(kubeconfig, options, look):
            until_gated(cluster)
            seen.clear()
            create(cluster, pod(limits={"cpu": "2"}, priorityClassName="high", runtimeClassName="boxed"))
        (own,) = seen
        spec = json.loads(bytes(own.spec))
        amounts = {"cpu": "2", "memory": "96Mi"}
        assert spec["containers"][0]["resources"] == {"limits": amounts, "requests": amounts}
        assert (spec["priority"], spec["overhead"]) == (7000, {"cpu": "1"})
        assert own.scheduler == "default-scheduler"
    finally:
        cluster.api.delete(f"/api/v1/namespaces/{WORK}/limitranges/usual")
        cluster.api.delete("/apis/node.k8s.io/v1/runtimeclasses/boxed")
        cluster.api.delete("/apis/scheduling.k8s.io/v1/priorityclasses/high")


def test_a_dry_run_is_asked_about_and_stores_nothing(
    cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path
) -> None:
    with running(kubeconfig, options, gate):
        until_gated(cluster)
        made = cluster.api.post(f"/api/v1/namespaces/{WORK}/pods?dryRun=All", pod("dry"))
        assert made["spec"]["schedulingGates"] == [{"name": GATE}]
        assert "dry" not in cluster.api.pods(WORK)


def test_it_goes_with_its_namespace(cluster: ControlPlane) -> None:
    """So that nobody is asked in vain who took numafit away by that."""
    cluster.api.post("/api/v1/namespaces", {"metadata": {"name": "admission-gone"}})
    options = own_options("admission-gone")
    with allowed(cluster, options, "gone") as kubeconfig, running(kubeconfig, options, gate):
        configured(cluster, options)
    cluster.api.delete("/api/v1/namespaces/admission-gone")
    path = f"/apis/{API_VERSION}/{PLURAL}/{options.name}"
    until("the configuration is gone", 60, lambda: cluster.api.get(path) is None)


def test_it_is_asked_again_where_another_one_changed_the_pod_after_it(
    cluster: ControlPlane, options: WebhookOptions, kubeconfig: Path
) -> None:
    """And adds nothing twice."""
    later = replace(own_options(OWN), name=f"{options.name}-z")
    with (
        running(kubeconfig, options, gate) as own,
        allowed(cluster, later, "later") as other,
        running(other, later, lambda pod: ("other.io/wait",)) as second,
    ):
        both = [GATE, "other.io/wait"]
        until("both are asked", 60, lambda: create(cluster, pod()) == both)
        before = dict(own.webhook.counts.reviews)
        assert create(cluster, pod()) == both
        after = own.webhook.counts.reviews
        assert (after["gated"] - before["gated"], after["passed"] - before["passed"]) == (1, 1)
        second.do(second.webhook.remove)


def test_pods_are_gated_where_a_node_may_refuse_them_and_nowhere_else(
    cluster: ControlPlane, options: WebhookOptions, short_folder: Path
) -> None:
    """Two pools of simulated nodes: one aligns, the other shares everything."""
    definition = files("numafit.cluster.topology").joinpath("nodetopologies.yaml")
    kubectl(cluster, "apply", "-f", str(definition))
    until("it is served", 60, lambda: cluster.api.ask("GET", TOPOLOGIES).status_code == 200)
    strict = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "single-numa-node", "reservedSystemCPUs": "0"}
    machine = "sketch:2 sockets x 4 cores x 2 threads, 16Gi per numa"
    groups = [
        {"name": name, "count": 1, "machine": machine, "kubelet": config, "topology": True, "labels": {"pool": name}}
        for name, config in (("aligned", strict), ("shared", {}))
    ]
    burstable = pod()
    burstable["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "4"}, "requests": {"cpu": "2"}}
    with (
        simulated(cluster.kubeconfig, short_folder / "gated", groups, "--remove") as sim,
        running(cluster.kubeconfig, options, places=True),
    ):
        until_gated(cluster)
        assert create(cluster, pod(nodeSelector={"pool": "aligned"})) == [GATE]
        assert create(cluster, pod(nodeSelector={"pool": "shared"})) == []
        assert create(cluster, pod(limits={"cpu": "500m", "memory": "64Mi"})) == []
        assert create(cluster, burstable) == []
        # No node has so many CPUs, and each may refuse nine of them on one NUMA node.
        assert create(cluster, pod(limits={"cpu": "40", "memory": "64Mi"})) == []
        assert create(cluster, pod(limits={"cpu": "9", "memory": "64Mi"})) == [GATE]
        sim.stop()
