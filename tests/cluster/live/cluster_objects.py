"""Objects of a small cluster for tests: as an API server sends them, and as they are kept."""

from typing import Any

import msgspec

from numafit.cluster.live.nodes import ClusterNode, SentNode, node_of
from numafit.cluster.live.pods import ClusterPod, PodKeeper, SentPod
from numafit.cluster.topology.write import topology_of
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.machine.catalogue.names import machine_named
from numafit.settings.example import example_kubelet
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import DEFAULT_VERSION
from tests.cluster.topology.nodes import GPU

KEEPER = PodKeeper()


def lenient_stage() -> Stage:
    """128 CPUs and 8 GPUs on two NUMA nodes; one pod may have all GPUs."""
    machine = machine_named("gpu8-128cpu")
    text = example_kubelet(machine).replace("restricted", "best-effort")
    return new_stage(Start(version=DEFAULT_VERSION, sources=ConfigSources(ConfigFile("k", text)), machine=machine))


def node_object(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": {"kubernetes.io/hostname": name}},
        "spec": spec,
        "status": {
            "allocatable": {"cpu": "127", "memory": "1000Gi", "pods": "110", "ephemeral-storage": "100Gi"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {"kubeletVersion": "v1.36.4"},
        },
    }


def node(name: str, **spec: Any) -> ClusterNode:
    return node_of(msgspec.convert(node_object(name, **spec), SentNode))


def pod_object(
    name: str, cpus: int = 2, gpus: int = 0, node: str = "", gates: tuple[str, ...] = (), **status: Any
) -> dict[str, Any]:
    """Guaranteed; called like its UID."""
    amounts = {"cpu": str(cpus), "memory": "1Gi", **({GPU: str(gpus)} if gpus else {})}
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "image": "x", "resources": {"requests": amounts, "limits": amounts}}]
    }
    if node:
        spec["nodeName"] = node
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    metadata = {"name": name, "namespace": "team", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending", **status}}


def kept(value: dict[str, Any]) -> ClusterPod:
    return KEEPER.kept(msgspec.json.decode(msgspec.json.encode(value), type=SentPod))


def pod(
    name: str, cpus: int = 2, gpus: int = 0, node: str = "", gates: tuple[str, ...] = (), **status: Any
) -> ClusterPod:
    return kept(pod_object(name, cpus, gpus, node, gates, **status))


def topology_object(name: str, stage: Stage | None = None) -> dict[str, Any]:
    value: dict[str, Any] = msgspec.to_builtins(topology_of(name, stage or lenient_stage()))
    return value
