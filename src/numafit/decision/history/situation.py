"""How a node stands between two events: what its kubelet holds, and what lies outside of it and outlives it."""

from collections.abc import Collection, Iterable, Mapping

import msgspec
from msgspec.structs import replace

from numafit.decision.decide import Load, load_beside, load_of
from numafit.decision.life import release
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Device, Machine
from numafit.quantity import Quantity, quantity_of
from numafit.workload.pod import Pod


class Situation(msgspec.Struct, frozen=True):
    node: Node
    ledger: Ledger
    """Of the kubelet; while it is down, what its state files tell and which pods are there."""
    allocatable: Mapping[str, Quantity] | None
    """What the node object offers, devices of plugins aside; None where nobody knows, and nobody asks."""
    load: Load
    """What the active pods ask for together."""
    plugins: Mapping[str, tuple[Device, ...]] = {}
    """Resource -> what its plugin lists, of the plugins that run."""
    listed: Mapping[str, Quantity] = {}
    """What others have listed in the node object, beside `allocatable`; 0 of what the kubelet has given up."""
    down: bool = False
    waiting: tuple[Pod, ...] = ()
    """Pods that came while the kubelet was down."""
    refused: tuple[Pod, ...] = ()
    """Static pods that were rejected: their manifests are there, so a kubelet that starts tries them again."""
    resizes: Mapping[str, Pod] = {}
    """Pod UID -> the pod as it shall be, where that is not allocated yet."""
    unstarted: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(pod UID, containers) of admitted pods that are still to be started: they wait for a device."""

    @property
    def offered(self) -> Mapping[str, Quantity] | None:
        return self.allocatable if self.allocatable is None or not self.listed else {**self.allocatable, **self.listed}

    @property
    def node_allocatable(self) -> dict[str, Quantity]:
        """As the node object has it: of devices the healthy ones, and none where the plugin is not there."""
        device, plugins = self.ledger.device, self.node.device.plugins
        offered = (self.offered or {}).items()
        amounts = {name: amount for name, amount in offered if name not in plugins or name in self.listed}
        healthy = {name: len(ids) if name in device.connected else 0 for name, ids in device.healthy.items()}
        return amounts | {name: quantity_of(count) for name, count in healthy.items()}

    @property
    def machine(self) -> Machine:
        """With the devices that plugins list now: also new ones, and with their health."""
        machine = self.node.machine
        now = {(device.resource, device.id): device for own in self.plugins.values() for device in own}
        there = [
            replace(device, healthy=now.pop(key).healthy) if (key := (device.resource, device.id)) in now else device
            for device in machine.devices
        ]
        return replace(machine, devices=(*there, *now.values()))


def situation_of(node: Node, ledger: Ledger, allocatable: Mapping[str, Quantity] | None) -> Situation:
    """All plugins of the machine run."""
    plugins = {
        resource: tuple(device for device in node.machine.devices if device.resource == resource)
        for resource in node.device.plugins
    }
    return Situation(node, ledger, allocatable, load_of(node.settings, ledger.active.values()), plugins)


def without_plugins(situation: Situation, resources: Collection[str]) -> Situation:
    """As if the plugins of these resources had never registered: their devices are not known to the kubelet."""
    ledger = situation.ledger
    device = replace(
        ledger.device,
        devices={name: own for name, own in ledger.device.devices.items() if name not in resources},
        healthy={name: own for name, own in ledger.device.healthy.items() if name not in resources},
        connected=ledger.device.connected - frozenset(resources),
    )
    plugins = {name: own for name, own in situation.plugins.items() if name not in resources}
    return replace(situation, ledger=replace(ledger, device=device), plugins=plugins)


def pod_there(situation: Situation, pod: Pod) -> Pod:
    """The pod itself, or the one that is there in its place: it came by the same name before, and had not gone."""
    known = (*situation.ledger.active.values(), *situation.waiting, *situation.refused)
    if any(other.uid == pod.uid for other in known) or not pod.comes_again:
        return pod
    return next((other for other in known if other.full_name == pod.full_name), pod)


def without_pod(situation: Situation, uid: str) -> Situation:
    """The pod is gone, whether it was active, refused or still waiting."""
    settings = situation.node.settings
    return replace(
        situation,
        load=load_beside(settings, situation.load, situation.ledger, uid),
        ledger=release(situation.ledger, uid),
        waiting=_others(situation.waiting, uid),
        refused=_others(situation.refused, uid),
        resizes={other: pod for other, pod in situation.resizes.items() if other != uid},
        unstarted=tuple(item for item in situation.unstarted if item[0] != uid),
    )


def _others(pods: Iterable[Pod], uid: str) -> tuple[Pod, ...]:
    return tuple(pod for pod in pods if pod.uid != uid)
