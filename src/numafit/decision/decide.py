"""The front door of the engine: the managers decide, then the node as a whole must have what the pod asks for.

The second check comes after the allocation, so a pod that is refused by it leaves its CPUs, memory and devices
allocated until stale state is removed (kubelet 1.20 to 1.36).
"""

from collections.abc import Mapping

from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decision import OUT_OF, Decision
from numafit.decision.life import release
from numafit.decision.node import Node
from numafit.ledger.ledger import DeviceLedger, Ledger
from numafit.managers.protocol import Choices
from numafit.quantity import Quantity
from numafit.settings.settings import Settings
from numafit.workload.pod import Pod, pod_requests

FIRST = ("cpu", "memory", "ephemeral-storage")
"""Checked in this order; the others follow by name (the kubelet takes them out of a map)."""


def decide(
    node: Node, ledger: Ledger, pod: Pod, allocatable: Mapping[str, Quantity], choices: Choices | None = None
) -> Decision:
    """The managers' decision, then the check against what the node offers as a whole (`allocatable`)."""
    decision = admit(node, ledger, pod, choices)
    if not decision.admitted:
        return decision
    refusal = _shortage(node.settings, decision.ledger, pod, allocatable)
    if refusal is None:
        return decision
    resource, numbers = refusal
    return replace(
        decision,
        admitted=False,
        reason=f"{OUT_OF}{resource}",
        shortage=resource,
        message=f"Node didn't have enough resource: {resource}, {numbers}",
        ledger=release(decision.ledger, pod.uid),
    )


def _shortage(
    settings: Settings, ledger: Ledger, pod: Pod, allocatable: Mapping[str, Quantity]
) -> tuple[str, str] | None:
    others = [other for uid, other in ledger.active.items() if uid != pod.uid]
    offered = {name: _amount(name, quantity) for name, quantity in allocatable.items()}
    for name, count in _devices(ledger.device).items():
        offered[name] = count
    if "pods" in offered and len(others) + 1 > offered["pods"]:
        return "pods", f"requested: 1, used: {len(others)}, capacity: {offered['pods']}"
    wanted = _requests(settings, pod)
    used: dict[str, int] = {}
    for other in others:
        for name, amount in _requests(settings, other).items():
            used[name] = used.get(name, 0) + amount
    for name in sorted(wanted, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name)):
        # A resource that the node does not list at all is dropped from the request.
        if name in offered and wanted[name] > 0 and wanted[name] > offered[name] - used.get(name, 0):
            return name, f"requested: {wanted[name]}, used: {used.get(name, 0)}, capacity: {offered[name]}"
    return None


def _amount(name: str, quantity: Quantity) -> int:
    return quantity.milli() if name == "cpu" else quantity.value()


def _requests(settings: Settings, pod: Pod) -> dict[str, int]:
    pod_level = settings.gate("PodLevelResources")
    requests = pod_requests(pod, sidecars=settings.behaviour.sidecars, pod_level=pod_level)
    return {name: _amount(name, quantity) for name, quantity in requests.items()}


def _devices(ledger: DeviceLedger) -> dict[str, int]:
    """Healthy devices, but never fewer than are allocated: pods that run survive an outage of their plugin."""
    return {name: max(len(ids), len(ledger.allocated.get(name, ()))) for name, ids in ledger.healthy.items()}
