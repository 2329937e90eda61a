"""The question to a fleet: which nodes would admit a pod, in which order to try them, and why not the others.

Who wants a few nodes need not ask all of them. They are asked in the order of a guess: those first of which little is
free, that the pod wants or that it does not. Among a multiple of the wanted number that admit it, those come first that
lose least. Where too few admit it, all were asked.
"""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from numafit.decision.filters import NO_EXECUTE, NODE_AFFINITY, TAINT_TOLERATION, labels_suit, taint_text, untolerated
from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.orders import promise_of, together
from numafit.fleet.state import Standing
from numafit.fleet.verdicts import FleetVerdict, GroupOrder, VerdictMemory
from numafit.workload.pod import Pod

UNSCHEDULABLE = "Unschedulable"
REFUSED = "Refused"
"""The kubelet refused a pod of this shape against what was predicted, and the node has not changed since."""
SCHEDULER_EFFECTS = ("NoSchedule", NO_EXECUTE)
LOOKED_AT = 3
"""Times the wanted number of nodes are compared by what they lose."""


class FleetPlace(msgspec.Struct, frozen=True):
    node: str
    cost: float
    """What the pod takes of the node's room for large pods; the least comes first."""


class PlaceRefusal(msgspec.Struct, frozen=True, order=True):
    reason: str
    message: str


class Placing(msgspec.Struct, frozen=True):
    places: tuple[FleetPlace, ...]
    """The best first; equals by the name of the node."""
    refusals: Mapping[PlaceRefusal, tuple[str, ...]]
    """Why not, and which nodes; not all of them where enough others admit it."""
    unasked: int = 0
    """Nodes of which nothing is told, since enough others admit it."""


def places(
    fleet: Fleet, pod: Pod, memory: VerdictMemory, most: int | None = None, among: Container[str] | None = None
) -> Placing:
    """As if the pod were offered to nobody yet. Nodes that stand alike are asked once; a node that has it already is
    not asked. `most`: so many nodes are enough. `among`: no others are asked."""
    fleet = fleet.withdrawn(pod.uid)
    search = _Search(fleet, pod, memory, among)
    found: list[tuple[float, str]] = []
    for names, standing in search.candidates():
        if most is None:
            found += search.admitted(names, standing)
        elif len(found) < most * LOOKED_AT:
            # Of nodes that stand alike no more are named than could be wanted.
            found += islice(search.admitted(names, standing), max(most, most * LOOKED_AT - len(found)))
        else:
            break
    if most is None or len(found) < most:
        search.explain()
    found.sort()
    chosen = found if most is None else found[:most]
    refusals = {own: tuple(sorted(names)) for own, names in sorted(search.refusals.items())}
    unasked = len(fleet.nodes) - len(found) - sum(map(len, refusals.values())) - search.holding
    return Placing(tuple(FleetPlace(name, cost) for cost, name in chosen), refusals, unasked)


def _may_be_closed(standing: Standing) -> bool:
    return bool(standing.taints) or not standing.schedulable


class _Search:
    def __init__(self, fleet: Fleet, pod: Pod, memory: VerdictMemory, among: Container[str] | None) -> None:
        self.fleet, self.pod, self.memory, self.among = fleet, pod, memory, among
        self.promise = promise_of(pod)
        self.refusals: dict[PlaceRefusal, list[str]] = {}
        self.holding = 0
        """Nodes that have the pod."""
        self.refusing: list[tuple[tuple[str, ...], Standing]] = []
        """Groups that refuse it as they stand; told one by one where somebody wants to know."""
        self.tolerated: dict[tuple[object, ...], PlaceRefusal | None] = {}
        self.wishes = bool(pod.demands.selector or pod.demands.affinity is not None)

    def candidates(self) -> Iterator[tuple[tuple[str, ...], Standing]]:
        """Groups that are not out of the question, the most promising first."""
        order = self.memory.order
        if order is None or order.groups is not self.fleet.groups:
            order = self.memory.order = self._guessed(order)
        out = {own for own in order.closed if self._keeps_out(own, order.groups[own])}
        recall, shape = self.memory.recall, self.promise.shape
        for _, names, standing in order.ranked:
            if out and standing in out:
                continue
            verdict = None if self.wishes else recall((standing.key, shape, standing.promised))
            if verdict is None or verdict.admitted:
                yield names, standing
            else:
                self.refusing.append((names, standing))

    def _guessed(self, before: GroupOrder | None) -> GroupOrder:
        groups, free = self.fleet.groups, self.memory.known_frees
        changed = groups.changed_since(before.groups.moment) if before is not None else None
        if before is None or changed is None or any(own.key not in free for own in changed if own in before.groups):
            free = self._free(groups)
            ranked = sorted((free[own.key], names, own) for own, names in groups.items())
            return GroupOrder(groups, frozenset(own for own in groups if _may_be_closed(own)), ranked)
        free, ranked = self._free(changed), before.ranked
        for own in changed:
            if own in before.groups:
                del ranked[bisect_left(ranked, (free[own.key], before.groups[own]))]
        for own in changed:
            if own in groups:
                insort(ranked, (free[own.key], groups[own], own))
        closed = (before.closed - changed) | {own for own in changed if own in groups and _may_be_closed(own)}
        return GroupOrder(groups, closed, ranked)

    def _free(self, wanted: Iterable[Standing]) -> Mapping[bytes, float]:
        groups, nodes = self.fleet.groups, self.fleet.nodes
        return self.memory.frees(nodes[groups[own][0]].state for own in wanted if own in groups)

    def _keeps_out(self, standing: Standing, names: tuple[str, ...]) -> bool:
        """Whether a cordon or a taint does so; the nodes are told."""
        if not standing.schedulable:
            refusal: PlaceRefusal | None = PlaceRefusal(UNSCHEDULABLE, "it is cordoned")
        else:
            node = self.fleet.nodes[names[0]]
            # Which tolerations there are depends on the release.
            key = (node.state.kind, standing.taints)
            if key not in self.tolerated:
                self.tolerated[key] = self._untolerated(node)
            refusal = self.tolerated[key]
        if refusal is None:
            return False
        for name in names:
            if self.among is None or name in self.among:
                self._refuse(refusal, name)
        return True

    def _untolerated(self, node: FleetNode) -> PlaceRefusal | None:
        taint = untolerated(node.state.node.settings, self.pod.demands, node.facts.taints, SCHEDULER_EFFECTS)
        return None if taint is None else PlaceRefusal(TAINT_TOLERATION, taint_text(taint))

    def admitted(self, names: tuple[str, ...], standing: Standing) -> Iterator[tuple[float, str]]:
        """Cost and name of those that admit it, of nodes that stand alike."""
        if not self.wishes and not self._verdict(names[0], standing).admitted:
            self.refusing.append((names, standing))
            return
        yield from self._one_by_one(names, standing)

    def explain(self) -> None:
        for names, standing in self.refusing:
            # Whoever refuses it admits nobody.
            deque(self._one_by_one(names, standing), 0)

    def _one_by_one(self, names: tuple[str, ...], standing: Standing) -> Iterator[tuple[float, str]]:
        uid, demands, among = self.pod.uid, self.pod.demands, self.among
        verdict: FleetVerdict | None = None
        for name in names:
            if among is not None and name not in among:
                continue
            node = self.fleet.nodes[name]
            if uid in node.state.ledger.active:
                self.holding += 1
                continue
            if self.wishes and not labels_suit(demands, node.facts.labels or {}, name):
                self._refuse(PlaceRefusal(NODE_AFFINITY, "its labels are not what the pod wants"), name)
                continue
            if name in self.fleet.refusing and self.promise.shape in node.refused:
                self._refuse(PlaceRefusal(REFUSED, node.refused[self.promise.shape]), name)
                continue
            if verdict is None:
                verdict = self._verdict(name, standing)
            if verdict.admitted:
                yield round(verdict.cost, 9), name
            else:
                self._refuse(PlaceRefusal(verdict.reason, verdict.message), name)

    def _verdict(self, name: str, standing: Standing) -> FleetVerdict:
        key = (standing.key, self.promise.shape, standing.promised)
        found = self.memory.recall(key)
        if found is None:
            node = self.fleet.nodes[name]
            found = together(node.state, node.promised, self.promise, self.memory)
            self.memory.remember(key, found)
        return found

    def _refuse(self, refusal: PlaceRefusal, name: str) -> None:
        self.refusals.setdefault(refusal, []).append(name)
