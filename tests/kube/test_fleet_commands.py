"""`kubectl numafit` on a real control plane with simulated nodes: found by the real kubectl, also with few rights."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from numafit.cluster.topology.model import PATH
from numafit.cluster.view.rights import role_text
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until
from tests.kube.simulation import SimProcess, allowed_simulator, simulated
from tests.kube.test_sim import amounts, container, pod
from tests.kube.test_sim_topology import defined, holders

__all__ = ["defined"]

pytestmark = pytest.mark.real

PODS = "/api/v1/namespaces/default/pods"
MACHINE = "sketch:2 sockets x 8 cores x 2 threads, 16Gi per numa"


def group(name: str, count: int, policy: str, *, told: bool = True) -> Json:
    config = {"cpuManagerPolicy": "static", "topologyManagerPolicy": policy, "reservedSystemCPUs": "0,16"}
    labels = {"node.kubernetes.io/instance-type": "box"}
    return {"name": name, "count": count, "machine": MACHINE, "kubelet": config, "labels": labels, "topology": told}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program that an installation puts beside `numafit`."""
    folder = tmp_path_factory.mktemp("plugins")
    program = folder / "kubectl-numafit"
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom numafit.__main__ import kubectl\nsys.exit(kubectl())\n")
    program.chmod(0o755)
    return folder


def is_decided(cluster: ControlPlane, name: str) -> bool:
    return cluster.api.pods()[name]["status"]["phase"] != "Pending"


@pytest.fixture
def sim(defined: ControlPlane, short_folder: Path) -> Iterator[SimProcess]:
    """Two strict nodes, one loose one and one that tells nothing; pods on them, rejected and waiting."""
    groups = [group("strict", 2, "restricted"), group("loose", 1, "best-effort"), group("dark", 1, "none", told=False)]
    api = defined.api
    with (
        allowed_simulator(defined) as kubeconfig,
        simulated(kubeconfig, short_folder / "fleet-commands", groups, "--remove") as own,
    ):
        for name, cpus, node in (
            ("half", "8", "strict-0"),
            ("other", "12", "strict-0"),
            ("turned", "12", "strict-0"),
            ("one", "10", "loose-0"),
            ("two", "10", "loose-0"),
            ("across", "8", "loose-0"),
        ):
            api.post(PODS, pod(name, container("c", amounts(cpus)), nodeName=node, hostNetwork=False))
            until(f"{name} is decided", 60, lambda name=name: is_decided(defined, name))
        api.post(PODS, pod("huge", container("c", amounts("200")), hostNetwork=False))
        gated = pod("gated", container("c", amounts("14")), hostNetwork=False)
        gated["spec"]["schedulingGates"] = [{"name": "numafit.io/place"}]
        api.post(PODS, gated)
        until("reports have them", 60, lambda: len(holders(defined, "loose-0")) == 3)
        yield own
        for name in api.pods():
            api.delete(f"{PODS}/{name}")
        until("pods are gone", 60, lambda: not api.pods())
        own.stop()


@pytest.fixture
def fleet(defined: ControlPlane, sim: SimProcess) -> ControlPlane:
    return defined


def kubectl(cluster: ControlPlane, plugins: Path, kubeconfig: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The real one, which looks for its plugins on the PATH."""
    environment = {**os.environ, "PATH": f"{plugins}:/usr/bin:/bin", "KUBECONFIG": str(kubeconfig)}
    command = [str(cluster.binaries / "kubectl"), "numafit", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_every_command_answers_by_kubectl(fleet: ControlPlane, plugins: Path, tmp_path: Path) -> None:
    def ask(*words: str) -> str:
        done = kubectl(fleet, plugins, fleet.kubeconfig, *words)
        assert (done.returncode, done.stderr) == (0, ""), words
        return done.stdout

    assert ask("--help").startswith("Usage: kubectl numafit ")

    half = ask("explain", "pod/half")
    assert half.startswith("default/half: runs on strict-0, aligned\n")
    across = ask("explain", "default/across")
    assert across.startswith("default/across: runs on loose-0, split\n")
    assert "lies on NUMA nodes 0-1; the empty machine has room for it on fewer" in across
    turned = ask("explain", "turned")
    assert "rejected by strict-0, TopologyAffinityError" in turned
    assert "As strict-0 stands now (restricted, scope container):" in turned
    huge = ask("explain", "huge")
    assert "no node that is open to it could ever have them" in huge
    assert "The scheduler says: 0/4 nodes are available" in huge

    top = json.loads(ask("top", "-o", "json"))
    assert {own["node"]: own["split"] for own in top["nodes"]} == {
        "strict-0": [],
        "strict-1": [],
        "loose-0": ["default/across"],
    }
    assert top["unknown"] == ["dark-0"]
    assert "default/across on loose-0" in ask("top")

    waits = ask("why-pending", "-A")
    assert "default/huge" in waits
    assert "would take it now, best strict-1" in waits

    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(pod("more", container("c", amounts("6")), hostNetwork=False)))
    fit = json.loads(ask("fit", "-f", str(manifest), "-o", "json"))["shapes"][0]
    assert {own["nodes"][0]: own["each"] for own in fit["counts"]}["strict-1"] == 4

    node = ask("node", "strict-0")
    assert "default/half" in node
    assert "default/other" in node

    doctor = ask("doctor")
    assert "warning no-topology: 1 node: dark-0" in doctor
    assert "warning differs-in-pool: 1 node: loose-0" in doctor
    assert "topologyManagerPolicy is best-effort here and restricted there" in doctor
    assert "agent-stale" not in doctor


def test_as_many_more_fit_as_the_kubelets_then_take(fleet: ControlPlane, plugins: Path, tmp_path: Path) -> None:
    """What `fit` counts on a node is what its kubelet admits; one more is rejected."""
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(pod("more", container("c", amounts("6")), hostNetwork=False)))
    answer = json.loads(kubectl(fleet, plugins, fleet.kubeconfig, "fit", "-f", str(manifest), "-o", "json").stdout)
    counts = {name: own["each"] for own in answer["shapes"][0]["counts"] for name in own["nodes"]}
    for node, count in counts.items():
        for number in range(count + 1):
            more = pod(f"{node}-{number}", container("c", amounts("6")), nodeName=node, hostNetwork=False)
            fleet.api.post(PODS, more)
            name = f"{node}-{number}"
            expected = "Running" if number < count else "Failed"
            until(f"{name} is decided", 60, lambda name=name: is_decided(fleet, name))
            assert fleet.api.pods()[name]["status"]["phase"] == expected, name


def test_somebody_with_too_few_rights_is_told_the_rule_that_helps(fleet: ControlPlane, plugins: Path) -> None:
    kubeconfig = fleet.authority.kubeconfig("jane", fleet.server, "jane")
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    nothing = kubectl(fleet, plugins, kubeconfig, "explain", "half")
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert 'User "jane" cannot list resource "pods"' in nothing.stderr
    fleet.api.post(bindings, binding)
    try:
        partly = kubectl(fleet, plugins, kubeconfig, "explain", "half")
        assert partly.returncode == 0
        assert partly.stdout.startswith("default/half: runs on strict-0\n  how nodes stand is not known: you may not")
        top = kubectl(fleet, plugins, kubeconfig, "top")
        assert top.returncode == 2
        assert role_text() in top.stderr

        pasted = top.stderr.partition("apiVersion")
        apply(fleet, (pasted[1] + pasted[2]).replace("YOU ", "jane "))
        seen = kubectl(fleet, plugins, kubeconfig, "top")
        assert (seen.returncode, seen.stderr) == (0, "")
        whole = kubectl(fleet, plugins, kubeconfig, "explain", "half")
        assert whole.stdout.startswith("default/half: runs on strict-0, aligned\n")
    finally:
        fleet.api.delete(f"{bindings}/jane")
        for kind in ("clusterroles", "clusterrolebindings"):
            fleet.api.delete(f"/apis/rbac.authorization.k8s.io/v1/{kind}/numafit-view")


def apply(cluster: ControlPlane, text: str) -> None:
    command = [str(cluster.binaries / "kubectl"), f"--kubeconfig={cluster.kubeconfig}", "apply", "-f", "-"]
    subprocess.run(command, input=text, capture_output=True, text=True, check=True)


def found(fleet: ControlPlane, plugins: Path) -> dict[str, list[str]]:
    """Code -> nodes, of what the doctor finds."""
    done = kubectl(fleet, plugins, fleet.kubeconfig, "doctor", "-o", "json")
    return {own["code"]: own["nodes"] for own in json.loads(done.stdout)["findings"]}


def test_reports_that_are_edited_or_stay_behind_are_found(fleet: ControlPlane, sim: SimProcess, plugins: Path) -> None:
    """While the kubelets sleep, a pod goes and somebody writes into a report."""
    assert sim.process is not None
    sim.process.send_signal(signal.SIGSTOP)
    try:
        patch = {"status": {"sharedPool": "0-3"}}
        assert fleet.api.ask("PATCH", f"{PATH}/strict-1", patch, "application/merge-patch+json").status_code == 200
        gone = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        assert fleet.api.ask("DELETE", f"{PODS}/half", gone).status_code == 200
        codes = found(fleet, plugins)
        assert (codes["topology-changed"], codes["agent-stale"]) == (["strict-1"], ["strict-0"])
        edited = kubectl(fleet, plugins, fleet.kubeconfig, "node", "strict-1")
        assert edited.returncode == 2
        assert "was changed by others than the agent, or is damaged" in edited.stderr
    finally:
        sim.process.send_signal(signal.SIGCONT)
    until("it is up to date", 60, lambda: "default/half" not in holders(fleet, "strict-0"))
    assert "agent-stale" not in found(fleet, plugins)
