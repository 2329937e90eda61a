"""A node with pods as its API server and its state files tell of it, made by the engine."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from numafit.cli.options.machine import resolve_machine
from numafit.cluster.switch.drain import DrainChoice
from numafit.cluster.switch.plan import SwitchQuestion
from numafit.decision.files import state_files
from numafit.decision.stage import new_stage
from numafit.decision.start import Start
from numafit.machine.combine.unstated import with_memory
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import parse_version
from numafit.workload.objects import ManifestFile
from numafit.workload.reading import read_files

NODE = "gpu-1"
NO_CHOICE = DrainChoice()
MACHINE = "sketch:2 sockets x 1 numa x 4 cores x 2 threads, 16Gi per numa"
STATIC: Mapping[str, Any] = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "best-effort",
    "kubeReserved": {"cpu": "1", "memory": "1Gi"},
}


def config(**fields: Any) -> str:
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    return msgspec.json.format(msgspec.json.encode({**head, **fields}), indent=2).decode() + "\n"


def pod(name: str, cpus: int = 2, *, owner: str = "ReplicaSet", **more: Any) -> dict[str, Any]:
    """Guaranteed; `owner` empty: nobody made it."""
    amounts = {"cpu": str(cpus), "memory": "1Gi"}
    owners = [{"apiVersion": "apps/v1", "kind": owner, "name": "o", "uid": "o1", "controller": True}] if owner else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-11-01T10:00:00Z",
            "ownerReferences": owners,
            **more.pop("metadata", {}),
        },
        "spec": {
            "nodeName": NODE,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}],
            **more.pop("spec", {}),
        },
        "status": {"phase": "Running", "startTime": "2026-11-01T10:00:01Z", "qosClass": "Guaranteed", **more},
    }


def listed(pods: Sequence[Mapping[str, Any]]) -> bytes:
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": pods})


def question(
    old: str,
    new: str,
    pods: Sequence[Mapping[str, Any]] = (),
    *,
    keep_pods: bool = False,
    choice: DrainChoice = NO_CHOICE,
    machine: str = MACHINE,
    version: str = "1.36",
) -> SwitchQuestion:
    """The pods were admitted by the old kubelet, in this order."""
    known = Start(version=parse_version(version), machine=with_memory(resolve_machine((machine,)).machine))
    present = ConfigSources(ConfigFile("config.yaml", old))
    stage = new_stage(msgspec.structs.replace(known, sources=present))
    ledger = stage.ledger
    alive = [each for each in pods if each["status"]["phase"] == "Running"]
    if alive:
        read = read_files([ManifestFile("pods", listed(alive))])
        ledger = stage.play(read.pods).after
    files = state_files(stage.node, ledger)
    return SwitchQuestion(
        known, present, ConfigSources(ConfigFile("new.yaml", new)), files, listed(pods), NODE, keep_pods, choice
    )
