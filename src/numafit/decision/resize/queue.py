"""Resizes that are asked for, and those that wait: a user asks, something frees, the kubelet restarts.

Who is asked to be resized and is not yet, the caller keeps as `Pending`: pod UID -> the pod as it shall be, in the
order in which they are tried. Infeasible ones stand last and are not tried again, until their pod is resized once more
or the kubelet restarts.
"""

from collections.abc import Callable, Collection, Mapping

import msgspec
from msgspec.structs import replace

from numafit.decision.decide import requests_of
from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.decision.resize.request import GATE, api_answer, same_resources, wanted_pod
from numafit.decision.resize.verdict import infeasibility, not_asked, try_resize
from numafit.ledger.ledger import Ledger
from numafit.managers.ask import qos_of
from numafit.managers.protocol import Choices
from numafit.quantity import Quantity
from numafit.settings.settings import Settings
from numafit.workload.pod import GUARANTEED, Pod, Resources

Pending = Mapping[str, Pod]
Allocatable = Mapping[str, Quantity] | None
"""What the node offers as a whole; None where nobody knows."""


class Asked(msgspec.Struct, frozen=True):
    """Other resources for one container; those named change."""

    pod: Pod
    container: str
    requests: Resources = {}
    limits: Resources = {}


class Resized(msgspec.Struct, frozen=True):
    tries: tuple["Try", ...]
    """In order; of each pod the last one."""
    ledger: Ledger
    pending: Pending

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return tuple(tried.decision for tried in self.tries)


class Try(msgspec.Struct, frozen=True):
    decision: Decision
    before: Ledger
    choices: Choices
    """What was left to chance in it."""


def resize_pod(
    node: Node,
    ledger: Ledger,
    asked: Asked,
    allocatable: Allocatable,
    pending: Pending | None = None,
    choices: Callable[[], Choices] = Choices,
    *,
    down: bool = False,
) -> Resized:
    """A user asks for other resources of a pod that runs. Whatever waits is tried again with it.

    `down`: the kubelet is, and so only the API server answers. Of a pod that ended no kubelet says anything either.
    """
    pending = {uid: pod for uid, pod in (pending or {}).items() if uid in ledger.active}
    uid = asked.pod.uid
    had = ledger.active.get(uid)
    spec = pending.get(uid, had or asked.pod)
    wanted = wanted_pod(spec, asked.container, asked.requests, asked.limits)
    answer = api_answer(node, spec, wanted, allocatable)
    if answer is not None:
        refused = not_asked(node, ledger, wanted, "refused", answer.reason, answer.message, answer.cause)
        # Nothing changes, so it is of the class that it was.
        refused = replace(refused, qos=qos_of(spec, node.settings))
        return Resized((Try(refused, ledger, choices()),), ledger, pending)
    if had is None:
        return Resized((), ledger, pending)
    if down:
        return Resized((), ledger, {**pending, uid: wanted})
    if uid in pending and same_resources(wanted, spec):
        # Asked for already: the API server has nothing to tell the kubelet.
        return Resized((), ledger, pending)
    if same_resources(wanted, had):
        left = {other: pod for other, pod in pending.items() if other != uid}
        reverted = not_asked(node, ledger, wanted, "reverted")
        return Resized((Try(reverted, ledger, choices()),) if uid in pending else (), ledger, left)
    pending = _queued(node, ledger, pending, wanted, allocatable)
    if not node.settings.behaviour.resize_queue:
        # Its pod is synced now, the others within a minute or two.
        pending = {uid: wanted, **{other: pod for other, pod in pending.items() if other != uid}}
    return _tried(node, ledger, pending, allocatable, choices, (uid,))


def retry_resizes(
    node: Node,
    ledger: Ledger,
    pending: Pending,
    allocatable: Allocatable,
    choices: Callable[[], Choices] = Choices,
) -> Resized:
    """Something has freed: a pod is gone, or has less than before."""
    if not node.settings.behaviour.resize_queue:
        pending = {uid: pending[uid] for uid in ledger.active if uid in pending}
    return _tried(node, ledger, pending, allocatable, choices, ())


def pods_at_restart(settings: Settings, ledger: Ledger, pending: Pending) -> Mapping[str, Pod]:
    """The pods as a kubelet with these settings admits them again: with what they had been allocated, which stands in a
    file of its own (`pod_status_manager_state` up to 1.32, then `allocated_pods_state`). With the gate off no kubelet
    reads that file, and they come as they are asked for."""
    if settings.behaviour.resize != "none" and settings.gate(GATE):
        return ledger.active
    return {uid: pending.get(uid, pod) for uid, pod in ledger.active.items()}


def resizes_after_restart(
    node: Node,
    ledger: Ledger,
    pending: Pending,
    allocatable: Allocatable,
    choices: Callable[[], Choices] = Choices,
) -> Resized:
    """All pods have been added again as `pods_at_restart` says; each that shall be resized is looked at anew, those
    that were infeasible too."""
    queue: Pending = {}
    for uid, pod in ledger.active.items():
        if uid in pending and not same_resources(pod, pending[uid]):
            queue = _queued(node, ledger, queue, pending[uid], allocatable)
    return _tried(node, ledger, queue, allocatable, choices, tuple(queue))


def _tried(
    node: Node,
    ledger: Ledger,
    pending: Pending,
    allocatable: Allocatable,
    choices: Callable[[], Choices],
    pushed: Collection[str],
) -> Resized:
    """Each that waits is tried, and after an allocation the rest once more, because it may have been of less than
    before. `pushed`: new ones, which are looked at even if they are infeasible. Of each the last try is told."""
    waiting = {uid: pod for uid, pod in pending.items() if uid in ledger.active}
    last: dict[str, Try] = {}
    again = True
    while again:
        again = False
        for uid, wanted in tuple(waiting.items()):
            if uid not in ledger.active:
                # Evicted for the one before it.
                del waiting[uid]
                continue
            infeasible = infeasibility(node, ledger.active[uid], wanted, allocatable) is not None
            if infeasible and (uid not in pushed or uid in last):
                continue
            own = choices()
            decision = try_resize(node, ledger, wanted, allocatable, own)
            last.pop(uid, None)
            last[uid] = Try(decision, ledger, own)
            ledger = decision.ledger
            if decision.panic:
                return Resized(tuple(last.values()), ledger, waiting)
            if decision.admitted:
                del waiting[uid]
                again = bool(waiting)
    return Resized(tuple(last.values()), ledger, waiting)


def _queued(node: Node, ledger: Ledger, pending: Pending, wanted: Pod, allocatable: Allocatable) -> Pending:
    """With one more that waits. One that waits already keeps its place, whatever it asks for now."""
    never = {
        uid: pod
        for uid, pod in {**pending, wanted.uid: wanted}.items()
        if infeasibility(node, ledger.active[uid], pod, allocatable) is not None
    }
    waiting = {
        uid: pod for uid, pod in pending.items() if infeasibility(node, ledger.active[uid], pod, allocatable) is None
    }
    known = wanted.uid in waiting
    waiting[wanted.uid] = wanted
    waiting = {uid: pod for uid, pod in waiting.items() if uid not in never}
    return {**(waiting if known else _sorted(node, ledger, waiting)), **never}


def _sorted(node: Node, ledger: Ledger, waiting: Pending) -> Pending:
    """First who asks for no more than he has; then by priority, Guaranteed pods before others, and who waits longest.

    Of two that ask for no more the comparison calls either the lesser (1.34 to 1.37), so the insertion sort, which Go
    uses up to 12 elements, turns them round. Up to 1.33 there is no queue: pods are synced in an order that is open,
    and here the oldest comes first.
    """
    settings = node.settings
    if not settings.behaviour.resize_queue:
        return {uid: waiting[uid] for uid in ledger.active if uid in waiting}
    growing = {uid: _grows(settings, ledger.active[uid], pod) for uid, pod in waiting.items()}

    def less(first: str, second: str) -> bool:
        if not growing[first]:
            return True
        return growing[second] and _rank(settings, waiting[first]) < _rank(settings, waiting[second])

    queue: list[str] = []
    for uid in waiting:
        place = len(queue)
        while place and less(uid, queue[place - 1]):
            place -= 1
        queue.insert(place, uid)
    return {uid: waiting[uid] for uid in queue}


def _rank(settings: Settings, pod: Pod) -> tuple[int, bool]:
    return -(pod.priority or 0), qos_of(pod, settings) != GUARANTEED


def _grows(settings: Settings, pod: Pod, wanted: Pod) -> bool:
    before, after = requests_of(settings, pod), requests_of(settings, wanted)
    return any(after.get(name, 0) > before.get(name, 0) for name in ("cpu", "memory"))
