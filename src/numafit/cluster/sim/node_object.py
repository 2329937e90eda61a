"""The Node of a simulated kubelet: what it registers, and the status that it writes."""

from collections.abc import Mapping
from hashlib import sha256

import msgspec

from numafit import __version__
from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.sim.kubelet import SimulatedKubelet
from numafit.decision.history.situation import Situation
from numafit.quantity import Quantity
from numafit.settings.allocatable import capacity_of
from numafit.settings.facts import Taint
from numafit.settings.settings import Settings
from numafit.settings.versions import LATEST_PATCH, KubeVersion
from numafit.show.records.time import time_text

SIMULATED = "numafit.io/simulated"
"""A label of all nodes that a simulation has made. A Node without it is never touched."""
ARCHITECTURE, SYSTEM = "amd64", "linux"
STORAGE = "ephemeral-storage"
DECLARED = (
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingInitContainers",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
)
"""Gates that a kubelet tells of in its Node (1.36), so that the API server knows what may be asked of its pods."""
HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


class NodeMark(msgspec.Struct, frozen=True):
    """What a Node is called and told to be beside its machine."""

    labels: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    storage: Quantity = Quantity(0)
    """The whole disk."""
    offers: Mapping[str, Quantity] = {}
    """Resources of which there is so much, and no device plugin tells where on the machine."""
    port: int = 10250


def node_labels(name: str, own: Mapping[str, str]) -> dict[str, str]:
    return {
        "beta.kubernetes.io/arch": ARCHITECTURE,
        "beta.kubernetes.io/os": SYSTEM,
        "kubernetes.io/arch": ARCHITECTURE,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": SYSTEM,
        SIMULATED: "true",
        **own,
    }


def new_node(kubelet: SimulatedKubelet, mark: NodeMark, now: float) -> ObjectJson:
    """As it is registered."""
    spec: ObjectJson = {}
    if mark.taints:
        spec["taints"] = [
            {name: text for name, text in (("key", own.key), ("value", own.value), ("effect", own.effect)) if text}
            for own in mark.taints
        ]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": kubelet.name,
            "labels": node_labels(kubelet.name, mark.labels),
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": spec,
        "status": node_status(kubelet, mark, now),
    }


def node_status(kubelet: SimulatedKubelet, mark: NodeMark, now: float, since: float | None = None) -> ObjectJson:
    """`since`: it has been ready from then on."""
    situation = kubelet.situation
    return {
        "capacity": _texts(capacity(situation, mark)),
        "allocatable": _texts(situation.node_allocatable),
        "conditions": conditions(now, since),
        "addresses": [
            {"type": "InternalIP", "address": kubelet.host_ip},
            {"type": "Hostname", "address": kubelet.name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": mark.port}},
        "nodeInfo": node_info(kubelet),
        **_declared(situation.node.settings),
    }


def conditions(now: float, since: float | None = None) -> list[ObjectJson]:
    return [
        {
            "type": kind,
            "status": status,
            "lastHeartbeatTime": time_text(now),
            "lastTransitionTime": time_text(now if since is None else since),
            "reason": reason,
            "message": message,
        }
        for kind, status, reason, message in HEALTHY
    ]


def capacity(situation: Situation, mark: NodeMark) -> dict[str, Quantity]:
    """Of devices all that plugins list, whatever their health."""
    found = capacity_of(situation.node.machine)
    allocatable = situation.node_allocatable
    found[STORAGE] = mark.storage
    found["pods"] = allocatable.get("pods", Quantity(0))
    for resource, devices in situation.ledger.device.devices.items():
        connected = resource in situation.ledger.device.connected
        found[resource] = Quantity(len(devices) if connected else 0)
    return {**{name: amount for name, amount in allocatable.items() if name not in found}, **found}


def node_info(kubelet: SimulatedKubelet) -> ObjectJson:
    own = sha256(kubelet.name.encode()).hexdigest()
    return {
        "machineID": own[:32],
        "systemUUID": own[:32],
        "bootID": f"{own[32:40]}-{own[40:44]}-4{own[45:48]}-a{own[49:52]}-{own[52:64]}",
        "kernelVersion": "simulated",
        "osImage": f"numafit {__version__}",
        "containerRuntimeVersion": f"numafit://{__version__}",
        "kubeletVersion": release_text(kubelet.situation.node.settings.version),
        "kubeProxyVersion": "",
        "operatingSystem": SYSTEM,
        "architecture": ARCHITECTURE,
    }


def release_text(version: KubeVersion) -> str:
    """With a patch: readers of a Node want one."""
    return f"{version}.0" if version.patch == LATEST_PATCH else str(version)


def _declared(settings: Settings) -> ObjectJson:
    if not settings.gate("NodeDeclaredFeatures"):
        return {}
    return {"declaredFeatures": [name for name in DECLARED if settings.gate(name)]}


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {name: str(amount) for name, amount in amounts.items()}
