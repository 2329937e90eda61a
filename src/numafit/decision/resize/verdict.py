"""What the kubelet says to a resize: allocated at once, put off, or infeasible.

A pod is judged as if it came with the new resources: by its managers, then by the sums of the node beside what the
*other* pods have been allocated. Allocated, its new resources count from then on, whether its containers feel them yet
or not. Put off (`Deferred`), it runs on as it was.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from numafit.decision.admit import admit, placements_of
from numafit.decision.decide import Load, checked, load_beside, load_of, requests_of, suited
from numafit.decision.decision import Decision, ResizeRefused, ResizeVerdict
from numafit.decision.node import Node
from numafit.decision.resize.request import INIT_GATE, NODE_TOO_SMALL
from numafit.ledger.ledger import Hint, Ledger
from numafit.managers.ask import qos_of
from numafit.managers.protocol import Choices
from numafit.quantity import Quantity
from numafit.settings.settings import Settings
from numafit.workload.pod import GUARANTEED, Container, Pod

CPU_GATE = "InPlacePodVerticalScalingExclusiveCPUs"
MEMORY_GATE = "InPlacePodVerticalScalingExclusiveMemory"
SCHEDULER_GATE = "InPlacePodVerticalScalingSchedulerPreemption"
STATIC_CPU = "static-cpu"
STATIC_MEMORY = "static-memory"
"""Codes of `ResizeRefused`, beside those of `request`."""
DEFERRED = "Deferred"
INFEASIBLE = "Infeasible"


class Infeasible(NamedTuple):
    cause: ResizeRefused
    message: str


def try_resize(
    node: Node,
    ledger: Ledger,
    wanted: Pod,
    allocatable: Mapping[str, Quantity] | None,
    choices: Choices | None = None,
    others: Load | None = None,
) -> Decision:
    """What the kubelet says now. `others` is what the other active pods have been allocated, where that is known."""
    pod = ledger.active[wanted.uid]
    settings = node.settings
    infeasible = infeasibility(node, pod, wanted, allocatable)
    if infeasible is not None:
        message = infeasible.message if settings.behaviour.resize_told else ""
        return not_asked(node, ledger, wanted, "Infeasible", INFEASIBLE, message, infeasible.cause)
    decision = admit(node, ledger, _as_asked(settings, pod, wanted), choices, "resize")
    if decision.admitted and allocatable is not None:
        if others is None:
            others = load_beside(settings, load_of(settings, ledger.active.values()), ledger, wanted.uid)
        # A critical pod evicts others to grow, too, unless that is the scheduler's business (1.37, alpha).
        evicts = not settings.gate(SCHEDULER_GATE)
        suits = suited(node, decision.ledger, wanted)
        decision = checked(settings, decision, others, allocatable, choices, evicts=evicts, suits=suits)
    affinity = _affinity(ledger, decision)
    decision = replace(decision, pod=wanted)
    if decision.admitted:
        active = {**decision.ledger.active, wanted.uid: wanted}
        after = replace(decision.ledger, active=active, affinity=affinity)
        return replace(decision, resize="allocated", ledger=after)
    after = replace(decision.ledger, active=ledger.active, affinity=affinity)
    message = decision.message if settings.behaviour.resize_told else ""
    if decision.panic:
        return replace(decision, ledger=after)
    return replace(decision, resize="Deferred", reason=DEFERRED, message=message, ledger=after)


def infeasibility(node: Node, pod: Pod, wanted: Pod, allocatable: Mapping[str, Quantity] | None) -> Infeasible | None:
    """Why the kubelet would never allocate it, whoever else is on the node."""
    settings = node.settings
    behaviour = settings.behaviour
    if qos_of(wanted, settings) == GUARANTEED and behaviour.resize_static != "ignored":
        by_change = behaviour.resize_static == "changed"
        if node.cpu.static and not settings.gate(CPU_GATE) and not (by_change and _same(settings, pod, wanted, "cpu")):
            policy = 'policy "static"' if by_change else "static policy"
            text = f"Resize is infeasible for Guaranteed Pods alongside CPU Manager {policy}"
            return Infeasible(ResizeRefused(STATIC_CPU), text)
        if (
            behaviour.resize_static_memory
            and node.memory is not None
            and node.memory.static
            and not settings.gate(MEMORY_GATE if by_change else CPU_GATE)
            and not (by_change and _same(settings, pod, wanted, "memory"))
        ):
            policy = 'policy "Static"' if by_change else "static policy"
            text = f"Resize is infeasible for Guaranteed Pods alongside Memory Manager {policy}"
            return Infeasible(ResizeRefused(STATIC_MEMORY), text)
    if not behaviour.resize_capacity or allocatable is None:
        return None
    asked = requests_of(settings, wanted)
    for name in ("memory", "cpu"):
        if name not in allocatable:
            continue
        capacity = allocatable[name].milli() if name == "cpu" else allocatable[name].value()
        if asked.get(name, 0) > capacity:
            facts: dict[str, str | int] = {"resource": name, "asked": asked[name], "capacity": capacity}
            text = f"Node didn't have enough capacity: {name}, requested: {asked[name]}, capacity: {capacity}"
            return Infeasible(ResizeRefused(NODE_TOO_SMALL, facts), text)
    return None


def _same(settings: Settings, pod: Pod, wanted: Pod, resource: str) -> bool:
    """Requests are compared, container by container: those of a Guaranteed pod are its limits."""
    init = settings.gate(INIT_GATE)
    pairs = zip(pod.all_containers, wanted.all_containers, strict=True)
    return all(
        own.requests.get(resource) == new.requests.get(resource)
        for own, new in pairs
        if new in wanted.containers or new.restartable or init
    )


def _as_asked(settings: Settings, pod: Pod, wanted: Pod) -> Pod:
    """Where managers read what a container has been allocated (up to 1.34), that is what it has until now."""
    if not settings.behaviour.allocated_resources:
        return wanted
    had = {own.name: own.requests for own in pod.all_containers}

    def told(own: Container) -> Container:
        return replace(own, allocated=had[own.name])

    return replace(
        wanted,
        containers=tuple(told(own) for own in wanted.containers),
        init_containers=tuple(told(own) for own in wanted.init_containers),
    )


def _affinity(ledger: Ledger, decision: Decision) -> Mapping[str, Mapping[str, Hint]]:
    """The merged hints of the containers that were looked at stay, also where the resize is put off."""
    uid = decision.pod.uid
    own = dict(ledger.affinity.get(uid, {}))
    for name, placement in decision.containers.items():
        if name in own or placement.affinity != (None, False):
            own[name] = placement.affinity
    return {**ledger.affinity, uid: own} if own else ledger.affinity


def not_asked(
    node: Node,
    ledger: Ledger,
    wanted: Pod,
    verdict: ResizeVerdict,
    reason: str = "",
    message: str = "",
    cause: ResizeRefused | None = None,
) -> Decision:
    """A decision for which no manager was asked. Without a cause the pod has what it wants."""
    qos = qos_of(wanted, node.settings)
    held = placements_of(ledger, wanted)
    admitted = cause is None
    return Decision(wanted, qos, admitted, ledger, reason, message, None, held, cause=cause, resize=verdict)
