"""The NodeTopology of simulated nodes on a real control plane: it follows pods that come and go."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from numafit.cluster.node.publish import ANNOTATION
from numafit.cluster.topology.model import PATH, NodeTopology
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.restore import stage_of
from tests.cluster.sim.nodes import pod as pod_of
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until
from tests.kube.simulation import allowed_simulator, simulated
from tests.kube.test_sim import amounts, container, pod

pytestmark = pytest.mark.real

PODS = "/api/v1/namespaces/default/pods"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodetopologies.topology.numafit.io"


def numafit(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "numafit", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def defined(cluster: ControlPlane) -> Iterator[ControlPlane]:
    command = [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}", "apply", "-f", "-"]
    text = numafit("kubelet-sim", "--definition").stdout
    subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    until("it is served", 60, lambda: cluster.api.ask("GET", PATH).status_code == 200)
    yield cluster
    cluster.api.delete(DEFINITION)
    until("it is gone", 60, lambda: cluster.api.ask("GET", PATH).status_code == 404)


@pytest.fixture
def allowed(defined: ControlPlane) -> Iterator[Path]:
    with allowed_simulator(defined) as kubeconfig:
        yield kubeconfig


def group(name: str, count: int) -> Json:
    config = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "single-numa-node", "reservedSystemCPUs": "0"}
    machine = "sketch:2 sockets x 4 cores x 2 threads, 16Gi per numa"
    return {"name": name, "count": count, "machine": machine, "kubelet": config, "topology": True}


def published(cluster: ControlPlane, name: str) -> NodeTopology | None:
    answer = cluster.api.ask("GET", f"{PATH}/{name}")
    return read_topology(answer.content) if answer.status_code == 200 else None


def holders(cluster: ControlPlane, name: str) -> list[str]:
    found = published(cluster, name)
    return [own.name for own in found.status.holders if not own.gone] if found is not None else []


def test_the_object_follows_the_pods_of_its_node(defined: ControlPlane, allowed: Path, short_folder: Path) -> None:
    """With no more rights than `--rights` says."""
    api = defined.api
    with simulated(allowed, short_folder / "topology", [group("placed", 3)]) as sim:
        first = published(defined, "placed-0")
        assert first is not None
        node = api.get("/api/v1/nodes/placed-0")
        assert node is not None
        assert node["metadata"]["annotations"][ANNOTATION] == first.status.digest

        for name, cpu in (("t1", "2"), ("t2", "3"), ("wide", "9")):
            api.post(PODS, pod(name, container("c", amounts(cpu)), nodeName="placed-0", hostNetwork=False))
        until("both are told", 60, lambda: holders(defined, "placed-0") == ["default/t1", "default/t2"])
        found = published(defined, "placed-0")
        assert found is not None
        there = api.pods("default")
        assert [own.uid for own in found.status.holders if not own.gone] == [
            there[name]["metadata"]["uid"] for name in ("t1", "t2")
        ]
        # Who reads the object knows what the kubelet would still admit.
        stage = stage_of(found)
        sizes = [cpu for cpu in range(1, 9) if stage.decide(stage.ledger, pod_of("next", cpu=str(cpu))).admitted]
        assert sizes[-1] == 8
        api.post(PODS, pod("fits", container("c", amounts(str(sizes[-1]))), nodeName="placed-0", hostNetwork=False))
        until("it is told", 60, lambda: "default/fits" in holders(defined, "placed-0"))

        for name in ("t1", "t2", "fits", "wide"):
            api.delete(f"{PODS}/{name}")
        until("it stands as before", 60, lambda: is_as_before(defined, first))

        api.delete(f"{PATH}/placed-1")
        until("it is there again", 60, lambda: published(defined, "placed-1") is not None)
        sim.stop()
    for number in range(3):
        api.delete(f"/api/v1/nodes/placed-{number}")
    until(
        "the objects go with their nodes", 60, lambda: all(published(defined, f"placed-{i}") is None for i in range(3))
    )


def is_as_before(cluster: ControlPlane, first: NodeTopology) -> bool:
    found = published(cluster, first.name)
    return found is not None and found.status == first.status


def test_without_the_definition_it_says_what_to_do(cluster: ControlPlane, short_folder: Path) -> None:
    folder = short_folder / "undefined"
    folder.mkdir()
    file = folder / "nodes.yaml"
    file.write_text("nodes: [{name: undefined, machine: laptop}]\n")
    done = numafit("kubelet-sim", str(file), "--topology", f"--kubeconfig={cluster.kubeconfig}")
    assert done.returncode == 2
    assert "the cluster does not know the kind NodeTopology (numafit kubelet-sim --definition | kubectl" in done.stderr
    assert cluster.api.get("/api/v1/nodes/undefined") is None
