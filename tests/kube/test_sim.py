"""Simulated kubelets on a real control plane, and beside a real kubelet of the same machine with the same pods."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.kube.api import STRATEGIC, Json
from tests.kube.build import KUBELETS, missing_for_kubelets
from tests.kube.captured import ARCHIVE, CONFIG
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import POD, KubeletNode
from tests.kube.processes import until
from tests.kube.simulation import GPU, SimProcess, allowed_simulator, simulated

pytestmark = pytest.mark.real

NAMESPACE = "simulated"
STATE = ("cpu_manager_state", "memory_manager_state")
NORMAL = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"[a-z]+://[0-9a-z]+"), "ID"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UID"),
    (re.compile(f"_(default|{NAMESPACE})"), "_NAMESPACE"),
)


@pytest.fixture
def namespace(cluster: ControlPlane) -> None:
    if cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}") is None:
        cluster.api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    until("the account is there", 60, lambda: cluster.api.get(account))


def container(name: str, limits: Json | None = None, requests: Json | None = None, **more: Any) -> Json:
    resources = {kind: own for kind, own in (("limits", limits), ("requests", requests)) if own}
    return {"name": name, "image": "none:1", "imagePullPolicy": "Never", "resources": resources, **more}


def pod(name: str, *containers: Json, annotations: Mapping[str, str] | None = None, **spec: Any) -> Json:
    metadata = {"name": name, "annotations": dict(annotations or {})}
    content = {**POD, "containers": list(containers), **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": content}


def amounts(cpu: str, **more: str) -> Json:
    return {"cpu": cpu, "memory": "64Mi", **{name.replace("gpu", GPU): amount for name, amount in more.items()}}


class Twins:
    """A real and a simulated node that get the same pods, in two namespaces."""

    def __init__(self, node: KubeletNode, sim: SimProcess) -> None:
        self.node, self.sim, self.api = node, sim, node.api

    def add(self, own: Json, **spec: Any) -> None:
        for place, name in (("default", self.node.name), (NAMESPACE, "simulated")):
            content = {**own, "spec": {"nodeName": name, **own["spec"], **spec}}
            if "nodeName" in spec:
                content["spec"] = {
                    **content["spec"],
                    "nodeName": None,
                    "nodeSelector": {"kubernetes.io/hostname": name},
                }
            self.api.post(f"/api/v1/namespaces/{place}/pods", content)

    def pods(self, place: str) -> dict[str, Json]:
        return self.api.pods(place)

    def same(self, name: str, settled: Callable[[Json], bool], seconds: float = 30) -> Json:
        """Both have the same status once it is settled, as the kubelet then has it."""

        def found(place: str) -> Json | None:
            own = self.pods(place).get(name)
            return own["status"] if own is not None and settled(own["status"]) else None

        real = until(f"{name} of the kubelet", seconds, lambda: found("default"))
        simulated = until(f"{name} of the simulation", seconds, lambda: found(NAMESPACE))
        expected, actual = normal(real), normal(simulated)
        assert actual == expected
        return real

    def remove(self, name: str) -> None:
        for place in ("default", NAMESPACE):
            self.api.delete(f"/api/v1/namespaces/{place}/pods/{name}")
        until(f"{name} is gone", 60, lambda: all(name not in self.pods(place) for place in ("default", NAMESPACE)))

    def resize(self, name: str, container: str, resources: Json) -> None:
        content = {"spec": {"containers": [{"name": container, "resources": resources}]}}
        for place in ("default", NAMESPACE):
            path = f"/api/v1/namespaces/{place}/pods/{name}/resize"
            assert self.api.ask("PATCH", path, content, STRATEGIC).status_code == 200

    def state(self) -> tuple[Json, Json]:
        names = {
            place: {own["metadata"]["uid"]: name for name, own in self.pods(place).items()}
            for place in ("default", NAMESPACE)
        }
        real = {name: content for name, content in self.node.state_files().items() if name in STATE}
        folder = self.sim.state / "simulated"
        own = {name: json.loads((folder / name).read_text()) for name in STATE}
        return _named(real, names["default"]), _named(own, names[NAMESPACE])


def _named(files: Json, names: Mapping[str, str]) -> Json:
    """With names in the place of UIDs, of which a checksum is made."""
    found = {}
    for name, content in files.items():
        entries = {names.get(uid, uid): own for uid, own in (content.get("entries") or {}).items()}
        found[name] = {**content, "entries": entries, "checksum": 0}
    return found


def normal(status: Json) -> Json:
    """Without times, ids and addresses, and without what a kubelet reads back from a cgroup."""
    left = {
        name: own for name, own in status.items() if name not in ("hostIP", "hostIPs", "podIP", "podIPs", "resources")
    }
    text = json.dumps(left, sort_keys=True)
    for pattern, word in NORMAL:
        text = pattern.sub(word, text)
    found: Json = json.loads(text)
    return found


def phase(*wanted: str) -> Callable[[Json], bool]:
    return lambda status: status.get("phase") in wanted


def condition(kind: str, reason: str = "") -> Callable[[Json], bool]:
    return lambda status: any(
        own["type"] == kind and own.get("reason", "") == reason for own in status.get("conditions", ())
    )


def group(release: str, config: Json, **more: Any) -> Json:
    return {
        "name": "simulated",
        "machine": str(ARCHIVE),
        "devices": [f"{GPU}=g0@0,g1@1"],
        "release": release,
        "kubelet": config,
        "storage": "1Gi",
        **more,
    }


@pytest.fixture(params=KUBELETS)
def twins(
    request: pytest.FixtureRequest, kubelets: None, cluster: ControlPlane, namespace: None, short_folder: Path
) -> Iterator[Twins]:
    release = request.param
    if lacking := missing_for_kubelets(release):
        pytest.skip(lacking)
    name = f"real{release.split('.')[1]}"
    node = KubeletNode(cluster, short_folder / name, name, ARCHIVE, CONFIG, release)
    node.plugins[GPU] = ("g0@0", "g1@1")
    assert node.start()
    until("its devices are listed", 60, lambda: node.allocatable().get(GPU) == "2")
    try:
        with simulated(cluster.kubeconfig, short_folder / f"s{name}", [group(release, node.base)], "--remove") as sim:
            yield Twins(node, sim)
            for own in cluster.api.pods(NAMESPACE):
                cluster.api.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{own}?gracePeriodSeconds=0")
            assert sim.stop() == 0
            assert cluster.api.get("/api/v1/nodes/simulated") is None
    finally:
        node.close()


def test_a_simulated_kubelet_writes_what_a_real_one_writes(twins: Twins) -> None:
    """One story, since a start takes its time."""
    real, own = twins.node.node(), twins.api.get("/api/v1/nodes/simulated")
    assert real is not None
    assert own is not None
    for part in ("capacity", "allocatable"):
        assert own["status"][part] == real["status"][part]
    assert own["status"].get("declaredFeatures") == real["status"].get("declaredFeatures")
    assert own["status"]["nodeInfo"]["kubeletVersion"] == real["status"]["nodeInfo"]["kubeletVersion"]
    conditions = [normal({"of": node["status"]["conditions"]}) for node in (real, own)]
    assert conditions[0] == conditions[1]
    labels = {name for name in own["metadata"]["labels"] if not name.startswith("numafit.io/")}
    assert labels == set(real["metadata"]["labels"])

    # admitted, with a device
    twins.add(pod("a", container("c", amounts("2", gpu="1"))))
    status = twins.same("a", phase("Running"))
    assert status["containerStatuses"][0]["ready"]
    # rejected by the Topology Manager and by the sums of the node; also one that a scheduler has bound
    twins.add(pod("wide", container("c", amounts("9"))), nodeName=None)
    assert twins.same("wide", phase("Failed"))["reason"] == "TopologyAffinityError"
    twins.add(pod("huge", container("c", requests={"cpu": "30"})))
    assert twins.same("huge", phase("Failed"))["reason"] == "OutOfcpu"
    twins.add(pod("picky", container("c"), nodeSelector={"disk": "none"}))
    twins.same("picky", phase("Failed"))
    # several containers, of all kinds
    twins.add(
        pod(
            "many",
            container("c2", requests=amounts("100m")),
            container("c1", limits=amounts("200m"), requests=amounts("150m")),
            initContainers=[
                container("i1", requests=amounts("10m"), command=["exit-0"]),
                container("s1", requests=amounts("10m"), restartPolicy="Always"),
            ],
        )
    )
    twins.same("many", phase("Running"))
    twins.add(pod("best", container("c")))
    twins.same("best", phase("Running"))
    # one that ends well, one that does not, one that is started again
    ends = {"numafit.io/run-seconds": "1"}
    twins.add(pod("done", container("c", command=["exit-0"]), restartPolicy="Never", annotations=ends))
    twins.same("done", phase("Succeeded"))
    twins.add(pod("fails", container("c"), restartPolicy="Never", annotations={**ends, "numafit.io/exit-code": "3"}))
    until("it runs", 60, lambda: twins.pods("default")["fails"]["status"].get("phase") == "Running")
    twins.node.outside.exit("fails", "c", 3)
    twins.same("fails", phase("Failed"))
    again = {"numafit.io/run-seconds": "5", "numafit.io/exit-code": "1"}
    twins.add(pod("again", container("c"), annotations=again))
    until("it runs", 60, lambda: twins.pods("default")["again"]["status"].get("phase") == "Running")
    twins.node.outside.exit("again", "c", 1)

    def second(status: Json) -> bool:
        own = status.get("containerStatuses") or [{"restartCount": 0, "state": {}}]
        return bool(own[0]["restartCount"] == 1 and "running" in own[0]["state"])

    twins.same("again", second)
    real_state, own_state = twins.state()
    assert own_state == real_state

    # other resources: done, never, later
    twins.resize("many", "c2", {"requests": {"cpu": "300m"}})
    twins.same(
        "many",
        lambda status: (
            not condition("PodResizeInProgress")(status)
            and status["containerStatuses"][1]["resources"]["requests"]["cpu"] == "300m"
        ),
    )
    twins.resize("a", "c", {"limits": {"cpu": "3"}, "requests": {"cpu": "3"}})
    twins.same("a", condition("PodResizePending", "Infeasible"))
    twins.resize("many", "c2", {"requests": {"cpu": "13500m"}})
    twins.same("many", condition("PodResizePending", "Deferred"))

    # a critical pod sends others away
    twins.remove("again")
    twins.add(pod("urgent", container("c", requests={"cpu": "12600m"}), priorityClassName="system-node-critical"))
    twins.same("urgent", phase("Running"))
    gone = {
        place: {name for name, own in twins.pods(place).items() if own["status"].get("reason") == "Preempting"}
        for place in ("default", NAMESPACE)
    }
    assert gone["default"] == gone[NAMESPACE] != set()
    for name in gone["default"]:
        twins.same(name, phase("Failed"))

    # all are deleted, and nothing is held any more
    for name in sorted(twins.pods(NAMESPACE)):
        twins.remove(name)
    until("nothing is held", 60, lambda: not twins.state()[0]["cpu_manager_state"]["entries"])
    until("nothing is held", 60, lambda: not twins.state()[1]["cpu_manager_state"]["entries"])


def small(name: str, count: int) -> Json:
    config = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "single-numa-node", "reservedSystemCPUs": "0"}
    machine = "sketch:2 sockets x 4 cores x 2 threads, 16Gi per numa"
    return {"name": name, "count": count, "machine": machine, "kubelet": config}


def plain(name: str, node: str, cpu: str) -> Json:
    return pod(name, container("c", amounts(cpu)), nodeName=node, hostNetwork=False)


def status_of(cluster: ControlPlane, name: str) -> Json:
    own = cluster.api.pods(NAMESPACE).get(name)
    return own["status"] if own is not None else {}


@pytest.fixture
def allowed(cluster: ControlPlane) -> Iterator[Path]:
    with allowed_simulator(cluster) as kubeconfig:
        yield kubeconfig


def test_the_rights_that_it_prints_are_enough(
    cluster: ControlPlane, namespace: None, allowed: Path, short_folder: Path
) -> None:
    """And it goes on from its state after a kill, with what came and went meanwhile."""
    pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
    with simulated(allowed, short_folder / "rights", [small("kept", 2)]) as sim:
        for name, node, cpu in (("a", "kept-0", "2"), ("b", "kept-0", "2"), ("wide", "kept-1", "9")):
            cluster.api.post(pods, plain(name, node, cpu))
        until("b runs", 60, lambda: status_of(cluster, "b").get("phase") == "Running")
        until("it is rejected", 60, lambda: status_of(cluster, "wide").get("reason") == "TopologyAffinityError")
        before, held = status_of(cluster, "b"), (sim.state / "kept-0" / "cpu_manager_state").read_text()

        sim.kill()
        cluster.api.delete(f"{pods}/a")
        cluster.api.post(pods, plain("late", "kept-0", "3"))
        sim.start("--remove")
        until("late runs", 60, lambda: status_of(cluster, "late").get("phase") == "Running")
        until("a is gone", 60, lambda: "a" not in cluster.api.pods(NAMESPACE))
        assert status_of(cluster, "b")["containerStatuses"] == before["containerStatuses"]
        uid = cluster.api.pods(NAMESPACE)["b"]["metadata"]["uid"]
        now = json.loads((sim.state / "kept-0" / "cpu_manager_state").read_text())["entries"]
        assert now[uid] == json.loads(held)["entries"][uid]

        for name in ("b", "late", "wide"):
            cluster.api.delete(f"{pods}/{name}")
        until("all are gone", 60, lambda: not {"b", "late", "wide"} & set(cluster.api.pods(NAMESPACE)))
        assert sim.stop() == 0
        assert "numafit:" not in sim.log.read_text()
    assert cluster.api.get("/api/v1/nodes/kept-0") is None


def refused(kubeconfig: Path, folder: Path) -> str:
    sim = SimProcess(kubeconfig, folder, [small("mine", 1)])
    command = [sys.executable, "-m", "numafit", "kubelet-sim", str(sim.file), f"--kubeconfig={kubeconfig}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    return done.stderr


def test_it_is_refused_where_it_may_not_and_where_a_node_is_another_ones(
    cluster: ControlPlane, short_folder: Path
) -> None:
    nobody = cluster.authority.kubeconfig("nobody", cluster.server, "nobody")
    assert "nobody" in refused(nobody, short_folder / "refused")
    real = cluster.api.post("/api/v1/nodes", {"metadata": {"name": "mine-0"}})
    try:
        assert "there is a node that no simulation has made: mine-0" in refused(
            cluster.kubeconfig, short_folder / "refused"
        )
        now = cluster.api.get("/api/v1/nodes/mine-0")
        assert now is not None
        assert now["metadata"]["uid"] == real["metadata"]["uid"]
        assert "numafit.io/simulated" not in now["metadata"].get("labels", {})
    finally:
        cluster.api.delete("/api/v1/nodes/mine-0")
