"""Pods on a node, one after the other: what each decision was, and how the node stood after it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from numafit.decision.decide import decide, load_beside, load_of, requests_of
from numafit.decision.decision import Decision
from numafit.decision.life import reconcile, release, restart, start_containers
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.managers.protocol import Draw, WatchedChoices
from numafit.quantity import Quantity
from numafit.workload.pod import Pod

EventKind = Literal["add", "remove", "reconcile", "restart"]


class Event(msgspec.Struct, frozen=True):
    """Something that happens on the node. `pod` is the one that comes or goes."""

    kind: EventKind
    pod: Pod | None = None


class Step(msgspec.Struct, frozen=True):
    decision: Decision
    ledger: Ledger
    """After the decision, and after the containers of an admitted pod have started."""
    before: Ledger | None = None
    """What the decision was made from; None while the kubelet restarts."""
    draws: tuple[Draw, ...] = ()
    """What was left to chance in it."""
    event: EventKind = "add"
    """What the kubelet decided at: a pod that comes, or a restart."""


class Simulation(msgspec.Struct, frozen=True):
    node: Node
    before: Ledger
    steps: tuple[Step, ...]
    after: Ledger
    allocatable: Mapping[str, Quantity] = {}
    undecided: tuple[Pod, ...] = ()
    """Those that were to come after the kubelet crashed."""
    events: tuple[Event, ...] = ()
    """What happened, in order."""


def play(node: Node, ledger: Ledger, pods: Sequence[Pod], allocatable: Mapping[str, Quantity]) -> Simulation:
    """Ends early where the kubelet would panic."""
    return play_events(node, ledger, [Event("add", pod) for pod in pods], allocatable)


def play_events(
    node: Node,
    ledger: Ledger,
    events: Iterable[Event],
    allocatable: Mapping[str, Quantity],
    choices: Callable[[], WatchedChoices] = WatchedChoices,
) -> Simulation:
    """A restart admits every pod again, each with a decision of its own. Each decision has `choices` of its own."""
    before = ledger
    load = load_of(node.settings, ledger.active.values())
    steps: list[Step] = []
    undecided: tuple[Pod, ...] = ()
    happened: list[Event] = []
    coming = iter(events)
    for event in coming:
        happened.append(event)
        if event.kind == "reconcile":
            ledger = reconcile(node, ledger)
        elif event.kind == "restart":
            watched = [choices() for _ in range(1 + len(ledger.active))]
            restarted = restart(node, ledger, node.machine.devices, plugins_first=True, choices=watched)
            steps += [
                Step(decision, restarted.ledger, None, tuple(drawn.draws), event.kind)
                for decision, drawn in zip(restarted.readmitted, watched[1:], strict=False)
            ]
            ledger = restarted.ledger
            load = load_of(node.settings, ledger.active.values())
        elif event.pod is not None and event.kind == "remove":
            load = load_beside(node.settings, load, ledger, event.pod.uid)
            ledger = release(ledger, event.pod.uid)
        elif event.pod is not None:
            own, before_pod = choices(), ledger
            load = load_beside(node.settings, load, ledger, event.pod.uid)
            decision = decide(node, ledger, event.pod, allocatable, own, others=load)
            ledger = decision.ledger
            if decision.admitted:
                load = load.plus(requests_of(node.settings, event.pod))
                ledger = start_containers(node, ledger, event.pod.uid)
            steps.append(Step(decision, ledger, before_pod, tuple(own.draws)))
        if steps and steps[-1].decision.panic:
            undecided = tuple(later.pod for later in coming if later.kind == "add" and later.pod is not None)
    return Simulation(node, before, tuple(steps), ledger, allocatable, undecided, tuple(happened))
