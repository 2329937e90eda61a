"""Pods that wait on a real control plane: what they are told is true, large ones do not starve, groups start whole."""

import re
import time
from collections.abc import Iterator, Mapping

import pytest

from tests.kube.api import Json
from tests.kube.build import JOBSET, LWS, missing_for_controller
from tests.kube.control_plane import ControlPlane
from tests.kube.controllers import controlling
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

SPACE = "waits"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
SETS = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{SPACE}/jobsets"
LEADERS = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{SPACE}/leaderworkersets"
EVENTS = f"/api/v1/namespaces/{SPACE}/events"
GATE = "numafit.io/place"
MACHINE = "sketch:2 sockets x 8 cores x 2 threads, 32Gi per numa"
"""14 CPUs for pods on the first NUMA node, 16 on the second."""


@pytest.fixture(scope="module")
def fleet(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    define_topologies(cluster)
    make_namespace(cluster, NAMESPACE)
    make_namespace(cluster, SPACE)
    group = {
        "name": "w",
        "count": 2,
        "machine": MACHINE,
        "kubelet": CONFIG,
        "labels": {"pool": "waits"},
        "topology": True,
        "startSeconds": 0.1,
    }
    with simulated(cluster.kubeconfig, tmp_path_factory.mktemp("sim"), [group], "--remove") as own:
        yield cluster
        own.stop()
    forget_webhook(cluster)


@pytest.fixture(scope="module")
def placer(fleet: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlacerProcess]:
    """One that may no more than its manifest says."""
    with allowed_placer(fleet) as kubeconfig, placing(kubeconfig, tmp_path_factory.mktemp("place")) as own:
        yield own


@pytest.fixture(scope="module")
def job_sets(fleet: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Their own controller makes their Jobs."""
    if lacking := missing_for_controller(JOBSET):
        pytest.skip(lacking)
    with controlling(fleet, tmp_path_factory.mktemp("jobset"), JOBSET):
        yield


@pytest.fixture(scope="module")
def leader_sets(fleet: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    if lacking := missing_for_controller(LWS):
        pytest.skip(lacking)
    with controlling(fleet, tmp_path_factory.mktemp("lws"), LWS):
        yield


@pytest.fixture
def empty(fleet: ControlPlane, placer: PlacerProcess) -> Iterator[ControlPlane]:
    yield fleet
    for path in (SETS, LEADERS, JOBS, PODS):
        fleet.api.ask("DELETE", f"{path}?propagationPolicy=Background")
    until("all pods are gone", 60, lambda: not fleet.api.pods(SPACE))
    until("nobody holds anything", 60, lambda: not reported(fleet.api, "w-"))


def make(cluster: ControlPlane, name: str, cpus: int, annotations: Json | None = None) -> None:
    cluster.api.post(PODS, {"metadata": {"name": name, "annotations": annotations or {}}, "spec": aligned(cpus)})


def hold(cluster: ControlPlane, name: str) -> None:
    """12 CPUs; its node has told so, and no other one is counted for it."""
    make(cluster, name, 12)
    until("it runs", 60, lambda: running(cluster, name) == 1)
    uid = cluster.api.pods(SPACE)[name]["metadata"]["uid"]
    until("its node tells so", 60, lambda: uid in reported(cluster.api, "w-"))


def phases(cluster: ControlPlane, prefix: str = "") -> list[str]:
    return [pod["status"]["phase"] for name, pod in cluster.api.pods(SPACE).items() if name.startswith(prefix)]


def running(cluster: ControlPlane, prefix: str = "") -> int:
    return phases(cluster, prefix).count("Running")


def told(cluster: ControlPlane, name: str) -> str:
    """What the condition of a pod that waits says."""
    pod = cluster.api.pods(SPACE).get(name, {"status": {}})
    found = [own for own in pod["status"].get("conditions", ()) if own["type"] == "numafit.io/Placed"]
    return found[0]["message"] if found and found[0]["status"] == "False" else ""


def events_about(cluster: ControlPlane, name: str) -> list[str]:
    events = (cluster.api.get(EVENTS) or {})["items"]
    return [own["message"] for own in events if own["involvedObject"]["name"] == name]


def gated(cluster: ControlPlane, prefix: str) -> int:
    return sum(
        bool(pod["spec"].get("schedulingGates"))
        for name, pod in cluster.api.pods(SPACE).items()
        if name.startswith(prefix)
    )


def test_who_is_told_to_wait_for_an_end_starts_after_it(empty: ControlPlane) -> None:
    """And the event says the same as the condition."""
    for name in ("one", "two", "three", "four"):
        make(empty, name, 12)
    until("the nodes are full", 60, lambda: running(empty) == 4)
    make(empty, "large", 6)
    sentence = until("it is told why", 60, lambda: told(empty, "large"))
    assert sentence.startswith("6 CPUs on one NUMA node: no node has them; 2 nodes would after one pod ends, such as ")
    assert "It would start now with main: cpu 6 -> 4." in sentence
    until("an event says so, too", 60, lambda: told(empty, "large") in events_about(empty, "large"))
    named = re.search(r"such as waits/(\w+)", sentence)
    assert named is not None
    empty.api.delete(f"{PODS}/{named[1]}")
    until("it runs", 60, lambda: running(empty, "large") == 1)
    assert "Failed" not in phases(empty)


def test_the_change_that_it_is_told_lets_it_start(empty: ControlPlane) -> None:
    make(empty, "giant", 20)
    sentence = until("it is told why", 60, lambda: told(empty, "giant"))
    assert sentence == (
        "20 CPUs on one NUMA node: no node could ever have them, even with nobody on it. "
        "It would start now with main: cpu 20 -> 16."
    )
    make(empty, "smaller", 16)
    until("the smaller one runs", 60, lambda: running(empty, "smaller") == 1)
    assert gated(empty, "giant") == 1


def test_a_large_pod_starts_though_small_ones_come_for_ever(empty: ControlPlane, placer: PlacerProcess) -> None:
    """A Job keeps more small pods alive than there is room for; each runs for a few seconds."""
    small = aligned(4)
    small["restartPolicy"] = "Never"
    template = {"metadata": {"annotations": {"numafit.io/run-seconds": "4"}}, "spec": small}
    spec = {"parallelism": 20, "completions": 400, "backoffLimit": 0, "template": template}
    empty.api.post(JOBS, {"metadata": {"name": "small"}, "spec": spec})
    until("the fleet is full of small ones", 60, lambda: running(empty, "small") >= 10)
    make(empty, "large", 14)
    begun = time.monotonic()
    until("a node is kept for it", 60, lambda: placer.metric("numafit_place_reserved_nodes") == 1)
    until("it runs", 90, lambda: running(empty, "large") == 1)
    print(f"the large one ran after {time.monotonic() - begun:.1f} s")
    assert gated(empty, "small") > 0
    until("small ones go on", 60, lambda: running(empty, "small") >= 5)
    assert "Failed" not in phases(empty)


def job(name: str, size: int, cpus: int, annotations: Json) -> Json:
    spec = aligned(cpus)
    spec["restartPolicy"] = "Never"
    template = {"metadata": {"annotations": annotations}, "spec": spec}
    amounts = {"parallelism": size, "completions": size, "completionMode": "Indexed", "backoffLimit": 0}
    return {"metadata": {"name": name}, "spec": {**amounts, "template": template}}


def test_a_job_whose_pods_start_together_starts_whole_or_not_at_all(empty: ControlPlane) -> None:
    """Its size stands in the Job, which the placer reads."""
    hold(empty, "there")
    empty.api.post(JOBS, job("train", 4, 12, {"numafit.io/together": "true"}))
    name = until("its pods are there", 60, lambda: sorted(n for n in empty.api.pods(SPACE) if n.startswith("train")))[0]
    expected = "3 of the 4 pods of group train that start together have room now. 12 CPUs on one node: "
    sentence = until("they are told why", 60, lambda: told(empty, name).startswith(expected) and told(empty, name))
    assert "1 node would after waits/there ends." in sentence
    assert gated(empty, "train") == 4
    # Three of them would have room: somebody else may have it.
    make(empty, "alone", 12)
    until("the other one runs", 60, lambda: running(empty, "alone") == 1)
    for other in ("there", "alone"):
        empty.api.delete(f"{PODS}/{other}")
    until("all of the group run", 60, lambda: running(empty, "train") == 4)
    assert "Failed" not in phases(empty)


def job_set(name: str, jobs: Mapping[str, tuple[int, int]], annotations: Json, **spec: object) -> Json:
    """`jobs`: replicated Job -> how many Jobs of how many pods. Each pod wants 12 CPUs."""
    replicated = [
        {"name": own, "replicas": count, "template": {"spec": job(own, size, 12, annotations)["spec"]}}
        for own, (count, size) in jobs.items()
    ]
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {"replicatedJobs": replicated, **spec},
    }


TOGETHER = {"numafit.io/together": "true"}


@pytest.mark.usefixtures("job_sets")
def test_a_job_set_starts_whole_or_not_at_all_and_so_does_its_next_attempt(empty: ControlPlane) -> None:
    """Its pods are those of two Jobs, and three of four have room."""
    hold(empty, "there")
    own = job_set("train", {"driver": (1, 1), "workers": (1, 3)}, TOGETHER, failurePolicy={"maxRestarts": 1})
    empty.api.post(SETS, own)
    until("its pods are there", 60, lambda: gated(empty, "train") == 4)
    name = min(own for own in empty.api.pods(SPACE) if own.startswith("train"))
    expected = "3 of the 4 pods of group train that start together have room now. 12 CPUs on one node: "
    until("they are told why", 60, lambda: told(empty, name).startswith(expected))
    assert (running(empty, "train"), gated(empty, "train")) == (0, 4)
    empty.api.delete(f"{PODS}/there")
    until("all of it run", 60, lambda: running(empty, "train") == 4)
    # One Job of it fails: its controller makes all of them anew, while somebody else waits for room.
    make(empty, "other", 12)
    until("somebody else waits", 60, lambda: told(empty, "other"))
    driver = next(own for own in empty.api.pods(SPACE) if own.startswith("train-driver"))
    empty.api.delete(f"{PODS}/{driver}")
    until("its next attempt is there", 90, lambda: len(attempt(empty, "train", "1")) == 4)
    until("one of them runs", 90, lambda: running(empty, "other") or "Running" in attempt(empty, "train", "1"))
    if running(empty, "other"):
        assert attempt(empty, "train", "1") == ["Pending"] * 4
        empty.api.delete(f"{PODS}/other")
    until("all of it run again", 90, lambda: attempt(empty, "train", "1") == ["Running"] * 4)


def attempt(cluster: ControlPlane, name: str, number: str) -> list[str]:
    """Phases of the pods of that attempt of a JobSet."""
    wanted = {"jobset.sigs.k8s.io/jobset-name": name, "jobset.sigs.k8s.io/restart-attempt": number}
    pods = cluster.api.pods(SPACE).values()
    return [pod["status"]["phase"] for pod in pods if wanted.items() <= pod["metadata"].get("labels", {}).items()]


@pytest.mark.usefixtures("job_sets")
def test_a_job_set_whose_jobs_wait_for_each_other_is_not_waited_for_as_a_whole(empty: ControlPlane) -> None:
    order = {"startupPolicyOrder": "InOrder"}
    empty.api.post(SETS, job_set("steps", {"driver": (1, 1), "workers": (1, 3)}, TOGETHER, startupPolicy=order))
    until("all of it run", 60, lambda: running(empty, "steps") == 4)


@pytest.mark.usefixtures("job_sets")
def test_a_job_set_with_exclusive_placement_is_not_waited_for_as_a_whole(empty: ControlPlane) -> None:
    """Its webhook refuses a Job's other pods until the first one is bound."""
    own = job_set("apart", {"workers": (2, 2)}, TOGETHER)
    own["metadata"]["annotations"] = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "kubernetes.io/hostname"}
    empty.api.post(SETS, own)
    until("all of it run", 90, lambda: running(empty, "apart") == 4)
    nodes = {(pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"], pod["spec"]["nodeName"])
             for pod in empty.api.pods(SPACE).values()}  # fmt: skip
    assert len(nodes) == len({node for _, node in nodes}) == 2


def test_a_group_that_is_not_complete_waits_and_says_so(empty: ControlPlane) -> None:
    own = {"numafit.io/group": "pair", "numafit.io/group-size": "3"}
    for name in ("p0", "p1"):
        make(empty, name, 2, own)
    sentence = until("it is told why", 60, lambda: told(empty, "p0"))
    assert sentence == "2 of 3 pods of group pair are there; it starts when all are."
    make(empty, "p2", 2, own)
    until("all run", 60, lambda: running(empty, "p") == 3)


def test_two_groups_that_each_need_most_of_the_fleet_start_one_after_the_other(empty: ControlPlane) -> None:
    for group in ("x", "y"):
        own = {"numafit.io/together": "true", "numafit.io/run-seconds": "3"}
        empty.api.post(JOBS, job(group, 3, 12, own))
    until(
        "both have run", 90, lambda: phases(empty, "x").count("Succeeded") + phases(empty, "y").count("Succeeded") == 6
    )
    assert "Failed" not in phases(empty)


@pytest.mark.usefixtures("leader_sets")
def test_a_group_of_a_leader_worker_set_starts_whole_or_not_at_all(empty: ControlPlane) -> None:
    """Nobody says anything but its own controller."""
    hold(empty, "there")
    template = {"size": 4, "workerTemplate": {"spec": aligned(12)}}
    kind = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "lead"}}
    empty.api.post(LEADERS, {**kind, "spec": {"replicas": 1, "leaderWorkerTemplate": template}})
    until("its pods are there", 60, lambda: gated(empty, "lead") == 4)
    expected = "3 of the 4 pods of group lead-0 that start together have room now. 12 CPUs on one node: "
    until("they are told why", 60, lambda: told(empty, "lead-0").startswith(expected))
    assert (running(empty, "lead"), gated(empty, "lead")) == (0, 4)
    empty.api.delete(f"{PODS}/there")
    until("all of it run", 60, lambda: running(empty, "lead") == 4)


def test_a_leader_comes_before_its_workers_where_nobody_can_read_its_set(empty: ControlPlane) -> None:
    """There is no such set: the pods are made as its controller makes them."""
    label = "leaderworkerset.sigs.k8s.io/"
    for index in range(3):
        labels = {f"{label}name": "serve", f"{label}group-index": "0", f"{label}worker-index": str(index)}
        metadata = {"name": f"serve-{index}", "labels": labels, "annotations": {f"{label}size": "3"}}
        empty.api.post(PODS, {"metadata": metadata, "spec": aligned(4)})
        if index == 0:
            until("the leader runs", 60, lambda: running(empty, "serve-0") == 1)
        if index == 1:
            assert "1 of 2 pods of group serve-0 are there" in until("it waits", 60, lambda: told(empty, "serve-1"))
    until("all run", 60, lambda: running(empty, "serve") == 3)
