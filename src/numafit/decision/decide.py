"""The front door of the engine: the managers decide, then the node as a whole must have what the pod asks for.

The second check comes after the allocation, so a pod that is refused by it leaves its CPUs, memory and devices
allocated until stale state is removed (kubelet 1.20 to 1.37). For a critical pod others are evicted instead; what the
managers gave it was found while those were still there.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decision import (
    OUT_OF,
    PREEMPTED,
    PREEMPTING,
    Decision,
    NodeShort,
    NothingToEvict,
    Preempted,
    Unsuited,
)
from numafit.decision.filters import SUITED, Filtered, filtered
from numafit.decision.life import release
from numafit.decision.node import Node
from numafit.decision.preempt import PODS, NoVictims, Victim, victims_for
from numafit.ledger.ledger import DeviceLedger, Ledger
from numafit.managers.protocol import UNEXPECTED, Choices
from numafit.quantity import Quantity
from numafit.settings.settings import Settings
from numafit.workload.api_server import is_extended
from numafit.workload.pod import STORAGE, Container, Pod, pod_requests

FIRST = ("cpu", "memory", STORAGE)
"""Checked in this order; the others follow by name (the kubelet takes them out of a map)."""
_NO_SET = (
    "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to "
    "preempt: no set of running pods found to reclaim resources: "
)


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
    *,
    evicts: bool = True,
) -> Decision:
    """The managers' decision, then the check against what the node offers as a whole (`allocatable`; None where nobody
    knows that).

    `others` is what the other active pods ask for, where the caller knows it: to add it up takes as long as there are
    pods. Without `evicts` a critical pod is refused like any other, which no kubelet does: for those who ask what fits
    beside the pods that are there.
    """
    decision = admit(node, ledger, pod, choices)
    if not decision.admitted or allocatable is None:
        return decision
    if others is None:
        others = load_of(node.settings, (other for uid, other in ledger.active.items() if uid != pod.uid))
    suits = suited(node, decision.ledger, pod)
    return checked(node.settings, decision, others, allocatable, choices, evicts=evicts, suits=suits)


def suited(node: Node, ledger: Ledger, pod: Pod) -> Filtered:
    """Whether the node is one that the pod wants, beside the other active pods."""
    return filtered(node, pod, (other for uid, other in ledger.active.items() if uid != pod.uid))


def checked(
    settings: Settings,
    decision: Decision,
    others: Load,
    allocatable: Mapping[str, Quantity],
    choices: Choices | None = None,
    *,
    evicts: bool = True,
    suits: Filtered = SUITED,
) -> Decision:
    """What the managers admitted, rejected if the node as a whole is short of something beside the `others`, or does
    not suit the pod.

    Of the kubelet's list of failures the first is the reason. It begins with resources; labels, ports and taints of the
    node, which nobody evicts for, follow, and then alone are what a critical pod is refused for.
    """
    if suits.first is not None:
        return _unsuited(decision, suits.first)
    offered = offered_by(decision.ledger.device, allocatable, decision.pod.uid)
    short = shortages(settings, wanted_of(settings, decision.pod, offered), others, offered)
    critical = decision.pod.critical and evicts
    if not short or (critical and suits.beside):
        unsuited = suits.beside[0] if suits.beside else suits.last
        return decision if unsuited is None else _unsuited(decision, unsuited)
    decision = replace(decision, short=short)
    if critical:
        decision = _recovered(settings, decision, choices or Choices())
        return _unsuited(decision, suits.last) if decision.admitted and suits.last is not None else decision
    first = short[0]
    numbers = f"requested: {first.asked}, used: {first.used}, capacity: {first.capacity}"
    message = f"Node didn't have enough resource: {first.resource}, {numbers}"
    return _refused(decision, f"{OUT_OF}{first.resource}", message, first)


def _unsuited(decision: Decision, cause: Unsuited) -> Decision:
    return _refused(decision, cause.reason, cause.message, cause)


def _refused(decision: Decision, reason: str, message: str, cause: NodeShort | NothingToEvict | Unsuited) -> Decision:
    ledger = release(decision.ledger, decision.pod.uid)
    return replace(decision, admitted=False, reason=reason, message=message, cause=cause, ledger=ledger)


# --- critical pods ---------------------------------------------------------------------------------------------------


def _recovered(settings: Settings, decision: Decision, choices: Choices) -> Decision:
    """A critical pod after others have gone for it, or refused because too few may go.

    The kubelet waits for the containers of each victim to end, and longer than their grace period for none. Then they
    are no longer active; what the managers gave them is free when stale state is removed.
    """
    others = (other for uid, other in decision.ledger.active.items() if uid != decision.pod.uid)
    found = victims_for(settings, decision.pod, others, decision.short, choices)
    if isinstance(found, NoVictims):
        listed = "".join(f"(res: {name}, q: {amount}), " for name, amount in found.missing.items())
        cause = NothingToEvict(decision.short, found.missing, found.candidates)
        return _refused(decision, UNEXPECTED, f"{_NO_SET}[{listed}]", cause)
    ledger = decision.ledger
    evicted = []
    for victim in found:
        ledger = release(ledger, victim.pod.uid)
        evicted.append(_evicted(victim, ledger, decision.pod))
    return replace(decision, ledger=ledger, evicted=tuple(evicted))


def _evicted(victim: Victim, ledger: Ledger, by: Pod) -> Decision:
    choice = (victim.missing, victim.frees, victim.distance, victim.among, victim.equals, victim.larger)
    cause = Preempted(by.full_name, victim.qos, *choice)
    return Decision(victim.pod, victim.qos, False, ledger, PREEMPTING, PREEMPTED, cause=cause)


# --- what pods ask for -----------------------------------------------------------------------------------------------


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


def load_after(settings: Settings, others: Load, decision: Decision) -> Load:
    """With the pod beside the others if it was admitted, and without those that were evicted for it."""
    for victim in decision.evicted:
        others = others.plus(requests_of(settings, victim.pod), -1)
    return others.plus(requests_of(settings, decision.pod)) if decision.admitted else others


def requests_of(settings: Settings, pod: Pod) -> dict[str, int]:
    requests = pod_requests(
        pod,
        sidecars=settings.behaviour.fit_sidecars,
        pod_level=settings.gate("PodLevelResources"),
        overhead=settings.was_on("PodOverhead"),
    )
    return {name: _amount(name, quantity) for name, quantity in requests.items()}


def wanted_of(settings: Settings, pod: Pod, offered: Mapping[str, int]) -> dict[str, int]:
    """What the fit check looks at: without extended resources of containers that the node does not list."""
    wanted = requests_of(settings, pod)
    dropped = {name for name in wanted if name not in offered and is_extended(name)}
    if not dropped:
        return wanted
    init = pod.init_containers
    if settings.behaviour.init_requests_dropped:
        init = tuple(_without(container, dropped) for container in init)
    containers = tuple(_without(container, dropped) for container in pod.containers)
    return requests_of(settings, replace(pod, containers=containers, init_containers=init))


def _without(container: Container, dropped: set[str]) -> Container:
    requests = {name: amount for name, amount in container.requests.items() if name not in dropped}
    return replace(container, requests=requests)


# --- what the node has -----------------------------------------------------------------------------------------------


def shortages(
    settings: Settings, wanted: Mapping[str, int], others: Load, offered: Mapping[str, int]
) -> tuple[NodeShort, ...]:
    """All that the node as a whole is short of, in the kubelet's order.

    Pods, CPUs, memory and storage of which nobody told how much there is are not compared. Of huge pages that the node
    does not list it has none. `wanted` is that of `wanted_of`.
    """
    short: list[NodeShort] = []
    if not offered:
        return ()
    if PODS in offered and others.pods + 1 > offered[PODS]:
        short.append(NodeShort(PODS, 1, others.pods, offered[PODS]))
    used = others.amounts
    behaviour = settings.behaviour
    scalars = sorted(name for name in wanted if name not in FIRST and _is_scalar(name))
    if not scalars and not any(wanted.get(name, 0) for name in FIRST):
        return tuple(short)
    for name in FIRST:
        asked = wanted.get(name, 0)
        if name not in offered or (asked == 0 and behaviour.fit_skips_zero):
            continue
        if name == STORAGE and not settings.was_on("LocalStorageCapacityIsolation"):
            continue
        if asked > offered[name] - used.get(name, 0):
            short.append(NodeShort(name, asked, used.get(name, 0), offered[name]))
    for name in scalars:
        asked, capacity = wanted[name], offered.get(name, 0)
        if (asked == 0 and behaviour.fit_skips_zero_scalars) or _is_delegated(settings, name, offered):
            continue
        if asked > capacity - used.get(name, 0):
            short.append(NodeShort(name, asked, used.get(name, 0), capacity))
    return tuple(short)


def _is_scalar(name: str) -> bool:
    """Names of other kinds the fit check does not know: nobody counts them."""
    return is_extended(name) or name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name


def _is_delegated(settings: Settings, name: str, offered: Mapping[str, int]) -> bool:
    delegates = settings.behaviour.dra_delegates
    if delegates == "nothing" or not settings.gate("DRAExtendedResource"):
        return False
    return name not in offered if delegates == "unlisted" else offered.get(name, 0) <= 0


def offered_by(device: DeviceLedger, allocatable: Mapping[str, Quantity], uid: str = "") -> dict[str, int]:
    """What the node as a whole has for pods, in the units of `Load`; pods under `pods`. Empty where it is not known.

    The node lists the healthy devices. For a pod that holds devices, and for no other, that is raised to what is
    allocated: pods that run survive an outage of their plugin.
    """
    if not allocatable:
        return {}
    offered = {name: _amount(name, quantity) for name, quantity in allocatable.items()}
    offered.update((name, len(ids)) for name, ids in device.healthy.items())
    if uid in device.held:
        for name, ids in device.allocated.items():
            offered[name] = max(offered.get(name, 0), len(ids))
    return offered


def _amount(name: str, quantity: Quantity) -> int:
    return quantity.milli() if name == "cpu" else quantity.value()
