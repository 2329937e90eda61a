"""A real kubelet, published: what is decided on the object that came back is what the kubelet then does."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.cli.options.machine import resolve_machine
from numafit.cluster.topology.model import PATH
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.restore import stage_of
from numafit.cluster.topology.write import topology_bytes, topology_of
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.ledger.state_files import STATE_FILES, state_path
from numafit.machine.sketch.devices import with_devices
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import parse_version
from numafit.workload.pod import Pod
from numafit.workload.reading import read_pods
from tests.kube.captured import ARCHIVE, CONFIG
from tests.kube.control_plane import ControlPlane
from tests.kube.kubelet import KubeletNode
from tests.kube.processes import until
from tests.kube.test_kubelet import GPU, phase, pod
from tests.kube.test_topology import APPLY, kubectl

pytestmark = pytest.mark.real


@pytest.fixture
def node(kubelets: None, cluster: ControlPlane, short_folder: Path) -> Iterator[KubeletNode]:
    own = KubeletNode(cluster, short_folder / "t", "published", ARCHIVE, CONFIG)
    own.plugins[GPU] = ("g0@0", "g1@1")
    assert own.start()
    yield own
    own.close()


def pods_of(node: KubeletNode) -> dict[str, Pod]:
    listed = node.api.ask("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={node.name}").content
    if not json.loads(listed)["items"]:
        return {}
    reading = read_pods(listed, "pods.json", pod_level=True)
    return {own.uid: own for own in (*reading.running, *reading.coming)}


def stage_now(node: KubeletNode) -> Stage:
    """Of the machine, the configuration, the state files on the disk and the pods of the API server."""
    machine = with_devices(resolve_machine([str(ARCHIVE)]).machine, [f"{GPU}=g0@0,g1@1"])
    config = (node.folder / "kubelet-config.json").read_text()
    paths = {name: state_path(node.lib, name) for name in STATE_FILES}
    state = {name: path.read_text() for name, path in paths.items() if path.exists()}
    release = (node.node() or {})["status"]["nodeInfo"]["kubeletVersion"]
    sources = ConfigSources(ConfigFile("config.json", config))
    stage = new_stage(Start(version=parse_version(release), sources=sources, machine=machine, files=state))
    there = pods_of(node)
    return replace(stage, ledger=replace(stage.ledger, active={**stage.ledger.active, **there}))


def through_the_server(cluster: ControlPlane, name: str, stage: Stage) -> Stage:
    body = json.loads(topology_bytes(topology_of(name, stage)))
    answer = cluster.api.ask("PATCH", f"{PATH}/{name}{APPLY}", body, kind="application/apply-patch+yaml")
    assert answer.is_success, answer.text
    return stage_of(read_topology(cluster.api.ask("GET", f"{PATH}/{name}").content), stage.ledger.active)


def test_the_kubelet_does_what_was_decided_on_its_object(cluster: ControlPlane, node: KubeletNode) -> None:
    """Pods come one after the other; each time the object is published, read, and asked about the next one."""
    kubectl(cluster, "apply", "-f", str(files("numafit.cluster.topology").joinpath("nodetopologies.yaml")))
    until("it is served", 60, lambda: cluster.api.ask("GET", PATH).status_code == 200)
    until("its devices are listed", 60, lambda: node.allocatable().get(GPU) == "2")
    wanted = (
        ("one", {"cpu": "3", "memory": "64Mi", "gpu": "1"}),
        ("two", {"cpu": "2", "memory": "64Mi"}),
        ("three", {"cpu": "4", "memory": "64Mi", "gpu": "1"}),
        ("wide", {"cpu": "7", "memory": "64Mi"}),
    )
    for name, amounts in wanted:
        restored = through_the_server(cluster, node.name, stage_now(node))
        made = node.add(pod(name, **amounts))
        uid = made["metadata"]["uid"]
        coming = read_pods(json.dumps(made).encode(), "pod.json", pod_level=True).pods[0]
        decision = restored.decide(restored.ledger, coming)
        seen = phase(node, name, "Running" if decision.admitted else "Failed")
        if not decision.admitted:
            assert (seen["status"]["reason"], name) == (decision.reason, "wide")
            continue
        state = node.state_files()
        assert state["cpu_manager_state"]["entries"][uid]["c"] == cpuset_text(decision.containers["c"].cpus or 0)
        devices = {own["PodUID"]: own for own in state["device_checkpoint"]["Data"]["PodDeviceEntries"] or ()}
        told = [id for ids in (devices.get(uid) or {"DeviceIDs": {}})["DeviceIDs"].values() for id in ids]
        held = decision.ledger.device.held.get(uid, {}).get("c", {}).get(GPU)
        assert sorted(told) == sorted(held.ids if held is not None else ())
    node.remove([name for name, _ in wanted])
