"""Nodes for the tests: a machine with an example kubelet, and pods on it."""

import random
import uuid

from msgspec.structs import replace

from numafit.cluster.topology.model import NodeTopology
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.write import topology_bytes, topology_of
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.machine.catalogue.names import machine_named
from numafit.quantity import parse_quantity
from numafit.settings.example import example_kubelet
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion
from numafit.workload.pod import Container, Pod

GPU = "nvidia.com/gpu"


def stage_on(machine: str, version: KubeVersion = DEFAULT_VERSION, more: str = "") -> Stage:
    """A machine of the catalogue with nobody on it; `more` are lines of its configuration."""
    found = machine_named(machine)
    sources = ConfigSources(ConfigFile("kubelet.yaml", example_kubelet(found) + more))
    return new_stage(Start(version=version, sources=sources, machine=found))


def guaranteed(uid: str, cpus: int = 1, memory: str = "1Gi", gpus: int = 0) -> Pod:
    texts = {"cpu": str(cpus), "memory": memory, **({GPU: str(gpus)} if gpus else {})}
    amounts = {name: parse_quantity(text) for name, text in texts.items()}
    return Pod(uid, f"{uid[:8]}-name", (Container("main", amounts, amounts),), namespace="team")


def with_pods_on(stage: Stage, *pods: Pod) -> Stage:
    """Each of them decided on, one after the other."""
    return replace(stage, ledger=stage.play(pods).after)


def through_json(topology: NodeTopology) -> NodeTopology:
    return read_topology(topology_bytes(topology))


def published(stage: Stage) -> NodeTopology:
    return through_json(topology_of("n1", stage))


def crowded() -> Stage:
    """256 CPUs, 8 GPUs and 100 pods with UIDs and names as a cluster makes them; the CPUs of each lie scattered."""
    chance = random.Random(13)
    stage = stage_on("dgx-a100")
    pods = []
    for index in range(100):
        uid = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        pod = guaranteed(uid, 2, "4Gi", gpus=1 if index % 13 == 0 else 0)
        name = f"training-worker-{chance.getrandbits(36):09x}-{chance.getrandbits(20):05x}"
        pods.append(replace(pod, name=name, namespace="machine-learning"))
    return with_pods_on(stage, *pods)
