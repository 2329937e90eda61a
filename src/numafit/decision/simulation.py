"""Pods and events on a node, one after the other: what was decided at each, and how the node stood after it."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from numafit.decision.history.coming import ChoicesMaker, Outcome, add_pods
from numafit.decision.history.event import AddPods, Event
from numafit.decision.history.situation import Situation, situation_of
from numafit.decision.history.step import Step
from numafit.decision.node import Node
from numafit.errors import StartError
from numafit.ledger.ledger import Ledger
from numafit.managers.protocol import WatchedChoices
from numafit.quantity import Quantity
from numafit.workload.pod import Pod


class Happened(msgspec.Struct, frozen=True):
    """One event of a run."""

    event: Event
    steps: tuple[Step, ...]
    after: Situation
    crash: str = ""
    """What the kubelet says at its end: it crashed over a pod, or did not start."""
    void: str = ""
    """Why it had no effect, or not on all of its pods."""
    refusal: StartError | None = None
    """Of a kubelet that did not start."""


class Simulation(msgspec.Struct, frozen=True):
    begin: Situation
    happened: tuple[Happened, ...]
    steps: tuple[Step, ...]
    """The decisions of all events."""

    @property
    def node(self) -> Node:
        """At the beginning; a kubelet that restarts with another configuration makes another one."""
        return self.begin.node

    @property
    def before(self) -> Ledger:
        return self.begin.ledger

    @property
    def allocatable(self) -> Mapping[str, Quantity]:
        return self.begin.offered or {}

    @property
    def end(self) -> Situation:
        return self.happened[-1].after if self.happened else self.begin

    @property
    def after(self) -> Ledger:
        return self.end.ledger

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(each.event for each in self.happened)

    @property
    def pods(self) -> dict[str, Pod]:
        """By UID: whoever was there at the beginning, or was decided."""
        return {**self.before.active, **{step.decision.pod.uid: step.decision.pod for step in self.steps}}

    @property
    def failed(self) -> bool:
        """A decision went against its pod, somebody was evicted or not decided, the kubelet ended, did not start again
        or is down at the end, or a container could not be started until then."""
        unhappy = any(each.crash for each in self.happened) or bool(self.undecided)
        unhappy = unhappy or self.end.down or bool(self.end.unstarted)
        decided = [step.decision for step in self.steps]
        return unhappy or not all(decision.admitted and not decision.evicted for decision in decided)

    @property
    def undecided(self) -> tuple[Pod, ...]:
        """Those that came while the kubelet was down, and were not decided any more."""
        crashed = {step.decision.pod.uid for step in self.steps if step.decision.panic}
        return tuple(pod for pod in self.end.waiting if pod.uid not in crashed)

    def node_of(self, step: Step) -> Node:
        return self.node if step.node is None else step.node


def play(node: Node, ledger: Ledger, pods: Sequence[Pod], allocatable: Mapping[str, Quantity]) -> Simulation:
    """Pods that come after a crash of the kubelet are not decided."""
    return play_events(situation_of(node, ledger, allocatable), [AddPods((pod,)) for pod in pods])


def play_events(situation: Situation, events: Iterable[Event], choices: ChoicesMaker = WatchedChoices) -> Simulation:
    """A restart admits every pod again, each with a decision of its own. Each decision has `choices` of its own."""
    begin = situation
    happened: list[Happened] = []
    for event in events:
        outcome = _outcome(situation, event, choices)
        situation = outcome.situation
        happened.append(Happened(event, outcome.steps, situation, outcome.crash, outcome.void, outcome.refusal))
    return Simulation(begin, tuple(happened), tuple([step for each in happened for step in each.steps]))


def _outcome(situation: Situation, event: Event, choices: ChoicesMaker) -> Outcome:
    if isinstance(event, AddPods) and not (event.former or situation.resizes or situation.unstarted):
        return add_pods(situation, event.pods, choices)
    # Most runs know pods that come and nothing else, and start quicker without the rest.
    from numafit.decision.history.happen import happen

    return happen(situation, event, choices)
