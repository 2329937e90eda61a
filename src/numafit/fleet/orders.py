"""Pods that are promised to one node and that its kubelet has not decided yet: they come in an order nobody knows.

A further pod is promised only where every order admits all of them. Pods of which the managers keep nothing change
nothing for each other but sums, and those are looked at as if each came last. Of the others the orders are tried one by
one, so that few are promised at once; which of two that are alike comes first makes no difference, so that of these it
may be more. Where init containers need more than what is left when they have ended, the next pod may come before that,
or after it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import factorial, prod

import msgspec

from numafit.decision.decide import load_beside, offered_by, requests_of, shortages, wanted_of
from numafit.decision.filters import filtered
from numafit.decision.verdicts import same_for_managers
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import FleetVerdict, VerdictMemory, shape_digest
from numafit.workload.pod import Pod

MOST_ORDERED = 3
"""Promised pods that are all unlike each other, the new one included, whose orders are tried."""
MOST_ALIKE = 16
"""Promised pods, where most of them are alike."""
PROMISED = "Promised"
"""The reason where the node has no room beside what is promised to it, in some order."""


class PromisedPod(msgspec.Struct, frozen=True):
    pod: Pod
    shape: bytes


def promise_of(pod: Pod) -> PromisedPod:
    return PromisedPod(pod, shape_digest(pod))


def together(
    state: NodeState, promised: Sequence[PromisedPod], new: PromisedPod, memory: VerdictMemory
) -> FleetVerdict:
    """Whether the pod is admitted beside those that are promised, whoever comes first."""
    alone = memory.verdict(state, new.pod, new.shape)
    if not promised or not alone.admitted:
        return alone
    key = (state.key, new.shape, *sorted(own.shape for own in promised))
    found = memory.recall(key)
    if found is None:
        found = _together(state, (*promised, new), memory)
        memory.remember(key, found)
    return found


def _together(state: NodeState, all_of_them: Sequence[PromisedPod], memory: VerdictMemory) -> FleetVerdict:
    shapes = {own.shape: own for own in all_of_them}
    kept = {shape: own for shape, own in shapes.items() if _is_kept(state, own, memory)}
    numbers = Counter(own.shape for own in all_of_them if own.shape in kept)
    orders = factorial(numbers.total()) // prod(map(factorial, numbers.values()))
    if numbers.total() > MOST_ALIKE or orders > factorial(MOST_ORDERED):
        return FleetVerdict(False, PROMISED, "others are promised to it, and not decided yet")
    cost = 0.0
    slow = any(own.pod.init_containers for own in kept.values())
    for order, started in product(_orders(numbers), (True, False) if slow else (True,)):
        stands = state
        for shape in order:
            pod = kept[shape].pod
            verdict = memory.verdict(stands, pod, shape)
            if not verdict.admitted:
                return FleetVerdict(False, PROMISED, f"beside what is promised to it: {verdict.message}")
            if shape == all_of_them[-1].shape:
                cost = max(cost, verdict.cost)
            stands = memory.after(stands, pod, shape, started=started) or stands
    pods = [own.pod for own in all_of_them]
    return _summed(state, all_of_them) or _crowded(state, pods) or FleetVerdict(True, cost=cost)


def _orders(numbers: Mapping[bytes, int]) -> Iterator[tuple[bytes, ...]]:
    """Of so many of each shape, each order once."""
    if len(numbers) <= 1:
        # Most often all are alike.
        yield tuple(shape for shape, number in numbers.items() for _ in range(number))
        return
    for shape, number in numbers.items():
        left = {own: count for own, count in numbers.items() if own != shape}
        for rest in _orders({**left, shape: number - 1} if number > 1 else left):
            yield (shape, *rest)


def _is_kept(state: NodeState, own: PromisedPod, memory: VerdictMemory) -> bool:
    """Whether a manager keeps something of it, or it could be refused by one."""
    after = memory.after(state, own.pod, own.shape)
    return after is None or not same_for_managers(state.ledger, after.ledger)


def _summed(state: NodeState, promised: Sequence[PromisedPod]) -> FleetVerdict | None:
    """A refusal where the node as a whole is short for one of them that comes last; else None. Pods of one shape ask
    for the same."""
    if state.allocatable is None:
        return None
    settings = state.node.settings
    numbers = Counter(own.shape for own in promised)
    shapes = {own.shape: own.pod for own in promised}
    total = state.load
    for own in promised:
        total = load_beside(settings, total, state.ledger, own.pod.uid)
    asked = {shape: requests_of(settings, pod) for shape, pod in shapes.items()}
    for shape, number in numbers.items():
        total = total.plus(asked[shape], number)
    offered = offered_by(state.ledger.device, state.allocatable)
    for shape, pod in shapes.items():
        others = total.plus(asked[shape], -1)
        short = shortages(settings, wanted_of(settings, pod, offered), others, offered)
        if short:
            return FleetVerdict(
                False, PROMISED, f"beside what is promised to it: too little {short[0].resource} is left"
            )
    return None


def _crowded(state: NodeState, pods: Sequence[Pod]) -> FleetVerdict | None:
    """A refusal where two of them want the same port of the host; else None. No manager keeps ports."""
    for pod in pods:
        if pod.demands.ports:
            others = (other for other in pods if other.uid != pod.uid)
            for failed in filtered(state.node, pod, others).beside:
                return FleetVerdict(False, PROMISED, f"beside what is promised to it: {failed.message}")
    return None
