"""NodeTopology and a real API server: it takes the definition, keeps what the agent writes, and refuses the rest."""

import json
import subprocess
from collections.abc import Iterator
from importlib.resources import files

import pytest

from numafit.cluster.topology.model import PATH, PLURAL
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.restore import stage_of
from numafit.cluster.topology.write import topology_bytes, topology_of
from tests.cluster.topology.nodes import GPU, crowded, guaranteed
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until

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
    until("it is served", 20, lambda: cluster.api.ask("GET", PATH).status_code == 200)
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
