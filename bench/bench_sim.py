"""Simulated kubelets without their network: what nodes and pods cost in memory, and a pod from JSON to a status."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from time import process_time

import msgspec

from bench import Row
from numafit.cluster.sim.file import SimulatedGroup
from numafit.cluster.sim.group import SimulatedNode, simulated_nodes
from numafit.cluster.sim.node_object import NodeMark
from numafit.cluster.sim.served import PodReader, ServedPod
from numafit.cluster.sim.status import status_patch
from numafit.machine.catalogue.names import machine_named
from numafit.quantity import parse_quantity
from numafit.settings.read.loader import ConfigFile
from numafit.settings.versions import DEFAULT_VERSION

NODES, PODS = 1_000, 10_000
CONFIG = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "single-numa-node",
    "reservedSystemCPUs": "0,1",
}


def rows() -> Iterator[Row]:
    yield Row("sim/1,000 nodes and 10,000 pods, whole process", _megabytes, 200, unit="MB", measured=True)
    yield Row("sim/a pod from its JSON to its status, admitted", partial(_per_pod, "4"), 2e-3, measured=True)
    yield Row("sim/a pod from its JSON to its status, rejected", partial(_per_pod, "120"), 2e-3, measured=True)


def _nodes(count: int) -> tuple[SimulatedNode, ...]:
    config = ConfigFile("kubelet.json", msgspec.json.encode(CONFIG).decode())
    mark = NodeMark(storage=parse_quantity("100Gi"))
    group = SimulatedGroup("gpu", count, machine_named("dgx-h100"), config, DEFAULT_VERSION, mark)
    return tuple(simulated_nodes([group], None))


def _pod(number: int, cpu: str) -> bytes:
    amounts = {"cpu": cpu, "memory": "1Gi"}
    container = {"name": "main", "image": "example:1", "resources": {"limits": amounts, "requests": amounts}}
    metadata = {"name": f"pod-{number}", "namespace": "default", "uid": f"{number:08}-0000-4000-8000-000000000000"}
    spec = {"nodeName": "gpu", "containers": [container], "volumes": [{"name": f"token-{number}"}]}
    return msgspec.json.encode({"metadata": {**metadata, "generation": 1}, "spec": spec, "status": {}})


def _play(nodes: tuple[SimulatedNode, ...], pods: int, cpu: str) -> float:
    """Seconds per pod."""
    reader = PodReader()
    texts = [_pod(number, cpu) for number in range(pods)]
    began = process_time()
    for number, text in enumerate(texts):
        node = nodes[number % len(nodes)]
        kubelet = node.kubelet
        kubelet.add([reader.bound(msgspec.json.decode(text, type=ServedPod), begins=True)], 100.0)
        kubelet.advance(101.0)
        for uid in kubelet.changed:
            devices = kubelet.situation.ledger.device
            msgspec.json.encode(status_patch(kubelet.pods[uid], node.style, devices, kubelet.host_ip, 101.0))
        kubelet.changed.clear()
    return (process_time() - began) / pods


def _per_pod(cpu: str) -> float:
    return _play(_nodes(100), 1_000, cpu)


def _megabytes() -> float:
    """In a process of its own, with all that the command loads."""
    code = "import numafit.cluster.sim.run; from bench.bench_sim import filled; filled()"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def filled() -> None:
    _play(_nodes(NODES), PODS, "4")
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
