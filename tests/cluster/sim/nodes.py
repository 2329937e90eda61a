"""Simulated kubelets and pods for tests."""

from typing import Any

import msgspec

from numafit.cluster.sim.bound import NO_MANNER, BoundPod, PodManner
from numafit.cluster.sim.kubelet import SimulatedKubelet
from numafit.decision.history.situation import Situation, situation_of
from numafit.decision.start import Start, start
from numafit.machine.sketch.line import read_sketch
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import parse_version
from numafit.workload.manifest import made_up_uid
from numafit.workload.pod import Pod
from numafit.workload.reading import read_pods

GPU = "nvidia.com/gpu"
SKETCH = "2 sockets x 4 cores x 2 threads, 16Gi per numa, gpu 0@0 1@1"
STRICT: dict[str, Any] = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "single-numa-node",
    "kubeReserved": {"cpu": "1"},
}


def situation(config: dict[str, Any] | None = None, release: str = "1.36.4", sketch: str = SKETCH) -> Situation:
    text = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        **(STRICT if config is None else config),
    }
    sources = ConfigSources(ConfigFile("kubelet.json", msgspec.json.encode(text).decode()))
    known = start(Start(version=parse_version(release), sources=sources, machine=read_sketch(sketch)))
    return situation_of(known.node, known.ledger, known.allocatable)


def kubelet(config: dict[str, Any] | None = None, release: str = "1.36.4") -> SimulatedKubelet:
    return SimulatedKubelet("n1", situation(config, release))


def pod(name: str, **amounts: str) -> Pod:
    """Guaranteed, with one container `c`."""
    limits = {resource.replace("gpu", GPU): amount for resource, amount in {"memory": "64Mi", **amounts}.items()}
    return from_spec(name, {"containers": [{"name": "c", "image": "i:1", "resources": {"limits": limits}}]})


def from_spec(name: str, spec: dict[str, Any]) -> Pod:
    content = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    return read_pods(msgspec.json.encode(content)).coming[0]


def bound(own: Pod, created: str = "2026-11-16T10:00:00Z", manner: PodManner = NO_MANNER, **more: Any) -> BoundPod:
    images = {container.name: "i:1" for container in own.all_containers}
    return BoundPod(own, msgspec.structs.replace(manner, images=images), created, **{"generation": 1, **more})


def uid(name: str) -> str:
    return made_up_uid("default", name)
