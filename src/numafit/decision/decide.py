"""The front door of the engine: the managers decide, then the node as a whole must have what the pod asks for.

The second check comes after the allocation, so a pod that is refused by it leaves its CPUs, memory and devices
allocated until stale state is removed (kubelet 1.20 to 1.36).
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decision import OUT_OF, Decision, NodeShort
from numafit.decision.life import release
from numafit.decision.node import Node
from numafit.ledger.ledger import DeviceLedger, Ledger
from numafit.managers.protocol import Choices
from numafit.quantity import Quantity
from numafit.settings.settings import Settings
from numafit.workload.pod import Pod, pod_requests

FIRST = ("cpu", "memory", "ephemeral-storage")
"""Checked in this order; the others follow by name (the kubelet takes them out of a map)."""


class Load(msgspec.Struct, frozen=True):
    """What pods on a node ask for together, in base units (thousandths of a CPU)."""

    pods: int = 0
    amounts: Mapping[str, int] = {}

    def plus(self, wanted: Mapping[str, int], pods: int = 1) -> "Load":
        """With so many pods more (or, below zero, fewer) that ask for `wanted` each."""
        amounts = dict(self.amounts)
        for name, amount in wanted.items():
            amounts[name] = amounts.get(name, 0) + amount * pods
        return Load(self.pods + pods, amounts)


def decide(
    node: Node,
    ledger: Ledger,
    pod: Pod,
    allocatable: Mapping[str, Quantity] | None,
    choices: Choices | None = None,
    others: Load | None = None,
) -> Decision:
    """The managers' decision, then the check against what the node offers as a whole (`allocatable`; None where nobody
    knows that).

    `others` is what the other active pods ask for, where the caller knows it: to add it up takes as long as there are
    pods.
    """
    decision = admit(node, ledger, pod, choices)
    if not decision.admitted or allocatable is None:
        return decision
    if others is None:
        others = load_of(node.settings, (other for uid, other in ledger.active.items() if uid != pod.uid))
    return checked(node.settings, decision, others, allocatable)


def checked(settings: Settings, decision: Decision, others: Load, allocatable: Mapping[str, Quantity]) -> Decision:
    """What the managers admitted, rejected if the node as a whole is short of something beside the `others`."""
    short = shortage(requests_of(settings, decision.pod), others, decision.ledger.device, allocatable)
    if short is None:
        return decision
    numbers = f"requested: {short.asked}, used: {short.used}, capacity: {short.capacity}"
    return replace(
        decision,
        admitted=False,
        reason=f"{OUT_OF}{short.resource}",
        message=f"Node didn't have enough resource: {short.resource}, {numbers}",
        cause=short,
        ledger=release(decision.ledger, decision.pod.uid),
    )


def load_of(settings: Settings, pods: Iterable[Pod]) -> Load:
    count = 0
    amounts: dict[str, int] = {}
    for pod in pods:
        count += 1
        for name, amount in requests_of(settings, pod).items():
            amounts[name] = amounts.get(name, 0) + amount
    return Load(count, amounts)


def load_beside(settings: Settings, load: Load, ledger: Ledger, uid: str) -> Load:
    """The load of all active pods without this one, where it is among them."""
    there = ledger.active.get(uid)
    return load if there is None else load.plus(requests_of(settings, there), -1)


def shortage(
    wanted: Mapping[str, int], others: Load, device: DeviceLedger, allocatable: Mapping[str, Quantity]
) -> NodeShort | None:
    """What the node as a whole is short of."""
    offered = offered_by(device, allocatable)
    if "pods" in offered and others.pods + 1 > offered["pods"]:
        return NodeShort("pods", 1, others.pods, offered["pods"])
    used = others.amounts
    for name in sorted(wanted, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)):
        # A resource that the node does not list at all is dropped from the request.
        if name in offered and wanted[name] > 0 and wanted[name] > offered[name] - used.get(name, 0):
            return NodeShort(name, wanted[name], used.get(name, 0), offered[name])
    return None


def offered_by(device: DeviceLedger, allocatable: Mapping[str, Quantity]) -> dict[str, int]:
    """What the node as a whole has for pods, in the units of `Load`; pods under `pods`."""
    return {name: _amount(name, quantity) for name, quantity in allocatable.items()} | _devices(device)


def requests_of(settings: Settings, pod: Pod) -> dict[str, int]:
    pod_level = settings.gate("PodLevelResources")
    requests = pod_requests(pod, sidecars=settings.behaviour.sidecars, pod_level=pod_level)
    return {name: _amount(name, quantity) for name, quantity in requests.items()}


def _amount(name: str, quantity: Quantity) -> int:
    return quantity.milli() if name == "cpu" else quantity.value()


def _devices(ledger: DeviceLedger) -> dict[str, int]:
    """Healthy devices, but never fewer than are allocated: pods that run survive an outage of their plugin."""
    return {name: max(len(ids), len(ledger.allocated.get(name, ()))) for name, ids in ledger.healthy.items()}
