"""The nodes of a fleet, what is promised to them and what they refused: a value, changed by what is reported.

A pod counts on every node that it was offered to until it is seen bound, gone, or decided: a report that has its UID
among the active pods has it, and a report in which somebody else has gone has freed that share. What the API server
shows earlier frees nothing. A node that has not reported yet, or whose report was taken away, finds what was promised
to it when it reports.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from numafit.fleet.groups import StandingGroups
from numafit.fleet.orders import PromisedPod, promise_of
from numafit.fleet.state import NodeState, Standing
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.workload.pod import Pod

Value = TypeVar("Value")


class FleetNode(msgspec.Struct, frozen=True):
    name: str
    state: NodeState
    """As the kubelet reported it last."""
    facts: NodeFacts = NO_FACTS
    """Labels and taints."""
    schedulable: bool = True
    promised: tuple[PromisedPod, ...] = ()
    """Offered or bound to it, and not in its report yet, in the order in which that happened."""
    refused: Mapping[bytes, str] = {}
    """Shape of a pod -> what the kubelet said to one that should have been admitted. Until the node changes."""

    @property
    def standing(self) -> Standing:
        shapes = tuple(sorted(own.shape for own in self.promised))
        return Standing(self.state.key, shapes, self.facts.taints, self.schedulable)


class Fleet(msgspec.Struct, frozen=True):
    nodes: Mapping[str, FleetNode] = {}
    groups: StandingGroups = msgspec.field(default_factory=StandingGroups)
    """Nodes that stand alike, by name."""
    offers: Mapping[str, tuple[str, ...]] = {}
    """Pod UID -> the nodes that it counts on."""
    refusing: frozenset[str] = frozenset()
    """Nodes that refused something, and have not changed since."""
    awaited: Mapping[str, tuple[PromisedPod, ...]] = {}
    """What is promised to nodes that are not here: a pod may be seen bound before its node is."""

    def reported(
        self,
        name: str,
        state: NodeState,
        facts: NodeFacts = NO_FACTS,
        *,
        schedulable: bool = True,
        refused: Mapping[bytes, str] = {},
    ) -> "Fleet":
        """Pods that are active in the report are promised no longer: they are there. `refused`: what a node that was
        away said before, when it stood as it does now."""
        before = self.nodes.get(name)
        active = state.ledger.active
        expected = self.awaited.get(name, ()) if before is None else before.promised
        promised = tuple(own for own in expected if own.pod.uid not in active)
        if before is not None:
            refused = before.refused if before.state.key == state.key else {}
        fleet = self._with((FleetNode(name, state, facts, schedulable, promised, refused),))
        if name in fleet.awaited:
            fleet = replace(fleet, awaited=_without(fleet.awaited, name))
        if len(promised) == len(expected):
            return fleet
        there = [own.pod.uid for own in expected if own.pod.uid in active]
        return replace(fleet, offers=_without_node(fleet.offers, there, name))

    def removed(self, name: str) -> "Fleet":
        """The node is gone, or only its report: pods that are promised to it count if it comes back, until they are
        gone themselves."""
        node = self.nodes.get(name)
        if node is None:
            return self
        return Fleet(
            _without(self.nodes, name),
            self.groups.moved([(name, node.standing, None)]),
            self.offers,
            self.refusing - {name},
            {**self.awaited, name: node.promised} if node.promised else self.awaited,
        )

    def offered(self, pod: Pod, names: Iterable[str]) -> "Fleet":
        """It may come to any of these nodes, and to no other: what was offered to it before is taken back."""
        fleet, promise = self.withdrawn(pod.uid), promise_of(pod)
        chosen = tuple(
            name
            for name in dict.fromkeys(names)
            if name not in fleet.nodes or pod.uid not in fleet.nodes[name].state.ledger.active
        )
        if not chosen:
            return fleet
        fleet = fleet._promising({name: (*fleet._promised(name), promise) for name in chosen})
        return replace(fleet, offers={**fleet.offers, pod.uid: chosen})

    def bound(self, pod: Pod, name: str) -> "Fleet":
        """It is seen on this node: the others are free of it, and there it counts until the kubelet reports it."""
        return self if self.offers.get(pod.uid) == (name,) else self.offered(pod, (name,))

    def withdrawn(self, uid: str) -> "Fleet":
        """It is gone, or was taken back, before a kubelet decided about it."""
        names = self.offers.get(uid)
        if names is None:
            return self
        left = {name: tuple(own for own in self._promised(name) if own.pod.uid != uid) for name in names}
        fleet = self._promising(left)
        return replace(fleet, offers=_without(fleet.offers, uid))

    def rejected(self, pod: Pod, name: str, message: str) -> "Fleet":
        """The kubelet refused a pod that was promised to it: no other one of its shape is sent there before the node
        has changed, whatever is predicted."""
        fleet = self.withdrawn(pod.uid)
        node = fleet.nodes.get(name)
        if node is None:
            return fleet
        return fleet._with((replace(node, refused={**node.refused, promise_of(pod).shape: message}),))

    def _promised(self, name: str) -> tuple[PromisedPod, ...]:
        node = self.nodes.get(name)
        return self.awaited.get(name, ()) if node is None else node.promised

    def _promising(self, promised: Mapping[str, tuple[PromisedPod, ...]]) -> "Fleet":
        """With these promises to these nodes, and to no other one of them."""
        fleet = self._with(
            replace(self.nodes[name], promised=own) for name, own in promised.items() if name in self.nodes
        )
        absent = {name: own for name, own in promised.items() if name not in self.nodes}
        if not absent:
            return fleet
        awaited = {name: own for name, own in {**fleet.awaited, **absent}.items() if own}
        return replace(fleet, awaited=awaited)

    def _with(self, changed: Iterable[FleetNode]) -> "Fleet":
        nodes, refusing = dict(self.nodes), set(self.refusing)
        moves = []
        for node in changed:
            before = nodes.get(node.name)
            moves.append((node.name, None if before is None else before.standing, node.standing))
            nodes[node.name] = node
            (refusing.add if node.refused else refusing.discard)(node.name)
        return Fleet(nodes, self.groups.moved(moves), self.offers, frozenset(refusing), self.awaited)


def _without(mapping: Mapping[str, Value], key: str) -> Mapping[str, Value]:
    left = dict(mapping)
    left.pop(key, None)
    return left


def _without_node(
    offers: Mapping[str, tuple[str, ...]], uids: Iterable[str], name: str
) -> Mapping[str, tuple[str, ...]]:
    """These pods count on that node no longer."""
    left = dict(offers)
    for uid in uids:
        names = tuple(own for own in left.get(uid, ()) if own != name)
        if names:
            left[uid] = names
        else:
            left.pop(uid, None)
    return left
