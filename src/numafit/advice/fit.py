"""How many more pods of a shape fit, what runs out first and where, and what is left that none can use."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from numafit.advice.alignment import is_aligned
from numafit.advice.propose.knobs import as_new
from numafit.advice.stop import Limit, Stop, limits_of, stop_of
from numafit.decision.decide import Load, decide, load_of, requests_of
from numafit.decision.decision import Decision
from numafit.decision.left import left_on_nodes
from numafit.decision.life import start_containers
from numafit.decision.node import Node
from numafit.decision.notes import crash_note
from numafit.decision.stage import Stage
from numafit.ledger.ledger import Ledger
from numafit.managers.ask import ask_of
from numafit.notes import Note
from numafit.workload.manifest import made_up_uid
from numafit.workload.pod import Pod

Turns = Literal["round-robin", "one-by-one"]

MOST_PODS = 10_000
"""A guard: the kubelet's maxPods ends it earlier."""


class Count(msgspec.Struct, frozen=True):
    shape: Pod
    admitted: int
    aligned: int
    refusal: Decision | None
    """The first rejection."""
    stop: Stop | None
    """The rule behind it."""
    limits: tuple[Limit, ...]
    """Without any one of these the managers would admit the pod; where only several together help, all of them."""
    loose: int
    """How many more of them alone would be admitted if nothing had to be aligned (topology policy none)."""


class Left(msgspec.Struct, frozen=True):
    numa: int
    amounts: Mapping[str, int]
    """Exclusive CPUs, bytes of each memory type, devices of each resource that are free."""


class FitCount(msgspec.Struct, frozen=True):
    counts: tuple[Count, ...]
    left: tuple[Left, ...]
    full: bool = True
    """No further pod of these shapes is admitted: what is left is stranded."""
    shared: bool = False
    """Some of these pods run in the shared pool, so on CPUs that are left."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Of a count that a crash of the kubelet ended."""
        uncounted = [count.shape.full_name for count in self.counts if count.refusal is None]
        return tuple(
            crash_note(count.refusal, count.shape.full_name, uncounted, "not counted further")
            for count in self.counts
            if count.refusal is not None and count.refusal.panic
        )


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
    """One pod of each shape in turn, or all of a shape before the next; a shape that is rejected is done.

    Nobody is evicted for a critical one: what fits, fits beside those that are there.
    """
    node = stage.node
    counting = [_Counting(shape) for shape in shapes]
    ledger = settled = stage.ledger
    load = load_of(node.settings, ledger.active.values())
    crashed = False
    while not crashed and (live := [each for each in counting if each.refusal is None and each.admitted < MOST_PODS]):
        for each in live if turns == "round-robin" else live[:1]:
            pod = _copy(each.shape, each.admitted)
            decision = stage.decide(ledger, pod, load, evicts=False)
            if not decision.admitted:
                each.refuse(stage, ledger, pod, decision)
                crashed = bool(decision.panic)
                if crashed:
                    break
                # What a rejected pod leaves behind goes at the next admission: it is not shown as held.
                ledger = decision.ledger
                continue
            each.admitted += 1
            each.aligned += is_aligned(node, decision)
            load = load.plus(requests_of(node.settings, pod))
            ledger = settled = start_containers(node, decision.ledger, pod.uid)[0]
    counts = tuple(each.count(stage, settled, load) for each in counting)
    further = [_copy(each.shape, each.admitted + 1) for each in counting]
    full = not crashed and not any(stage.decide(settled, pod, load, evicts=False).admitted for pod in further)
    return FitCount(counts, left_on(node, settled), full, any(_shares(node, shape) for shape in shapes))


class _Counting:
    def __init__(self, shape: Pod) -> None:
        self.shape = shape
        self.admitted = 0
        self.aligned = 0
        self.refusal: Decision | None = None
        self.stop: Stop | None = None
        self.limits: tuple[Limit, ...] = ()

    def refuse(self, stage: Stage, ledger: Ledger, pod: Pod, refusal: Decision) -> None:
        self.refusal = refusal
        self.stop = stop_of(stage, refusal)
        self.limits = () if refusal.panic or self.stop.is_uneven else limits_of(stage, ledger, pod, refusal)

    def count(self, stage: Stage, ledger: Ledger, load: Load) -> Count:
        loose = _loose(stage, ledger, load, self.shape, self.admitted)
        return Count(self.shape, self.admitted, self.aligned, self.refusal, self.stop, self.limits, loose)


def left_on(node: Node, ledger: Ledger) -> tuple[Left, ...]:
    left = []
    for own in left_on_nodes(node, ledger):
        cpus = {"cpu": own.cpus.bit_count()} if node.cpu.static else {}
        devices = {resource: len(ids) for resource, ids in own.devices.items()}
        left.append(Left(own.numa, {**cpus, **own.memory, **devices}))
    return tuple(left)


def _shares(node: Node, shape: Pod) -> bool:
    """A container without exclusive CPUs, where others have some."""
    ask = ask_of(shape, node.settings)
    return node.cpu.static and (ask.pod_level == "skipped" or not all(ask.cpus[each.name] for each in shape.containers))


def _copy(shape: Pod, number: int) -> Pod:
    name = f"{shape.name}-fit-{number}"
    return as_new(replace(shape, name=name, uid=made_up_uid(shape.namespace, name)))


def _loose(stage: Stage, ledger: Ledger, load: Load, shape: Pod, number: int) -> int:
    node = replace(stage.node, topology=replace(stage.node.topology, policy="none"))
    count = 0
    while count < MOST_PODS:
        pod = _copy(shape, number + count)
        decision = decide(node, ledger, pod, stage.allocatable, others=load, evicts=False)
        if not decision.admitted:
            break
        load = load.plus(requests_of(node.settings, pod))
        ledger = start_containers(node, decision.ledger, pod.uid)[0]
        count += 1
    return count
