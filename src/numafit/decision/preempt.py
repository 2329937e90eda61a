"""Who must go for a critical pod: the pods that the kubelet evicts when the node as a whole is full (1.20 to 1.37).

It looks at each QoS class in turn. First the Guaranteed pods that would have to go if every Burstable and BestEffort
one were gone; then the Burstable ones that have to go beside those if every BestEffort one were gone; then the
BestEffort ones beside both. In a class the pod nearest to what is missing goes first, again and again, until nothing is
missing. How near is a sum over resources: the share that would still be missing, squared.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from numafit.decision.decision import NodeShort
from numafit.managers.ask import qos_of
from numafit.managers.protocol import Choices
from numafit.quantity import Quantity
from numafit.settings.settings import Settings
from numafit.workload.pod import (
    BEST_EFFORT,
    BURSTABLE,
    GUARANTEED,
    STORAGE,
    Pod,
    container_requests,
    is_pod_level,
)

PODS = "pods"
CLASSES = (BEST_EFFORT, BURSTABLE, GUARANTEED)
"""In the order in which their victims are evicted; they are chosen the other way round."""


class Victim(msgspec.Struct, frozen=True):
    pod: Pod
    qos: str
    missing: Mapping[str, int]
    """What was missing when its turn came, with the classes below its own gone. CPUs are counted in thousandths."""
    frees: Mapping[str, int]
    """What it gives back of that; more than is missing, maybe."""
    distance: float
    among: int
    """So many pods of its class could have gone, itself included."""
    equals: int
    """So many others were as near, with as much memory and CPU: which of them goes is left to chance."""
    larger: int = 0
    """So many others were as near, and ask for more memory, or for as much and more CPU."""


class NoVictims(msgspec.Struct, frozen=True):
    missing: Mapping[str, int]
    """What would be missing even without all the pods that may go."""
    candidates: int


def may_evict(preemptor: Pod, other: Pod) -> bool:
    """A pod without a priority is never lower than another."""
    if preemptor.critical and not other.critical:
        return True
    return preemptor.priority is not None and other.priority is not None and preemptor.priority > other.priority


def victims_for(
    settings: Settings, preemptor: Pod, others: Iterable[Pod], short: Sequence[NodeShort], choices: Choices
) -> tuple[Victim, ...] | NoVictims:
    """In the order in which they are evicted. `others` are the active pods, oldest first."""
    missing = {each.resource: each.missing for each in short}
    classes: dict[str, list[_Candidate]] = {qos: [] for qos in CLASSES}
    for other in others:
        if may_evict(preemptor, other):
            qos = qos_of(other, settings)
            if qos in classes:
                classes[qos].append(_Candidate(other, qos, _frees(settings, other, missing)))
    best_effort, burstable, guaranteed = (classes[qos] for qos in CLASSES)
    unmet = _without(missing, [*best_effort, *burstable, *guaranteed])
    if unmet:
        return NoVictims(unmet, len(best_effort) + len(burstable) + len(guaranteed))
    first = _nearest(guaranteed, _without(missing, [*best_effort, *burstable]), choices)
    gone = [each.candidate for each in first]
    second = _nearest(burstable, _without(missing, [*best_effort, *gone]), choices)
    gone = [*(each.candidate for each in second), *gone]
    third = _nearest(best_effort, _without(missing, gone), choices)
    return tuple(each.victim for each in (*third, *second, *first))


class _Candidate(msgspec.Struct, frozen=True):
    pod: Pod
    qos: str
    frees: Mapping[str, int]
    """Of each resource that is short, and of memory and cpu, by which equals are told apart."""


class _Chosen(msgspec.Struct, frozen=True):
    candidate: _Candidate
    victim: Victim


def _nearest(candidates: Sequence[_Candidate], missing: Mapping[str, int], choices: Choices) -> list[_Chosen]:
    left = list(candidates)
    chosen: list[_Chosen] = []
    while missing:
        ranks = [(_distance(missing, each), each.frees["memory"], each.frees["cpu"]) for each in left]
        best = min(ranks)
        equal = {each.pod.uid: each for each, rank in zip(left, ranks, strict=True) if rank == best}
        # The kubelet takes the last of equal pods, in an order that comes out of a map.
        taken = equal[choices.victim(list(equal))]
        frees = {name: taken.frees[name] for name in missing}
        near = sum(rank[0] == best[0] for rank in ranks)
        victim = Victim(taken.pod, taken.qos, missing, frees, best[0], len(left), len(equal) - 1, near - len(equal))
        chosen.append(_Chosen(taken, victim))
        left.remove(taken)
        missing = _without(missing, [taken])
    return chosen


def _distance(missing: Mapping[str, int], candidate: _Candidate) -> float:
    distance = 0.0
    for name, amount in missing.items():
        remaining = amount - candidate.frees[name]
        if remaining > 0:
            # Both as floats before the division, as in Go.
            share = float(remaining) / float(amount)
            distance += share * share
    return distance


def _without(missing: Mapping[str, int], gone: Sequence[_Candidate]) -> dict[str, int]:
    left = {name: amount - sum(each.frees[name] for each in gone) for name, amount in missing.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _frees(settings: Settings, pod: Pod, missing: Iterable[str]) -> dict[str, int]:
    """Not what the fit check adds up: overhead counts only beside a request, and before 1.34 a sidecar counts as an
    ordinary init container and pod-level resources not at all."""
    if settings.behaviour.victims_by_whole_pod:
        own = pod.resources
        by_pod = own is not None and any(is_pod_level(name) for name in (*own.requests, *own.limits))
        # With the gate off the containers count too, and pod-level requests all the same.
        totals = {} if by_pod and settings.gate("PodLevelResources") else container_requests(pod, sidecars=True)
        if own is not None:
            totals.update((name, amount) for name, amount in own.requests.items() if is_pod_level(name))
    else:
        totals = container_requests(pod, sidecars=False)
    frees = {name: _amount(settings, pod, name, totals.get(name)) for name in (*missing, "memory", "cpu")}
    return frees | {PODS: 1}


def _amount(settings: Settings, pod: Pod, name: str, total: Quantity | None) -> int:
    if total is None or (name == STORAGE and not settings.was_on("LocalStorageCapacityIsolation")):
        return 0
    if name in pod.overhead and not total.is_zero and settings.was_on("PodOverhead"):
        total = total + pod.overhead[name]
    return total.milli() if name == "cpu" else total.value()
