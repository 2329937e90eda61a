"""The loop guard on a real control plane, with the rights of its manifest and RBAC on."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.guard.guard import GuardOptions
from numafit.cluster.guard.service import WebhookPlace, guard_webhook
from numafit.cluster.live.words import NODES_ANNOTATION
from numafit.cluster.place.manifest import PlaceManifest
from tests.kube.api import MERGE, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.counted.watched import Watched
from tests.kube.guard import (
    BINDING,
    GROUPS,
    MEMORY_PATH,
    NAMESPACE,
    TOLD,
    UNTOLD,
    WIDE,
    GuardProcess,
    applied,
    events,
    gated,
    guarding,
    install,
    kubectl,
    make,
    make_space,
    memory,
    template,
    uninstall,
)
from tests.kube.processes import free_ports, until
from tests.kube.simulation import simulated

pytestmark = pytest.mark.real

ENFORCE = "--enforce"


@pytest.fixture(scope="module")
def kubeconfig(cluster: ControlPlane, short_folder: Path) -> Iterator[Path]:
    """Of the guard's account; nodes that are all simulated."""
    found = install(cluster, short_folder / "guard.kubeconfig")
    with simulated(cluster.kubeconfig, short_folder / "guard-sim", GROUPS, "--remove") as nodes:
        yield found
        nodes.stop()
    uninstall(cluster)


@pytest.fixture
def space(cluster: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"guard-{abs(hash(request.node.name)) % 10**6}"
    make_space(cluster, name)
    yield name
    remove(cluster, name)


def remove(cluster: ControlPlane, name: str) -> None:
    cluster.api.delete(f"/api/v1/namespaces/{name}")
    until("its pods are gone", 60, lambda: not cluster.api.pods(name))


def watched(cluster: ControlPlane, space: str) -> Watched:
    own = Watched(cluster.kubeconfig, space)
    own.start()
    assert own.ready.wait(30)
    return own


def forbidden(guard: GuardProcess) -> float:
    return guard.metric('numafit_api_server_failures_total{status="403"}')


OWNERS = ("replicasets", "statefulsets", "jobs", "daemonsets")


def make_owners(cluster: ControlPlane, space: str) -> None:
    for kind in OWNERS:
        make(cluster, kind, kind, space)
    bare = template("bare", WIDE, TOLD, restartPolicy="Never")
    bare["metadata"]["name"] = "bare"
    cluster.api.post(f"/api/v1/namespaces/{space}/pods", bare)


def test_a_looping_owner_makes_at_most_four_pods(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    """Of one replica. Beside the same owners in a namespace that is not guarded, in one run. Whoever waits by himself,
    or is made once, is explained and left alone."""
    stock = f"{space}-stock"
    make_space(cluster, stock, **{"numafit.io/guard": "disabled"})
    with guarding(kubeconfig, tmp_path, ENFORCE) as guard:
        counts = {own: watched(cluster, own) for own in (stock, space)}
        for own in counts:
            make_owners(cluster, own)
        until("both that loop are held", 90, lambda: len(gated(cluster, space)) == 2)
        # and stay so, while the others make pods many times a second
        time.sleep(5)
        made = {own: {kind: count.count(kind).made for kind in (*OWNERS, "bare")} for own, count in counts.items()}
        print("pods made until five seconds after the hold:", json.dumps(made))
        for own in counts.values():
            own.stop()
        for kind in ("replicasets", "statefulsets"):
            assert made[space][kind] == 4, made
            assert made[stock][kind] > made[space][kind], made
        for kind in ("jobs", "daemonsets", "bare"):
            assert 1 <= made[space][kind] <= made[stock][kind] + 2, made
        assert len(gated(cluster, space)) == 2
        assert gated(cluster, stock) == []
        until(
            "all is told",
            60,
            lambda: told_to(cluster, space) >= {"Pod", "ReplicaSet", "StatefulSet", "Job", "DaemonSet"},
        )
        assert events(cluster, stock) == []
        told = {own[:2]: own[2] for own in events(cluster, space)}
        text = told["ReplicaSet", "KubeletRejected"]
        assert "at most 8 CPUs can be had on one node" in text, text
        assert "no node could ever have them" in text, text
        assert forbidden(guard) == 0
        remove(cluster, stock)


def test_of_many_replicas_each_is_rejected_once_and_then_all_wait(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    """What was made before the first rejection cannot be held any more; of what comes after it two are let go before
    there is a loop, and a few are made before each API server knows. All others wait, and nothing else is made."""
    replicas = 6
    with guarding(kubeconfig, tmp_path, ENFORCE) as guard:
        count = watched(cluster, space)
        make(cluster, "replicasets", "many", space, replicas=replicas)
        until("all are held", 90, lambda: len(gated(cluster, space)) == replicas)
        time.sleep(5)
        found = count.count("many")
        count.stop()
        print(f"{replicas} replicas: {found.made} made, {found.rejected} rejected")
        assert found.made == found.rejected + replicas
        assert replicas <= found.rejected <= 2 * replicas
        assert guard.metric("numafit_guard_unheld_pods_total ") == 0


def test_when_there_is_room_for_many_the_others_follow_the_first_one_that_runs(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    """Of nodes that nobody reports patience alone finds out: one is tried, and for each one that runs two follow. None
    of them waits for patience of its own, and none is rejected."""
    make_holders(cluster, space, UNTOLD)
    with guarding(kubeconfig, tmp_path, ENFORCE) as guard:
        count = watched(cluster, space)
        make(cluster, "replicasets", "many", space, cpus=4, pool=UNTOLD, replicas=4)
        until("all are held", 90, lambda: len(gated(cluster, space)) == 4)
        before = count.count("many").rejected
        for node, index in ((0, 0), (0, 1), (1, 0), (1, 1)):
            cluster.api.delete(f"/api/v1/namespaces/{space}/pods/holder-{node}-{index}?gracePeriodSeconds=0")
        until("all run", 90, lambda: count.count("many").running == 4)
        count.stop()
        assert count.count("many").rejected == before
        assert guard.metric('numafit_guard_released_pods_total{by="running"}') >= 2
        until("the hold is over", 60, lambda: guard.metric("numafit_guard_holds ") == 0)


def told_to(cluster: ControlPlane, space: str) -> set[str]:
    return {kind for kind, _, _ in events(cluster, space)}


def test_the_deployment_behind_a_replica_set_is_told(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    with guarding(kubeconfig, tmp_path, ENFORCE):
        make(cluster, "deployments", "wide", space)
        until("it is told", 60, lambda: ("Deployment", "LoopHeld") in {own[:2] for own in events(cluster, space)})


def make_holders(cluster: ControlPlane, space: str, pool: str) -> None:
    """Two on each node, one on each of its NUMA nodes: 3 of 8 CPUs are left there, and once 2."""
    for node in (0, 1):
        for index in (0, 1):
            own = template("holder", 5, pool, nodeName=f"guard-{pool}-{node}")
            own["metadata"]["name"] = f"holder-{node}-{index}"
            cluster.api.post(f"/api/v1/namespaces/{space}/pods", own)
    until("they run", 60, lambda: all(pod["status"]["phase"] == "Running" for pod in cluster.api.pods(space).values()))


def test_a_held_pod_goes_where_a_holder_has_ended(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    """The sum of each node says that there is room; the engine finds a node only when a holder has gone."""
    make_holders(cluster, space, TOLD)
    with guarding(kubeconfig, tmp_path, ENFORCE) as guard:
        count = watched(cluster, space)
        make(cluster, "replicasets", "needs", space, cpus=4)
        until("it is held", 60, lambda: len(gated(cluster, space)) == 1 and guard.metric("numafit_guard_holds ") == 1)
        time.sleep(12)
        assert count.count("needs").made == 4
        cluster.api.delete(f"/api/v1/namespaces/{space}/pods/holder-1-0")
        until("it runs", 60, lambda: count.count("needs").running == 1)
        count.stop()
        assert count.count("needs").made == 4
        (pod,) = (pod for pod in cluster.api.pods(space).values() if "numafit.io/nodes" in annotations(pod))
        assert pod["spec"]["nodeName"] == f"guard-{TOLD}-1"
        until("the hold is over", 60, lambda: guard.metric("numafit_guard_holds ") == 0)
        until("nothing is remembered", 60, lambda: set(memory(cluster)) <= {"enabled", "until"})
        assert forbidden(guard) == 0


def test_beside_the_policies_of_the_placer_a_held_pod_is_told_why_and_steered(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    """Those refuse the annotation with the nodes from whoever has no right to write it."""
    made = []
    for own in PlaceManifest(WebhookOptions(NAMESPACE), "none:1", 9468).objects():
        if own["kind"].startswith("ValidatingAdmissionPolicy"):
            applied(cluster, yaml.safe_dump(own))
            made.append(f"{own['kind'].lower()}/{own['metadata']['name']}")
    try:
        make_holders(cluster, space, TOLD)
        forged = template("forged", 1, TOLD)
        forged["metadata"] |= {"name": "forged", "annotations": {NODES_ANNOTATION: f"guard-{TOLD}-0"}}
        path = f"/api/v1/namespaces/{space}/pods"
        until("it is refused", 60, lambda: cluster.api.ask("POST", f"{path}?dryRun=All", forged).status_code == 422)
        with guarding(kubeconfig, tmp_path, ENFORCE) as guard:
            count = watched(cluster, space)
            make(cluster, "replicasets", "needs", space, cpus=4)
            until("it is told why", 60, lambda: any(placed(pod) for pod in cluster.api.pods(space).values()))
            (name,) = gated(cluster, space)
            told = placed(cluster.api.pods(space)[name])
            assert (told["status"], told["reason"]) == ("False", "Held")
            assert "pods of ReplicaSet needs were rejected" in told["message"]
            assert "4 CPUs" in told["message"]
            until("an event tells it", 60, lambda: ("Pod", "LoopHeld") in {own[:2] for own in events(cluster, space)})
            cluster.api.delete(f"{path}/holder-1-0?gracePeriodSeconds=0")
            until("it runs", 60, lambda: count.count("needs").running == 1)
            count.stop()
            assert count.count("needs").made == 4
            pod = cluster.api.pods(space)[name]
            assert pod["spec"]["nodeName"] == annotations(pod)[NODES_ANNOTATION] == f"guard-{TOLD}-1"
            assert annotations(pod)["numafit.io/held"] == f"by numafit guard: ConfigMap {NAMESPACE}/numafit-guard"
            assert annotations(pod)["numafit.io/released"].endswith("a node can take it")
            until("it is told", 60, lambda: placed(cluster.api.pods(space)[name])["reason"] == "Released")
            assert guard.metric('numafit_api_server_failures_total{status="422"}') == 0
            assert forbidden(guard) == 0
    finally:
        for each in made:
            subprocess.run([*kubectl(cluster), "delete", each], check=False)


def placed(pod: Json) -> Json:
    """The condition that tells why it waits; empty where there is none."""
    return next((own for own in pod["status"].get("conditions") or () if own["type"] == "numafit.io/Placed"), {})


def annotations(pod: Json) -> Json:
    found: Json = pod["metadata"].get("annotations") or {}
    return found


def test_old_rejected_pods_are_removed_and_no_others(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    """A loop that ran before there was a guard; beside it pods of the same owner that failed by themselves."""
    make(cluster, "replicasets", "wide", space, pool=UNTOLD)
    until("many were rejected", 60, lambda: len(cluster.api.pods(space)) > 12)
    ended = template("ended", 1, UNTOLD, restartPolicy="Never")
    ended["metadata"]["annotations"] = {"numafit.io/run-seconds": "0.1", "numafit.io/exit-code": "1"}
    for number in range(5):
        ended["metadata"]["name"] = f"ended-{number}"
        cluster.api.post(f"/api/v1/namespaces/{space}/pods", ended)
    with guarding(kubeconfig, tmp_path, ENFORCE) as guard:
        until("three are left", 60, lambda: len(rejected(cluster, space)) <= 3 and gated(cluster, space))
        newest = sorted(pod["metadata"]["creationTimestamp"] for pod in rejected(cluster, space))
        assert len(newest) == 3
        assert guard.metric("numafit_guard_removed_pods_total") >= 9
        failed = [name for name, pod in cluster.api.pods(space).items() if pod["status"].get("reason") is None]
        assert sorted(name for name in failed if name.startswith("ended")) == [f"ended-{number}" for number in range(5)]
        assert forbidden(guard) == 0


def rejected(cluster: ControlPlane, space: str) -> list[Json]:
    return [pod for pod in cluster.api.pods(space).values() if pod["status"].get("reason") == "TopologyAffinityError"]


def test_a_dry_run_tells_and_changes_nothing(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    before = memory(cluster)
    with guarding(kubeconfig, tmp_path) as guard:
        make(cluster, "replicasets", "wide", space)
        until("it would be held", 60, lambda: "WouldBeLoopHeld" in {reason for _, reason, _ in events(cluster, space)})
        until("the loop goes on", 60, lambda: len(cluster.api.pods(space)) > 8)
        assert gated(cluster, space) == []
        assert guard.metric("numafit_guard_removed_pods_total") == 0
        # One that would be over by now comes again with the next rejections.
        until("it counts as a hold", 60, lambda: guard.metric("numafit_guard_holds ") == 1)
        assert memory(cluster) == before


def test_a_killed_guard_goes_on_where_it_was(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    """Its holds, its tries and its patience are in the ConfigMap."""
    with guarding(kubeconfig, tmp_path, ENFORCE, "--identity=same") as guard:
        count = watched(cluster, space)
        make(cluster, "replicasets", "wide", space, pool=UNTOLD)
        until("one try has failed", 60, lambda: any('"tries":1' in text for text in memory(cluster).values()))
        (own,) = (text for text in memory(cluster).values() if "tries" in text)
        until("the next pod waits", 60, lambda: gated(cluster, space))
        guard.kill()
        begun = time.monotonic()
        time.sleep(3)
        assert count.count("wide").made == 5, "the policy holds while nobody is there"
        guard.start()
        assert [text for text in memory(cluster).values() if "tries" in text] == [own]
        until("the second try has failed", 60, lambda: any('"tries":2' in text for text in memory(cluster).values()))
        assert time.monotonic() - begun > 8, "twenty seconds from the first, and not at once"
        until("the next pod waits", 60, lambda: count.count("wide").made == 6 and gated(cluster, space))
        count.stop()
        assert forbidden(guard) == 0
        assert guard.stop() == 0
        assert gated(cluster, space) == [], "the last guard to end leaves nothing held"


@pytest.mark.parametrize("switch", ["enabled", "binding"])
def test_the_switch_releases_everything(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path, switch: str
) -> None:
    with guarding(kubeconfig, tmp_path, ENFORCE) as guard:
        make(cluster, "replicasets", "wide", space)
        until("it is held", 60, lambda: len(gated(cluster, space)) == 1 and guard.metric("numafit_guard_holds ") == 1)
        before = cluster.api.get(BINDING)
        assert before is not None
        if switch == "enabled":
            assert cluster.api.ask("PATCH", MEMORY_PATH, {"data": {"enabled": "false"}}, MERGE).is_success
        else:
            cluster.api.delete(BINDING)
        until("nothing is held", 60, lambda: not gated(cluster, space))
        until("the owner makes pods as ever", 60, lambda: len(cluster.api.pods(space)) > 10)
        assert gated(cluster, space) == []
        assert guard.metric("numafit_guard_on ") == 0
        if switch == "enabled":
            assert cluster.api.ask("PATCH", MEMORY_PATH, {"data": {"enabled": "true"}}, MERGE).is_success
        else:
            metadata = {"name": before["metadata"]["name"]}
            kind = {"apiVersion": before["apiVersion"], "kind": before["kind"]}
            cluster.api.post(BINDING.rpartition("/")[0], {**kind, "metadata": metadata, "spec": before["spec"]})
        # Another one: a policy that sees what was there before the switch would hold the first.
        make(cluster, "statefulsets", "other", space)
        until("both are held", 60, lambda: len(gated(cluster, space)) == 2)


def test_a_webhook_holds_where_no_policy_does(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    """Also while the binding of the policy is not there."""
    (port,) = free_ports(1)
    url = f"https://127.0.0.1:{port}"
    webhook = guard_webhook(GuardOptions(by_policy=False), WebhookPlace("127.0.0.1", port, url))
    own = install(cluster, tmp_path / "webhook.kubeconfig", webhook)
    cluster.api.delete(BINDING)
    try:
        with guarding(
            own, tmp_path, ENFORCE, "--by=webhook", f"--url={url}", f"--port={port}", "--address=127.0.0.1"
        ) as guard:
            count = watched(cluster, space)
            for kind in ("replicasets", "statefulsets", "jobs"):
                make(cluster, kind, kind, space)
            until("both that loop are held", 90, lambda: len(gated(cluster, space)) == 2)
            time.sleep(5)
            count.stop()
            made = {kind: count.count(kind).made for kind in OWNERS}
            assert made["replicasets"] == made["statefulsets"] == 4, made
            (first, second) = (cluster.api.pods(space)[name] for name in gated(cluster, space))
            assert "numafit.io/held" in annotations(first)
            assert "numafit.io/held" in annotations(second)
            assert forbidden(guard) == 0
    finally:
        cluster.api.delete("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/numafit-guard")
        install(cluster, tmp_path / "again.kubeconfig")


def test_a_policy_without_a_guard_that_lives_holds_nobody(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    """A killed guard cannot take its word back; the time of the request is enough."""
    with guarding(kubeconfig, tmp_path, ENFORCE) as guard:
        make(cluster, "replicasets", "wide", space, pool=UNTOLD)
        until("it is held", 60, lambda: len(gated(cluster, space)) == 1 and guard.metric("numafit_guard_holds ") == 1)
        guard.kill()
    past = {"data": {"until": "2020-01-01T00:00:00Z"}}
    assert cluster.api.ask("PATCH", MEMORY_PATH, past, MERGE).is_success
    (held,) = gated(cluster, space)
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/{held}")
    until("pods are made as on a stock cluster", 60, lambda: len(cluster.api.pods(space)) > 10)
    assert gated(cluster, space) == []


def test_a_job_may_ignore_what_no_kubelet_took_in(
    cluster: ControlPlane, kubeconfig: Path, space: str, tmp_path: Path
) -> None:
    ignore = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    make(cluster, "jobs", "wide", space, podFailurePolicy=ignore, backoffLimit=0)
    until("two were rejected", 60, lambda: len(rejected(cluster, space)) == 2)
    status = (cluster.api.get(f"/apis/batch/v1/namespaces/{space}/jobs/wide") or {})["status"]
    assert "failed" not in status, status
    assert "conditions" not in status, status
    (condition,) = rejected(cluster, space)[0]["status"]["conditions"]
    assert (condition["type"], condition["reason"]) == ("DisruptionTarget", "KubeletRejection")
