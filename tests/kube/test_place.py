"""The placer on a real control plane, with the scheduler as it is and simulated kubelets that decide as real ones."""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kube.api import MERGE, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.placing import (
    CONFIG,
    NAMESPACE,
    aligned,
    allowed_placer,
    define_topologies,
    forget_webhook,
    make_namespace,
    placing,
    replica_set,
    reported,
)
from tests.kube.processes import until
from tests.kube.simulation import simulated

pytestmark = pytest.mark.real

SPACE = "placed"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
SETS = f"/apis/apps/v1/namespaces/{SPACE}/replicasets"
ZONES = ("a", "b", "c")
GATE, OTHER_GATE = "numafit.io/place", "example.com/other"
MACHINE = "sketch:2 sockets x 8 cores x 2 threads, 32Gi per numa"
"""14 CPUs for pods on the first NUMA node, 16 on the second."""


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Two nodes in each of three zones."""
    define_topologies(cluster)
    make_namespace(cluster, NAMESPACE)
    make_namespace(cluster, SPACE)
    groups = [
        {
            "name": zone,
            "count": 2,
            "machine": MACHINE,
            "kubelet": CONFIG,
            "labels": {"zone": zone},
            "topology": True,
            "startSeconds": 0.1,
        }
        for zone in ZONES
    ]
    with simulated(cluster.kubeconfig, tmp_path_factory.mktemp("sim"), groups, "--remove") as own:
        yield cluster
        own.stop()
    forget_webhook(cluster)


@pytest.fixture(scope="module")
def allowed(fleet: ControlPlane) -> Iterator[Path]:
    with allowed_placer(fleet) as kubeconfig:
        yield kubeconfig


@pytest.fixture
def empty(fleet: ControlPlane) -> Iterator[ControlPlane]:
    yield fleet
    fleet.api.ask("DELETE", SETS)
    fleet.api.ask("DELETE", PODS)
    until("all pods are gone", 60, lambda: not fleet.api.pods(SPACE))
    until("nobody holds anything", 60, lambda: not reported(fleet.api, tuple(f"{zone}-" for zone in ZONES)))


def running(cluster: ControlPlane, prefix: str = "") -> list[Json]:
    pods = cluster.api.pods(SPACE)
    return [pod for name, pod in pods.items() if name.startswith(prefix) and pod["status"]["phase"] == "Running"]


def failed(cluster: ControlPlane) -> list[Json]:
    """Rejected: one that was deleted has failed for a moment, too."""
    pods = cluster.api.pods(SPACE).values()
    return [pod for pod in pods if pod["status"]["phase"] == "Failed" and "deletionTimestamp" not in pod["metadata"]]


def condition(pod: Json) -> Json:
    found = [own for own in pod["status"].get("conditions", ()) if own["type"] == "numafit.io/Placed"]
    return found[0] if found else {}


def scale(cluster: ControlPlane, name: str, replicas: int) -> None:
    cluster.api.ask("PATCH", f"{SETS}/{name}", {"spec": {"replicas": replicas}}, MERGE)


def test_a_nearly_full_fleet_rejects_nobody_and_who_waits_is_told_why_and_released_in_time(
    empty: ControlPlane, allowed: Path, tmp_path: Path
) -> None:
    """By its sums each node has room for 12 + 12 + 5 CPUs, by its NUMA nodes it has not."""
    api = empty.api
    with placing(allowed, tmp_path) as placer:
        api.post(SETS, replica_set("large", 12, aligned(12)))
        until("the large ones run", 60, lambda: len(running(empty, "large")) == 12)
        api.post(SETS, replica_set("middle", 3, aligned(5)))
        until("three pods wait", 60, lambda: placer.metric("numafit_place_waiting_pods") == 3)
        told = until(
            "they are told why",
            60,
            lambda: [own for name, own in api.pods(SPACE).items() if name.startswith("middle") and condition(own)],
        )
        assert condition(told[0])["reason"] == "Waiting"
        assert "5 CPUs on one NUMA node" in condition(told[0])["message"]
        assert told[0]["spec"]["schedulingGates"] == [{"name": GATE}]
        scale(empty, "large", 11)
        until(
            "two of them run, or all where the larger NUMA node came free",
            60,
            lambda: len(running(empty, "middle")) >= 2,
        )
        scale(empty, "large", 10)
        until("all run", 60, lambda: len(running(empty, "middle")) == 3)
        assert failed(empty) == []
        assert placer.metric("numafit_place_unpredicted_rejections_total") == 0
        assert placer.metric("numafit_place_released_total") == 15
        assert placer.stop() == 0


def test_gates_of_others_selectors_and_terms_of_the_user_are_kept(
    empty: ControlPlane, allowed: Path, tmp_path: Path
) -> None:
    api = empty.api
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b", "c"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    with placing(allowed, tmp_path):
        gated = aligned(4, schedulingGates=[{"name": OTHER_GATE}])
        api.post(PODS, {"metadata": {"name": "gated"}, "spec": gated})
        api.post(PODS, {"metadata": {"name": "chosen"}, "spec": aligned(4, nodeSelector={"zone": "c"})})
        api.post(PODS, {"metadata": {"name": "terms"}, "spec": aligned(4, affinity=affinity)})
        until("two run", 60, lambda: len(running(empty)) == 2)
        pods = api.pods(SPACE)
        assert pods["chosen"]["spec"]["nodeName"].startswith("c")
        assert pods["terms"]["spec"]["nodeName"][0] in "bc"
        (narrowed,) = pods["terms"]["spec"]["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"]
        assert narrowed["matchExpressions"][0] == term["matchExpressions"][0]
        assert [own["name"] for own in pods["gated"]["spec"]["schedulingGates"]] == [OTHER_GATE, GATE]
        change = {"spec": {"schedulingGates": [{"name": GATE}], "nodeSelector": {"zone": "a"}}}
        answer = api.ask("PATCH", f"{PODS}/gated", change, MERGE)
        assert answer.status_code == 200, answer.text
        until("it runs", 60, lambda: len(running(empty, "gated")) == 1)
        assert api.pods(SPACE)["gated"]["spec"]["nodeName"].startswith("a")
        assert failed(empty) == []


def test_pods_that_are_spread_or_apart_are_bound_where_the_scheduler_agrees(
    empty: ControlPlane, allowed: Path, tmp_path: Path
) -> None:
    def spread(key: str, labels: Json, **more: Any) -> Json:
        selector = {"matchLabels": labels}
        return {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector,
            **more,
        }

    def zones(prefix: str) -> Counter[str]:
        return Counter(pod["spec"]["nodeName"][0] for pod in running(empty, prefix))

    api = empty.api
    apart = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "apart"}}}]
    near = [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "near"}}}]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    with placing(allowed, tmp_path) as placer:
        constraints = [spread("zone", {"app": "zoned"})]
        api.post(SETS, replica_set("zoned", 7, aligned(2, topologySpreadConstraints=constraints)))
        constraints = [spread("zone", {"app": "wide"}, minDomains=3)]
        api.post(SETS, replica_set("wide", 7, aligned(2, topologySpreadConstraints=constraints)))
        api.post(SETS, replica_set("apart", 7, aligned(2, affinity={"podAntiAffinity": {required: apart}})))
        api.post(SETS, replica_set("near", 4, aligned(2, affinity={"podAffinity": {required: near}})))
        expected = {"zoned": 7, "wide": 7, "apart": 6, "near": 4}
        until("all run that can", 60, lambda: {name: len(running(empty, name)) for name in expected} == expected)
        assert sorted(zones("zoned").values()) == [2, 2, 3]
        assert sorted(zones("wide").values()) == [2, 2, 3]
        assert len({pod["spec"]["nodeName"] for pod in running(empty, "apart")}) == 6
        assert list(zones("near").values()) == [4]
        assert placer.metric("numafit_place_waiting_pods") == 1
        assert failed(empty) == []


def test_a_pod_goes_to_the_zone_of_its_disk(empty: ControlPlane, allowed: Path, tmp_path: Path) -> None:
    api = empty.api
    rule = {"key": "zone", "operator": "In", "values": ["c"]}
    volume = {
        "metadata": {"name": "disk"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "local": {"path": "/disk"},
            "claimRef": {"namespace": SPACE, "name": "data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}},
            "storageClassName": "",
        },
    }
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "volumeName": "disk",
            "storageClassName": "",
        },
    }
    claims, volumes = f"/api/v1/namespaces/{SPACE}/persistentvolumeclaims", "/api/v1/persistentvolumes"
    api.post(volumes, volume)
    api.post(claims, claim)
    try:
        until("it is bound", 60, lambda: (api.get(f"{claims}/data") or {})["status"].get("phase") == "Bound")
        with placing(allowed, tmp_path, "--names=1"):
            mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
            api.post(PODS, {"metadata": {"name": "disk"}, "spec": aligned(4, volumes=mounted)})
            until("it runs", 60, lambda: len(running(empty)) == 1)
            assert api.pods(SPACE)["disk"]["spec"]["nodeName"].startswith("c")
    finally:
        api.delete(f"{PODS}/disk")
        api.delete(f"{claims}/data")
        api.delete(f"{volumes}/disk")


def test_another_one_goes_on_when_the_leader_is_killed(empty: ControlPlane, allowed: Path, tmp_path: Path) -> None:
    api = empty.api
    with placing(allowed, tmp_path, name="one") as first, placing(allowed, tmp_path, name="two", leads=False) as second:
        api.post(SETS, replica_set("large", 12, aligned(12)))
        until("some were released", 60, lambda: first.metric("numafit_place_released_total") >= 3, pause=0.01)
        first.kill()
        until("the second leads", 60, second.leads)
        # A small one that came past the webhook of the dead would take the place of a large one.
        until("the large ones run", 60, lambda: len(running(empty, "large")) == 12)
        api.post(SETS, replica_set("small", 6, aligned(4)))
        until("all run", 60, lambda: len(running(empty)) == 18)
        assert failed(empty) == []


def test_where_nothing_of_it_runs_pods_are_scheduled_as_ever_and_those_that_waited_can_be_let_go(
    empty: ControlPlane, allowed: Path, tmp_path: Path
) -> None:
    api = empty.api
    with placing(allowed, tmp_path) as placer:
        api.post(PODS, {"metadata": {"name": "hopeless"}, "spec": aligned(20)})
        until("it waits", 60, lambda: placer.metric("numafit_place_waiting_pods") == 1)
        assert placer.stop() == 0
    begun = time.monotonic()
    api.post(PODS, {"metadata": {"name": "free"}, "spec": aligned(4)})
    assert "schedulingGates" not in api.pods(SPACE)["free"]["spec"]
    assert time.monotonic() - begun < 5
    until("it runs", 60, lambda: len(running(empty, "free")) == 1)
    assert api.pods(SPACE)["hopeless"]["spec"]["schedulingGates"] == [{"name": GATE}]
    command = [sys.executable, "-m", "numafit", "place", f"--kubeconfig={allowed}", "--ungate"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "1 pods were released\n"), done.stderr
    until("the kubelet rejects it", 60, lambda: len(failed(empty)) == 1)
