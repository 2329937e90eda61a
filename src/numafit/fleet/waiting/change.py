"""The smallest change of a pod after which it would start now: tried on nodes that are nearest to taking it.

The forms are those of `advice.propose`: fewer of what it asks for, whole cores, Guaranteed. One is added: a pod without
limits of CPUs shares them, and needs none of its own. A kubelet's configuration is not changed here: that would not let
the pod start now. Each form that is given is admitted by the engine on a node of the fleet, beside what is promised to
it.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from numafit.advice.propose.course import Course
from numafit.advice.propose.knobs import as_new, is_valid, with_resources
from numafit.advice.propose.proposal import DISTURBANCE, HARD_LOSS, Proposal, ProposalKind
from numafit.advice.propose.reshape import of_containers, pinnable
from numafit.advice.propose.resize import fewer, more
from numafit.advice.propose.trial import Trial
from numafit.decision.stage import Stage
from numafit.fleet.fleet import FleetNode
from numafit.fleet.orders import promise_of, together
from numafit.fleet.verdicts import VerdictMemory
from numafit.managers.ask import ask_of
from numafit.settings.config import KubeletConfig
from numafit.workload.pod import GUARANTEED, Pod

CPU = "cpu"
IN_A_ROW = 4
"""Up to so many amounts are tried one by one; beyond, by halving."""


class PodChange(msgspec.Struct, frozen=True):
    kind: ProposalKind | Literal["shared"]
    """`shared`: it has no CPUs of its own."""
    text: str
    """The change as before -> after."""
    pod: Pod
    """As it would be."""
    node: str
    """One that would admit it now."""
    loss: float = 0.0
    """The largest share of a resource that it gives up."""

    @property
    def order(self) -> tuple[int, float, str, str]:
        """Sorts the smallest first: the pod's own numbers, at the most half of one given up; then CPUs that it shares;
        then the rest."""
        if self.kind == "shared":
            return (10, 0.0, self.text, self.node)
        hard = self.kind == "fewer" and self.loss > HARD_LOSS
        return (20 if hard else DISTURBANCE[self.kind], self.loss, self.text, self.node)


def smallest_change(pod: Pod, nodes: Sequence[FleetNode], memory: VerdictMemory) -> PodChange | None:
    """Among the changes that let it start on one of these nodes, none of which takes it as it is."""
    found = [change for node in nodes for change in _changes(pod, node, memory)]
    return min(found, key=lambda change: change.order, default=None)


def _changes(pod: Pod, node: FleetNode, memory: VerdictMemory) -> Iterator[PodChange]:
    state = node.state
    stage = Stage(state.node, state.ledger, state.allocatable or {}, KubeletConfig())
    simulation = stage.play((pod,))
    if simulation.steps:
        trial = Trial(Course(stage, (pod,), simulation), 0, (0,))
        for proposal in _proposals(trial):
            (changed,) = proposal.pods
            if _starts(node, changed, memory):
                yield PodChange(proposal.kind, proposal.text, changed, node.name, proposal.loss)
    shared = _sharing(pod, node)
    if shared is not None and _starts(node, shared, memory):
        names = [each.name for each in pod.containers if CPU in each.limits]
        yield PodChange(
            "shared", f"without limits.cpu of {', '.join(names)}, which then shares CPUs", shared, node.name
        )


def _proposals(trial: Trial) -> Iterator[Proposal]:
    yield from pinnable(trial)
    yield from of_containers(trial)
    yield from more(trial)
    yield from fewer(trial, IN_A_ROW)


def _starts(node: FleetNode, pod: Pod, memory: VerdictMemory) -> bool:
    return together(node.state, node.promised, promise_of(pod), memory).admitted


def _sharing(pod: Pod, node: FleetNode) -> Pod | None:
    """The pod as a Burstable one; None where it is none of those that get CPUs of their own."""
    if pod.resources is not None or ask_of(pod, node.state.node.settings).qos != GUARANTEED:
        return None
    changed = as_new(pod)
    for each in pod.containers:
        limits = {name: amount for name, amount in each.limits.items() if name != CPU}
        changed = with_resources(changed, each.name, each.requests, limits)
    return changed if is_valid(changed) else None
