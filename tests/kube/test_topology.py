"""NodeTopology and a real API server: it takes the definition, keeps what the agent writes, and refuses the rest."""

import json
import re
import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
import yaml
from msgspec.structs import replace

from numafit.__main__ import main
from numafit.bits import cpuset_text
from numafit.cluster.topology.model import PATH, PLURAL
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.restore import stage_of
from numafit.cluster.topology.write import topology_bytes, topology_of
from numafit.decision.life import reconcile, release
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.machine.file.read import read_machine_file
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import KubeVersion
from numafit.workload.reading import read_pods
from tests.cluster.claims.objects import claim as claim_of
from tests.cluster.claims.objects import slice_of
from tests.cluster.topology.nodes import GPU, crowded, guaranteed
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until
from tests.service.agents import running

pytestmark = pytest.mark.real

APPLY = "?fieldManager=numafit-agent&force=true"


def kubectl(cluster: ControlPlane, *arguments: str) -> str:
    command = [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def defined(cluster: ControlPlane) -> Iterator[ControlPlane]:
    with_definition = str(files("numafit.cluster.topology").joinpath("nodetopologies.yaml"))
    kubectl(cluster, "apply", "-f", with_definition)
    kubectl(cluster, "wait", "--for=condition=established", f"crd/{PLURAL}.topology.numafit.io", "--timeout=20s")
    until("it is served", 60, lambda: cluster.api.ask("GET", PATH).status_code == 200)
    yield cluster
    kubectl(cluster, "delete", "-f", with_definition)


def content(name: str = "n1") -> Json:
    found: Json = json.loads(topology_bytes(topology_of(name, crowded())))
    return found


def test_the_definition_is_a_structural_one(defined: ControlPlane) -> None:
    """Else the API server says so in a condition, and drops nothing that it does not know."""
    found = defined.api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{PLURAL}.topology.numafit.io")
    conditions = {own["type"]: own["status"] for own in (found or {})["status"]["conditions"]}
    assert conditions.get("NonStructuralSchema", "False") == "False"
    assert conditions["Established"] == "True"


def test_a_crowded_node_comes_back_as_it_was_written(defined: ControlPlane) -> None:
    """By server-side apply, twice: nothing is dropped, and a second one that is equal changes nothing."""
    stage = crowded()
    topology = topology_of("n1", stage)
    path = f"{PATH}/n1{APPLY}"
    for _ in range(2):
        answer = defined.api.ask("PATCH", path, content("n1"), kind="application/apply-patch+yaml")
        assert answer.status_code in (200, 201), answer.text
    answer = defined.api.ask("GET", f"{PATH}/n1")
    found = read_topology(answer.content)
    assert found.status == topology.status
    assert len(answer.content) <= 32 * 1024
    restored = stage_of(found, stage.ledger.active)
    pod = guaranteed("next", 2, "4Gi", gpus=1)
    before, after = stage.decide(stage.ledger, pod), restored.decide(restored.ledger, pod)
    assert (before.admitted, before.message, before.containers) == (after.admitted, after.message, after.containers)


def test_a_list_shows_what_people_look_for(defined: ControlPlane) -> None:
    defined.api.ask("PATCH", f"{PATH}/n2{APPLY}", content("n2"), kind="application/apply-patch+yaml")
    head, *lines = kubectl(defined, "get", "nodetopologies").splitlines()
    assert head.split() == ["NAME", "RELEASE", "CPU", "TOPOLOGY", "CPUS", "SHARED", "PODS", "DEVICES", "FREE", "AGE"]
    (line,) = [line.split() for line in lines if line.startswith("n2 ")]
    assert line[1:9] == ["v1.36.4", "static", "restricted", "256", line[5], "100", "8", "0"]
    assert kubectl(defined, "get", "ntopo", "n2", "-o", "jsonpath={.status.holders[0].name}").startswith("machine-")


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("digest", "none", "should match"),
        ("sharedPool", "0-3;8", "should match"),
        ("holders", [{"name": "team/a"}], "Required value"),
        ("holders", [{"uid": "a", "memory": [{"numa": "0", "size": "much"}]}], "should match"),
        ("holders", [{"uid": f"u-{index}"} for index in range(2001)], "must have at most 2000 items"),
        ("memory", [{"numa": -1, "group": "0", "types": {}}], "greater than or equal to 0"),
        ("kubelet", {"cpuManagerPolicy": "static"}, "Required value"),
        ("release", "1.36", "should match"),
    ],
)
def test_what_makes_no_sense_is_refused(defined: ControlPlane, field: str, value: object, why: str) -> None:
    bad = content("bad")
    bad["status"][field] = value
    answer = defined.api.ask("POST", PATH, bad)
    assert answer.status_code == 422, answer.text
    assert f"status.{field}" in answer.json()["message"]
    assert why in answer.json()["message"]


def test_what_it_does_not_know_is_told_to_who_asks(defined: ControlPlane) -> None:
    """Of an agent that is newer than the definition. Who does not ask finds the digest wrong when he reads it."""
    newer = content("newer")
    newer["status"]["moreThanThis"] = {"a": 1}
    answer = defined.api.ask("POST", f"{PATH}?fieldValidation=Strict", newer)
    assert answer.status_code == 400
    assert 'unknown field "status.moreThanThis"' in answer.json()["message"]


def test_each_gpu_of_the_crowd_is_held(defined: ControlPlane) -> None:
    found = content("n3")["status"]["holders"]
    assert len({id for own in found for each in own["containers"] for id in each.get("devices", {}).get(GPU, ())}) == 8


# --- a node that is published, and somebody who has the rights that docs/node.md names and no others -----------------

SMALL = Path("examples/small-node")
USER = "somebody-with-the-role"


def documented_role() -> Json:
    """The ClusterRole of the page."""
    page = Path("docs/node.md").read_text()
    (text,) = re.findall(r"```yaml\n(apiVersion: rbac.+?)```", page, re.DOTALL)
    role: Json = yaml.safe_load(text)
    return role


def pod_with_claim(name: str, cpus: int) -> Json:
    resources = {"limits": {"cpu": str(cpus), "memory": "1Gi"}, "claims": [{"name": "gpu"}]}
    spec = {
        "nodeName": "small-1",
        "resourceClaims": [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}],
        "containers": [{"name": "main", "image": "none:1", "resources": resources}],
        "tolerations": [{"operator": "Exists"}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
PODS = "/api/v1/namespaces/default/pods"
RIGHTS = "/apis/rbac.authorization.k8s.io/v1"
MERGE = "application/merge-patch+json"


def made_node(cluster: ControlPlane) -> None:
    capacity = {"cpu": "16", "memory": "16Gi", "pods": "110"}
    status = {
        "capacity": capacity,
        "allocatable": capacity,
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1.36.4", "operatingSystem": "linux"},
    }
    cluster.api.post("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "small-1"}})
    assert cluster.api.ask("PATCH", "/api/v1/nodes/small-1/status", {"status": status}, kind=MERGE).is_success
    devices = {f"gpu-{index}": {"resource.kubernetes.io/numaNode": {"int": index}} for index in range(2)}
    sliced = slice_of(devices)
    sliced["spec"] |= {"nodeName": "small-1"}
    cluster.api.post(SLICES, sliced)


def made_pod(cluster: ControlPlane, name: str, index: int) -> None:
    """It runs, and its claim gives a device to it."""
    found = cluster.api.post(PODS, pod_with_claim(name, 2 + index))
    uid = found["metadata"]["uid"]
    claim = claim_of(f"{name}-gpu", uid, f"gpu-{index}", namespace="default")
    cluster.api.post(CLAIMS, {key: value for key, value in claim.items() if key != "status"})
    own = claim["status"] | {"reservedFor": [{"resource": "pods", "name": name, "uid": uid}]}
    given = cluster.api.ask("PATCH", f"{CLAIMS}/{name}-gpu/status", {"status": own}, kind=MERGE)
    assert given.is_success, given.text
    runs = {"phase": "Running", "startTime": f"2026-01-01T00:00:0{index}Z", "qosClass": "Guaranteed"}
    assert cluster.api.ask("PATCH", f"{PODS}/{name}/status", {"status": runs}, kind=MERGE).is_success


def made_rights(cluster: ControlPlane) -> None:
    role = documented_role()
    cluster.api.post(f"{RIGHTS}/clusterroles", role)
    group = "rbac.authorization.k8s.io"
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": USER},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role["metadata"]["name"]},
        "subjects": [{"apiGroup": group, "kind": "User", "name": USER}],
    }
    cluster.api.post(f"{RIGHTS}/clusterrolebindings", binding)


def publish(cluster: ControlPlane, stage: Stage) -> None:
    body = json.loads(topology_bytes(topology_of("small-1", stage)))
    answer = cluster.api.ask("PATCH", f"{PATH}/small-1{APPLY}", body, kind="application/apply-patch+yaml")
    assert answer.is_success, answer.text


@pytest.fixture(scope="module")
def small(defined: ControlPlane) -> Iterator[Stage]:
    """A Node with two pods that run, each with a claim; the agent says that they came in the other order."""
    made_node(defined)
    for index, name in enumerate(("first", "second")):
        made_pod(defined, name, index)
    made_rights(defined)
    listed = defined.api.ask("GET", "/api/v1/pods?fieldSelector=spec.nodeName=small-1").content
    machine = read_machine_file((SMALL / "machine.json").read_text())
    sources = ConfigSources(ConfigFile("kubelet.yaml", (SMALL / "kubelet.yaml").read_text()))
    stage = new_stage(Start(version=KubeVersion(1, 36, 4), sources=sources, machine=machine))
    pods = read_pods(listed, "pods.json", pod_level=True).running
    stage = replace(stage, ledger=stage.play(tuple(reversed(pods))).after)
    publish(defined, stage)
    yield stage
    for name in ("first", "second"):
        defined.api.delete(f"{PODS}/{name}?gracePeriodSeconds=0")
        defined.api.delete(f"{CLAIMS}/{name}-gpu")
    for path in (
        "/api/v1/nodes/small-1",
        f"{SLICES}/gpu-1-gpu.nvidia.com",
        f"{RIGHTS}/clusterroles/{documented_role()['metadata']['name']}",
        f"{RIGHTS}/clusterrolebindings/{USER}",
    ):
        defined.api.delete(path)


def test_a_node_is_known_by_its_object_to_who_has_the_documented_rights(
    defined: ControlPlane, small: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without any right on the kubelet: what is decided is what the node itself would decide."""
    kubeconfig = defined.authority.kubeconfig(USER, defined.server, USER)
    where = ["--node", "small-1", "--kubeconfig", str(kubeconfig)]
    pod = str(SMALL / "pod.yaml")
    assert main(["simulate", *where, pod, "-o", "json"]) in (0, 1)
    answer = json.loads(capsys.readouterr().out)
    (decision,) = answer["decisions"]
    (coming,) = read_pods(Path(pod).read_bytes(), pod, pod_level=True).pods
    expected = small.decide(small.ledger, coming)
    assert decision["admitted"] == expected.admitted
    cpus = {name: cpuset_text(own.cpus or 0) for name, own in expected.containers.items()}
    assert {name: own["cpus"] or "" for name, own in decision["containers"].items()} == cpus
    codes = [note["code"] for note in answer["notes"]]
    assert not {"node-partly-known", "pods-replayed", "cores-guessed", "topology-not-used"} & set(codes)
    told = {note["about"]: note["text"] for note in answer["notes"] if note["code"] == "claim-not-aligned"}
    assert told.keys() == {"default/first", "default/second"}
    assert "gpu-1 of gpu.nvidia.com on NUMA node 1" in told["default/second"]

    folder = tmp_path / "case"
    assert main(["node", "pull", "small-1", "--kubeconfig", str(kubeconfig), "-o", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "claims.json" in printed
    assert "nodetopology.json" in printed
    assert main(["simulate", str(folder), pod, "-o", "json"]) in (0, 1)
    kept = json.loads(capsys.readouterr().out)
    assert kept["decisions"] == answer["decisions"]


def test_the_page_shows_who_sits_where(defined: ControlPlane, small: Stage) -> None:
    kubeconfig = defined.authority.kubeconfig(f"{USER}-page", defined.server, USER)
    uid = {pod.name: pod.uid for pod in small.ledger.active.values()}
    held = {name: cpuset_text(small.ledger.cpu.entries[uid[name]]["main"]) for name in ("first", "second")}
    with running("--node", "small-1", "--kubeconfig", str(kubeconfig)) as agent:

        def seen() -> dict[str, str]:
            view = httpx.get(f"{agent.url}/api/v1/ledger", timeout=30).json()
            return {own["name"].rpartition("/")[2]: own["cpus"] for own in view["holders"]}

        until("both are shown", 60, lambda: seen() == held)
        gone = reconcile(small.node, release(small.ledger, uid["first"]))
        publish(defined, replace(small, ledger=gone))
        until("one is gone", 60, lambda: "first" not in seen())
