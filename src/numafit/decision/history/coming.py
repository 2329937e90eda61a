"""Pods that come: what the kubelet decides of each, and how the node stands after them.

Most runs know no other event, so this stands by itself: a command starts quicker without the rest of `happen`.
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from numafit.decision.decide import decide, load_after, load_beside
from numafit.decision.history.situation import Situation, without_pod
from numafit.decision.history.step import Step
from numafit.decision.life import start_containers
from numafit.errors import StartError
from numafit.managers.protocol import Choices
from numafit.workload.pod import Pod

ChoicesMaker = Callable[[], Choices]


class Outcome(msgspec.Struct, frozen=True):
    """What came of one event."""

    situation: Situation
    steps: tuple[Step, ...] = ()
    crash: str = ""
    """What the kubelet says at its end: it crashed over a pod, or did not start."""
    void: str = ""
    """Why it had no effect, or not on all of its pods."""
    refusal: StartError | None = None
    """Of a kubelet that did not start: its own error, for those who look for the line that it is about."""


def add_pods(situation: Situation, pods: tuple[Pod, ...], choices: ChoicesMaker) -> Outcome:
    steps: list[Step] = []
    for pod in pods:
        if situation.down:
            situation = replace(situation, waiting=(*situation.waiting, pod))
            continue
        node, before, own = situation.node, situation.ledger, choices()
        load = load_beside(node.settings, situation.load, before, pod.uid)
        decision = decide(node, before, pod, situation.offered, own, others=load)
        ledger = decision.ledger
        load = load_after(node.settings, load, decision)
        for victim in decision.evicted:
            situation = without_pod(situation, victim.pod.uid)
        if decision.admitted:
            ledger, left = start_containers(node, ledger, pod.uid)
            if left:
                situation = replace(situation, unstarted=(*situation.unstarted, (pod.uid, left)))
        elif decision.panic:
            situation = replace(situation, down=True, waiting=(*situation.waiting, pod))
        elif pod.static:
            situation = replace(situation, refused=(*situation.refused, pod))
        steps.append(Step(decision, ledger, before, tuple(own.draws), "add", node))
        situation = replace(situation, ledger=ledger, load=load)
    return Outcome(situation, tuple(steps), next((step.decision.panic for step in steps if step.decision.panic), ""))
