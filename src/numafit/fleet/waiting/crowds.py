"""The nodes that do not take a pod, sorted by what stands in the way.

Some are out of the question for what they are: a cordon, a taint, labels, a refusal that was not predicted. The others
stand in crowds of equals, and of each it is asked whether it would take the pod with nobody on it.
"""

from collections.abc import Iterator, Mapping

import msgspec

from numafit.decision.decide import requests_of
from numafit.decision.filters import NODE_AFFINITY, TAINT_TOLERATION, untolerated, wrong_labels
from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.orders import PromisedPod, together
from numafit.fleet.places import REFUSED, SCHEDULER_EFFECTS, UNSCHEDULABLE, PlaceRefusal, places
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import NOT_OFFERED, VerdictMemory
from numafit.fleet.waiting.lack import Lack
from numafit.fleet.waiting.memory import WaitingMemory

ASIDE = (UNSCHEDULABLE, TAINT_TOLERATION, NODE_AFFINITY, REFUSED)
"""Reasons that have nothing to do with what is free."""


class Crowd(msgspec.Struct):
    """Nodes that stand alike and do not take the pod."""

    names: tuple[str, ...]
    node: FleetNode
    """The first of them."""
    refusal: PlaceRefusal
    nearness: float
    """The least free part of what it asks for, on the whole node."""
    empty: bool
    """With nobody on them they would take it."""
    lacks: tuple[Lack, ...] = ()

    @property
    def share(self) -> float:
        return min((lack.share for lack in self.lacks), default=0.0)


class Crowds(msgspec.Struct, frozen=True):
    fitting: int
    """Nodes that take it."""
    crowds: tuple[Crowd, ...]
    """Those that would with nobody on them come first, and of these the nearest."""
    aside: Mapping[str, tuple[tuple[str, bool], ...]]
    """Reason -> nodes, and whether they would take it but for this."""


def crowds_of(fleet: Fleet, new: PromisedPod, memory: VerdictMemory, kept: WaitingMemory) -> Crowds:
    """As if the pod were offered to nobody yet."""
    fleet = fleet.withdrawn(new.pod.uid)
    placing = places(fleet, new.pod, memory)
    refusals = {name: refusal for refusal, names in placing.refusals.items() for name in names}
    aside: dict[str, list[tuple[str, bool]]] = {}
    found: list[Crowd] = []
    for names in fleet.groups.values():
        for refusal, own in _split(names, refusals):
            if refusal.reason in ASIDE:
                willing = [(name, _willing(fleet.nodes[name], new, memory)) for name in own]
                aside.setdefault(refusal.reason, []).extend(willing)
            else:
                found.append(_crowd(fleet.nodes[own[0]], own, refusal, new, memory, kept))
    found.sort(key=lambda crowd: (not crowd.empty, -crowd.nearness, crowd.names))
    return Crowds(len(placing.places), tuple(found), {reason: tuple(own) for reason, own in aside.items()})


def _split(
    names: tuple[str, ...], refusals: Mapping[str, PlaceRefusal]
) -> Iterator[tuple[PlaceRefusal, tuple[str, ...]]]:
    """By why they do not take it; without those that do."""
    found: dict[PlaceRefusal, list[str]] = {}
    for name in names:
        if name in refusals:
            found.setdefault(refusals[name], []).append(name)
    for refusal, own in found.items():
        yield refusal, tuple(own)


def _willing(node: FleetNode, new: PromisedPod, memory: VerdictMemory) -> bool:
    """Whether it takes the pod but for the one thing that speaks against it."""
    demands = new.pod.demands
    against = (
        not node.schedulable,
        untolerated(node.state.node.settings, demands, node.facts.taints, SCHEDULER_EFFECTS) is not None,
        bool(wrong_labels(demands, node.facts.labels or {}, node.name)),
        new.shape in node.refused,
    )
    return sum(against) == 1 and together(node.state, node.promised, new, memory).admitted


def _crowd(
    node: FleetNode,
    names: tuple[str, ...],
    refusal: PlaceRefusal,
    new: PromisedPod,
    memory: VerdictMemory,
    kept: WaitingMemory,
) -> Crowd:
    state = node.state
    freedom = memory.freedom(state)
    wanted = requests_of(state.node.settings, new.pod)
    nearness = min((freedom[name] for name in wanted if name in freedom), default=0.0)
    empty = refusal.reason != NOT_OFFERED and _fits_empty(state, new, memory, kept)
    return Crowd(names, node, refusal, nearness, empty)


def _fits_empty(state: NodeState, new: PromisedPod, memory: VerdictMemory, kept: WaitingMemory) -> bool:
    return memory.verdict(kept.emptied(state), new.pod, new.shape).admitted
