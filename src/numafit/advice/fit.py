"""How many more pods of a shape fit, what runs out first and where, and what is left that none can use."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Literal

import msgspec
from msgspec.structs import replace

from numafit.advice.alignment import is_aligned
from numafit.advice.propose.knobs import as_new, with_resources
from numafit.decision.admit import admit
from numafit.decision.decide import decide
from numafit.decision.decision import Decision
from numafit.decision.left import left_on_nodes
from numafit.decision.life import start_containers
from numafit.decision.node import Node
from numafit.decision.stage import Stage
from numafit.decision.story import story_of
from numafit.ledger.ledger import Ledger
from numafit.quantity import Quantity
from numafit.workload.manifest import made_up_uid
from numafit.workload.pod import Pod, PodResources, Resources

Turns = Literal["round-robin", "one-by-one"]

MOST_PODS = 10_000
"""A guard: the kubelet's maxPods ends it earlier."""


class Limit(msgspec.Struct, frozen=True):
    """A resource that ran out."""

    resource: str
    needed: int
    """CPUs, bytes or devices, of the container or pod that was refused."""
    short: Mapping[int, int]
    """NUMA node -> what is still free there, where that is too little. Empty: the node as a whole is full."""


class Count(msgspec.Struct, frozen=True):
    shape: Pod
    admitted: int
    aligned: int
    refusal: Decision | None
    """The first rejection."""
    limits: tuple[Limit, ...]
    """Without any one of these the pod would fit; where only several together help, all of them."""
    loose: int
    """How many more of them alone would be admitted if nothing had to be aligned (topology policy none)."""


class Left(msgspec.Struct, frozen=True):
    numa: int
    amounts: Mapping[str, int]
    """Exclusive CPUs, bytes of each memory type, devices of each resource that are free."""


class FitCount(msgspec.Struct, frozen=True):
    counts: tuple[Count, ...]
    left: tuple[Left, ...]


def shapes_of(pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """Pods that differ in more than their names, in the order given."""
    found: list[Pod] = []
    seen: list[Pod] = []
    for pod in pods:
        shape = replace(as_new(pod), uid="", name="")
        if shape not in seen:
            seen.append(shape)
            found.append(pod)
    return tuple(found)


def count_fits(stage: Stage, shapes: Sequence[Pod], turns: Turns = "round-robin") -> FitCount:
    """One pod of each shape in turn, or all of a shape before the next; a shape that is rejected is done."""
    counting = [_Counting(shape) for shape in shapes]
    ledger = settled = stage.ledger
    while live := [each for each in counting if each.refusal is None and each.admitted < MOST_PODS]:
        for each in live if turns == "round-robin" else live[:1]:
            pod = _copy(each.shape, each.admitted)
            decision = stage.decide(ledger, pod)
            if not decision.admitted:
                each.refusal, each.limits = decision, _limits(stage, ledger, pod, decision)
                if decision.panic:
                    return FitCount(tuple(one.count(stage, settled) for one in counting), left_on(stage.node, settled))
                # What a rejected pod leaves behind goes at the next admission: it is not shown as held.
                ledger = decision.ledger
                continue
            each.admitted += 1
            each.aligned += is_aligned(stage.node, decision)
            ledger = settled = start_containers(stage.node, decision.ledger, pod.uid)
    return FitCount(tuple(each.count(stage, settled) for each in counting), left_on(stage.node, settled))


class _Counting:
    def __init__(self, shape: Pod) -> None:
        self.shape = shape
        self.admitted = 0
        self.aligned = 0
        self.refusal: Decision | None = None
        self.limits: tuple[Limit, ...] = ()

    def count(self, stage: Stage, ledger: Ledger) -> Count:
        loose = _loose(stage, ledger, self.shape, self.admitted)
        return Count(self.shape, self.admitted, self.aligned, self.refusal, self.limits, loose)


def left_on(node: Node, ledger: Ledger) -> tuple[Left, ...]:
    left = []
    for own in left_on_nodes(node, ledger):
        cpus = {"cpu": own.cpus.bit_count()} if node.cpu.static else {}
        devices = {resource: len(ids) for resource, ids in own.devices.items()}
        left.append(Left(own.numa, {**cpus, **own.memory, **devices}))
    return tuple(left)


def _copy(shape: Pod, number: int) -> Pod:
    name = f"{shape.name}-fit-{number}"
    return as_new(replace(shape, name=name, uid=made_up_uid(shape.namespace, name)))


def _loose(stage: Stage, ledger: Ledger, shape: Pod, number: int) -> int:
    node = replace(stage.node, topology=replace(stage.node.topology, policy="none"))
    count = 0
    while count < MOST_PODS:
        pod = _copy(shape, number + count)
        decision = decide(node, ledger, pod, stage.allocatable)
        if not decision.admitted:
            break
        ledger = start_containers(node, decision.ledger, pod.uid)
        count += 1
    return count


def _limits(stage: Stage, ledger: Ledger, pod: Pod, refusal: Decision) -> tuple[Limit, ...]:
    """The resource that the kubelet names, or the smallest sets without which the managers would admit the pod."""
    if refusal.shortage:
        return (Limit(refusal.shortage, 0, {}),)
    resources = sorted({name for each in pod.all_containers for name in (*each.requests, *each.limits)})
    for size in range(1, len(resources) + 1):
        found: set[str] = set()
        for dropped in combinations(resources, size):
            if admit(stage.node, ledger, _without(pod, dropped)).admitted:
                found.update(dropped)
        if found:
            return tuple(_limit(stage.node, refusal, name) for name in sorted(found))
    return ()


def _limit(node: Node, refusal: Decision, resource: str) -> Limit:
    for chapter in reversed(story_of(node, refusal).chapters):
        for row in chapter.grid:
            if row.resource == resource:
                return Limit(
                    resource, row.needed, {cell.numa: cell.free for cell in row.cells if cell.free < row.needed}
                )
    return Limit(resource, 0, {})


def _without(pod: Pod, dropped: Sequence[str]) -> Pod:
    """Next to nothing of these resources: a pod without any CPU or memory would have another QoS class."""
    changed = pod
    for container in pod.all_containers:
        changed = with_resources(
            changed, container.name, _least(container.requests, dropped), _least(container.limits, dropped)
        )
    own = pod.resources
    if own is None:
        return changed
    return replace(changed, resources=PodResources(_least(own.requests, dropped), _least(own.limits, dropped)))


def _least(resources: Resources, dropped: Sequence[str]) -> dict[str, Quantity]:
    least = {"cpu": Quantity(1, -3), "memory": Quantity(1)}
    kept = {name: quantity for name, quantity in resources.items() if name not in dropped}
    return kept | {name: least[name] for name in least if name in dropped and name in resources}
