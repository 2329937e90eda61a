"""The extender with a real kube-scheduler and simulated kubelets: nobody is rejected, and nobody waits for it."""

import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import yaml

from numafit.cluster.extender.second import second_scheduler
from numafit.cluster.extender.texts import TEXTS
from numafit.cluster.topology.model import PATH
from numafit.managers.protocol import TOPOLOGY_AFFINITY
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.extended import NAME, ExtenderProcess, Nuisance, printed, scheduler
from tests.kube.processes import start, stop, until
from tests.kube.simulation import simulated

pytestmark = pytest.mark.real

NAMESPACE = "extended"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
GPU = "nvidia.com/gpu"
NODES = 4
POLICY = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "restricted",
    "topologyManagerScope": "pod",
    "reservedSystemCPUs": "0",
}
GROUP: Json = {
    "name": "aligned",
    "count": NODES,
    "machine": "gpu8-128cpu",
    "kubelet": POLICY,
    "startSeconds": 0.2,
    "labels": {"pool": "aligned"},
    "topology": True,
}


def pod_object(name: str, gpus: int, cpus: int = 4, seconds: float = 0, **spec: object) -> Json:
    amounts = {"cpu": str(cpus), "memory": "1Gi", **({GPU: str(gpus)} if gpus else {})}
    container = {"name": "c", "image": "none:1", "resources": {"requests": amounts, "limits": amounts}}
    metadata: Json = {"name": name}
    if seconds:
        metadata["annotations"] = {"numafit.io/run-seconds": str(seconds)}
    own = {
        "containers": [container],
        "schedulerName": NAME,
        "nodeSelector": {"pool": "aligned"},
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "restartPolicy": "Never",
    }
    return {"metadata": metadata, "spec": {**own, **spec}}


class Fleet:
    def __init__(self, cluster: ControlPlane, folder: Path) -> None:
        self.cluster, self.api, self.folder = cluster, cluster.api, folder

    def make(self, *pods: Json) -> None:
        for pod in pods:
            self.api.post(PODS, pod)

    def delete(self, name: str) -> None:
        self.api.delete(f"{PODS}/{name}?gracePeriodSeconds=0")

    def phases(self) -> dict[str, str]:
        return {name: pod["status"].get("phase", "") for name, pod in self.api.pods(NAMESPACE).items()}

    def running(self, *names: str) -> bool:
        phases = self.phases()
        return all(phases.get(name) == "Running" for name in names)

    def scheduled(self, name: str) -> Json:
        """The condition that says why not."""
        conditions = self.api.pods(NAMESPACE)[name]["status"].get("conditions", ())
        return next((own for own in conditions if own["type"] == "PodScheduled"), {})

    def waits(self, name: str) -> bool:
        return bool(self.scheduled(name).get("status") == "False")

    def events(self, name: str) -> list[str]:
        found = self.api.get(f"/api/v1/namespaces/{NAMESPACE}/events?fieldSelector=involvedObject.name%3D{name}")
        assert found is not None
        return [own["message"] for own in found["items"] if own["reason"] == "FailedScheduling"]


@pytest.fixture(scope="module")
def nodes(cluster: ControlPlane, short_folder: Path) -> Iterator[ControlPlane]:
    definition = [sys.executable, "-m", "numafit", "kubelet-sim", "--definition"]
    text = subprocess.run(definition, capture_output=True, check=True).stdout
    kubectl = [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}", "apply", "-f", "-"]
    subprocess.run(kubectl, input=text, check=True, capture_output=True)
    cluster.api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    with simulated(cluster.kubeconfig, short_folder / "extended", [GROUP], "--remove") as sim:
        yield cluster
        sim.stop()


@pytest.fixture
def fleet(nodes: ControlPlane, tmp_path: Path) -> Iterator[Fleet]:
    yield Fleet(nodes, tmp_path)
    nodes.api.ask("DELETE", f"{PODS}?gracePeriodSeconds=0")
    until("the pods are gone", 60, lambda: not nodes.api.pods(NAMESPACE))


@pytest.fixture
def extender(fleet: Fleet) -> Iterator[ExtenderProcess]:
    with (
        ExtenderProcess(fleet.cluster.kubeconfig, fleet.folder) as own,
        scheduler(fleet.cluster, fleet.folder, [f"--url=http://127.0.0.1:{own.port}"]),
    ):
        yield own


def traps() -> list[Json]:
    """Three GPUs on each NUMA node of all nodes but one are held: two are free there, and nobody can have both."""
    return [pod_object(f"held-{node}-{side}", 3, 24) for node in range(NODES - 1) for side in (0, 1)]


def test_on_a_nearly_full_fleet_nobody_is_rejected_and_who_waits_comes_when_there_is_room(
    fleet: Fleet, extender: ExtenderProcess
) -> None:
    """The stock scheduler sends a pod with two GPUs to a node that has one on each side; its kubelet rejects it."""
    held = traps()
    fleet.make(*held)
    until("all holders run", 60, lambda: fleet.running(*(own["metadata"]["name"] for own in held)))
    wanted = [f"pair-{index}" for index in range(6)]
    fleet.make(*(pod_object(name, 2, 8) for name in wanted))
    until("four fit on the last node", 60, lambda: list(fleet.phases().values()).count("Running") == len(held) + 4)
    waiting = [name for name in wanted if fleet.phases()[name] == "Pending"]
    until("the others wait", 60, lambda: all(fleet.waits(name) for name in waiting))
    assert len(waiting) == 2
    assert "Failed" not in fleet.phases().values()
    # At first some nodes may be promised to the others.
    told = f"{NODES - 1} {TEXTS[TOPOLOGY_AFFINITY]}"
    until("it is told why", 60, lambda: told in fleet.scheduled(waiting[0])["message"])
    assert any(TEXTS[TOPOLOGY_AFFINITY] in own for own in fleet.events(waiting[0]))
    # Two holders of one node end: both that wait fit there.
    pods = fleet.api.pods(NAMESPACE)
    node = pods["held-0-0"]["spec"]["nodeName"]
    on_it = [name for name, pod in pods.items() if pod["spec"].get("nodeName") == node]
    for name in on_it:
        fleet.delete(name)
    until("they run", 60, lambda: fleet.running(*waiting))
    assert "Failed" not in fleet.phases().values()
    assert extender.counted('filtered_total{answer="offered"}') >= len(held) + len(wanted)
    assert extender.counted('filtered_total{answer="failed"}') == 0


def test_a_burst_of_pods_that_come_and_go_is_never_rejected(fleet: Fleet, extender: ExtenderProcess) -> None:
    """More than fit at once, of several shapes: whoever is promised to a node is counted there at once."""
    shapes = ((1, 4), (2, 8), (3, 16), (4, 20), (0, 10))
    names = []
    for index in range(100):
        gpus, cpus = shapes[index % len(shapes)]
        names.append(f"burst-{index}")
        fleet.make(pod_object(names[-1], gpus, cpus, seconds=0.5))
    until("all have ended", 240, lambda: all(fleet.phases()[name] in ("Succeeded", "Failed") for name in names), 0.5)
    assert set(fleet.phases().values()) == {"Succeeded"}
    assert extender.counted("offers") == 0


def test_preemption_is_not_confused(fleet: Fleet, extender: ExtenderProcess) -> None:
    """With FailedNodes the default preemption would complain about each node that it found no victim (1.36)."""
    held = traps()
    fleet.make(*held)
    until("all holders run", 60, lambda: fleet.running(*(own["metadata"]["name"] for own in held)))
    fleet.make(pod_object("last", 4, 24))
    until("it runs", 60, lambda: fleet.running("last"))
    path = "/apis/scheduling.k8s.io/v1/priorityclasses"
    if fleet.api.get(f"{path}/first") is None:
        fleet.api.post(path, {"metadata": {"name": "first"}, "value": 1000})
    fleet.make(pod_object("important", 2, 8, priorityClassName="first", affinity=_not_on(fleet, "last")))
    until("it waits", 60, lambda: fleet.waits("important"))
    until("there is an event", 60, lambda: fleet.events("important"))
    texts = [fleet.scheduled("important")["message"], *fleet.events("important")]
    assert all("expected at least one victim" not in own for own in texts)
    assert any("Preemption is not helpful" in own for own in texts)
    assert set(fleet.phases().values()) == {"Running", "Pending"}
    assert len(fleet.phases()) == len(held) + 2


def _not_on(fleet: Fleet, name: str) -> Json:
    node = fleet.api.pods(NAMESPACE)[name]["spec"]["nodeName"]
    term = {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": [node]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def test_an_offer_that_ends_is_told_to_who_waits_for_it(fleet: Fleet) -> None:
    """By the extender, unless some change of the cluster has made the scheduler try it again before."""
    until("nobody holds anything", 60, lambda: not _held(fleet))
    with (
        ExtenderProcess(fleet.cluster.kubeconfig, fleet.folder, "--offer-seconds=3") as own,
        scheduler(fleet.cluster, fleet.folder, [f"--url=http://127.0.0.1:{own.port}"]),
    ):
        for index in range(NODES):
            # Asked by somebody who never binds it.
            _ask(own, pod_object(f"ghost-{index}", 8, 126), f"ghost-{index}")
        fleet.make(pod_object("real", 4, 60))
        until("it waits", 60, lambda: fleet.waits("real"))
        until("it runs", 60, lambda: fleet.running("real"))
        assert own.counted("expired_total") >= 1


def _held(fleet: Fleet) -> list[str]:
    listed = fleet.api.get(PATH) or {"items": []}
    holders = (own for each in listed["items"] for own in each["status"].get("holders", ()))
    return [own["uid"] for own in holders if not own.get("gone")]


def _ask(own: ExtenderProcess, pod: Json, uid: str) -> None:
    pod = {**pod, "metadata": {**pod["metadata"], "namespace": NAMESPACE, "uid": uid}}
    args = {"Pod": pod, "NodeNames": [f"aligned-{index}" for index in range(NODES)]}
    answer = httpx.post(f"http://127.0.0.1:{own.port}/filter", json=args, trust_env=False).json()
    assert len(answer["NodeNames"]) == 1


def test_over_https_only_who_has_a_certificate_is_answered(fleet: Fleet) -> None:
    authority = fleet.cluster.authority
    shown = authority.issue("extender", "extender", addresses="IP:127.0.0.1")
    own_pair = authority.issue("asking", "asking")
    files = [f"--certificate={shown[0]}", f"--key={shown[1]}", f"--client-ca={authority.certificate}"]
    tls = [f"--authority={authority.certificate}", f"--client-certificate={own_pair[0]}", f"--client-key={own_pair[1]}"]
    with (
        ExtenderProcess(fleet.cluster.kubeconfig, fleet.folder, *files) as own,
        scheduler(fleet.cluster, fleet.folder, [f"--url=https://127.0.0.1:{own.port}", *tls]),
    ):
        fleet.make(pod_object("secure", 2, 8))
        until("it runs", 60, lambda: fleet.running("secure"))
        assert own.counted('filtered_total{answer="offered"}') == 1
        trusting = ssl.create_default_context(cafile=str(authority.certificate))
        with pytest.raises(httpx.HTTPError):
            httpx.post(f"https://127.0.0.1:{own.port}/filter", json={}, verify=trusting, trust_env=False)
        assert own.stop() == 0


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(None, id="hangs"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nrubbish", id="rubbish"),
        pytest.param(b'HTTP/1.1 200 OK\r\nContent-Length: 23\r\n\r\n{"NodeNames":["nobody"]}', id="a node of nobody"),
        pytest.param(b"HTTP/1.1 500 no\r\nContent-Length: 0\r\n\r\n", id="an error"),
    ],
)
def test_with_an_extender_that_is_ill_pods_are_scheduled_as_without(fleet: Fleet, words: bytes | None) -> None:
    ill = Nuisance(words)
    asking = [f"--url=http://127.0.0.1:{ill.port}", "--timeout=0.5"]
    with closing(ill), scheduler(fleet.cluster, fleet.folder, asking):
        fleet.make(*(pod_object(f"anyway-{index}", 1) for index in range(3)))
        until("they run", 60, lambda: fleet.running(*(f"anyway-{index}" for index in range(3))))
        assert ill.asked >= 3


def test_an_extender_that_is_killed_and_started_again_changes_nothing_but_the_wisdom(fleet: Fleet) -> None:
    with (
        ExtenderProcess(fleet.cluster.kubeconfig, fleet.folder) as own,
        scheduler(fleet.cluster, fleet.folder, [f"--url=http://127.0.0.1:{own.port}"]),
    ):
        fleet.make(pod_object("before", 2, 8))
        until("it runs", 60, lambda: fleet.running("before"))
        own.kill()
        fleet.make(pod_object("meanwhile", 1))
        until("it runs", 60, lambda: fleet.running("meanwhile"))
        own.start()
        fleet.make(pod_object("after", 2, 8))
        until("it runs", 60, lambda: fleet.running("after"))
        assert own.counted('filtered_total{answer="offered"}') == 1


def test_a_second_scheduler_has_all_rights_that_it_needs(fleet: Fleet) -> None:
    """Everything of the manifest but the pod itself: its two programs run with the token of its account."""
    cluster, folder = fleet.cluster, fleet.folder
    text = second_scheduler(NAME, NAMESPACE, "example.com/kube-scheduler:v1.36.4", "example.com/numafit:1")
    objects = [own for own in yaml.safe_load_all(text) if own["kind"] != "Deployment"]
    kubectl = [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}"]
    for words, content in (
        (["apply", "--dry-run=server", "-f", "-"], text),
        (["apply", "-f", "-"], yaml.safe_dump_all(objects)),
    ):
        done = subprocess.run([*kubectl, *words], input=content, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = cluster.api.post(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}/token", asked)["status"]["token"]
    access = folder / "account.yaml"
    access.write_text(yaml.safe_dump(_kubeconfig(cluster, token)))
    found = cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}")
    assert found is not None
    own = ExtenderProcess(access, folder)
    own.start()
    config = yaml.safe_load(found["data"]["config.yaml"])
    config["clientConnection"] = {"kubeconfig": str(access)}
    config["extenders"][0]["urlPrefix"] = f"http://127.0.0.1:{own.port}"
    file, log = folder / "second.yaml", folder / "second.log"
    file.write_text(yaml.safe_dump(config))
    process = start([str(cluster.programs["kube-scheduler"]), f"--config={file}", "--secure-port=0"], log)
    try:
        fleet.make(pod_object("second", 2, 8))
        until("it runs", 60, lambda: fleet.running("second"))
        assert own.counted('filtered_total{answer="offered"}') == 1
        assert "forbidden" not in log.read_text()
        assert "forbidden" not in own.log.read_text()
    finally:
        stop(process)
        own.kill()
        for each in objects:
            if each["kind"] != "Namespace":
                subprocess.run([*kubectl, "delete", "-f", "-"], input=yaml.safe_dump(each), text=True, check=False)


def _kubeconfig(cluster: ControlPlane, token: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "c",
                "cluster": {"server": cluster.server, "certificate-authority": str(cluster.authority.certificate)},
            }
        ],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }


def test_the_default_is_an_extender_on_the_host_of_the_scheduler() -> None:
    assert printed()["extenders"][0]["urlPrefix"] == "http://127.0.0.1:9444"
