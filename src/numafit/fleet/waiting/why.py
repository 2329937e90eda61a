"""Why a pod waits: what is short and where, who would have to end, and what would let it start now, as one value.

Nodes fall into three sorts. Some are out of the question for what they are (a cordon, a taint, labels, a refusal that
was not predicted); of these it is told how many would take the pod but for that one thing. Some could not take it even
with nobody on them. The others are busy: with nobody on them they would.

The work is bounded: lacks are read from so many states, and so many ends are tried, the nearest nodes first. Where a
bound was met the value says so.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

import msgspec

from numafit.decision.decide import requests_of
from numafit.decision.filters import NODE_AFFINITY, TAINT_TOLERATION, untolerated, wrong_labels
from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.orders import PROMISED, PromisedPod, promise_of, together
from numafit.fleet.places import REFUSED, SCHEDULER_EFFECTS, UNSCHEDULABLE, PlaceRefusal, places
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import NOT_OFFERED, FleetVerdict, VerdictMemory, tried, unlisted
from numafit.fleet.waiting.change import PodChange, smallest_change
from numafit.fleet.waiting.ends import (
    Stays,
    admitted_after,
    holders,
    same_when_empty,
    state_emptied,
    static_stays,
)
from numafit.fleet.waiting.lack import Lack, common_lack, lacks_of
from numafit.workload.pod import Pod

MOST_LOOKED = 256
"""Distinct states whose lacks are read at once."""
MOST_TRIED = 128
"""Ends that are tried at once."""
MOST_CHANGED = 3
"""Nodes on which changes of the pod are tried."""
MOST_NAMED = 3
MOST_KEPT = 20_000
ASIDE = (UNSCHEDULABLE, TAINT_TOLERATION, NODE_AFFINITY, REFUSED)
"""Reasons that have nothing to do with what is free."""


class Ending(msgspec.Struct, frozen=True):
    """After this pod has ended, and no other, the node would take the one that waits."""

    node: str
    pod: str
    """namespace/name"""
    uid: str


class AsideNodes(msgspec.Struct, frozen=True):
    """Nodes that are out of the question for one reason."""

    reason: str
    nodes: int
    willing: int
    """Of these, how many would take the pod as they stand, but for this."""
    names: tuple[str, ...]
    """The first of those that would; if there are none, the first of all."""


class NodesAlike(msgspec.Struct, frozen=True):
    """Nodes that lack the same for the pod."""

    nodes: int
    names: tuple[str, ...]
    """The first of them."""
    reason: str
    message: str
    """The kubelet's, or ours."""
    lacks: tuple[Lack, ...]
    """Each alone keeps the pod out; empty where they were not looked at."""
    empty: bool
    """With nobody on them they would take it."""


class WhyWaiting(msgspec.Struct, frozen=True):
    pod: str
    nodes: int
    """That are known, with their topology."""
    unknown: int
    fitting: int
    """Nodes that would take it now."""
    never: int
    """Nodes that suit it, and could not take it even with nobody on them."""
    busy: int
    """Nodes that would take it with nobody on them, and do not take it now."""
    promised: int
    """Of the busy ones, those that would take it but for pods that are on their way there."""
    lack: Lack | None
    """What no node has that suits it; None where there is no such node, or nothing that holds for all of them."""
    busy_lack: Lack | None
    """What none of the busy nodes has, where that is less."""
    commonest: tuple[Lack, int] | None
    """What most nodes lack, and how many do."""
    ends: tuple[Ending, ...]
    """One for each node for which one was found, the least disturbing."""
    cut: bool
    """There may be more, since not all were looked at."""
    aside: tuple[AsideNodes, ...]
    change: PodChange | None
    groups: tuple[NodesAlike, ...]


class _Crowd(msgspec.Struct):
    """Nodes that stand alike and do not take the pod."""

    names: tuple[str, ...]
    node: FleetNode
    """The first of them."""
    refusal: PlaceRefusal
    nearness: float
    empty: bool
    lacks: tuple[Lack, ...] = ()

    @property
    def share(self) -> float:
        return min((lack.share for lack in self.lacks), default=0.0)


class WaitingMemory:
    """What was found before, beside the verdicts. It holds no truth of its own."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lacks: OrderedDict[Hashable, tuple[Lack, ...]] = OrderedDict()
        self._emptied: dict[str, list[tuple[NodeState, NodeState]]] = {}
        self._ends: OrderedDict[str, tuple[FleetNode, dict[Hashable, bool]]] = OrderedDict()
        self._told: tuple[Fleet, dict[Hashable, WhyWaiting]] | None = None

    def lacks(self, state: NodeState, new: PromisedPod) -> tuple[Lack, ...]:
        key = (state.key, new.shape)
        found = self._lacks.get(key)
        if found is None:
            found = self._lacks[key] = _lacks(state, new.pod)
            if len(self._lacks) > self._most:
                self._lacks.popitem(last=False)
        return found

    def knows_lacks(self, state: NodeState, new: PromisedPod) -> bool:
        return (state.key, new.shape) in self._lacks

    def emptied(self, state: NodeState) -> NodeState:
        """With nobody on it; remembered for nodes that are the same then."""
        known = self._emptied.setdefault(state.kind, [])
        for one, empty in known:
            if same_when_empty(one, state):
                return empty
        empty = state_emptied(state)
        known.insert(0, (state, empty))
        del known[self._most // 100 :]
        return empty

    def knows_end(self, node: FleetNode, uid: str, new: PromisedPod) -> bool:
        known = self._ends.get(node.name)
        return known is not None and known[0] is node and (uid, new.shape) in known[1]

    def admitted_after(self, node: FleetNode, uid: str, new: PromisedPod, memory: VerdictMemory) -> bool:
        """Who holds what is no part of a state's key, so it is remembered for just this node as it stands."""
        known = self._ends.get(node.name)
        if known is None or known[0] is not node:
            known = self._ends[node.name] = (node, {})
            if len(self._ends) > self._most:
                self._ends.popitem(last=False)
        found = known[1].get((uid, new.shape))
        if found is None:
            found = known[1][uid, new.shape] = admitted_after(node, (uid,), new, memory)
        return found

    def recalled(self, fleet: Fleet, key: Hashable, make: Callable[[], WhyWaiting]) -> WhyWaiting:
        """While the fleet is the same, pods of one shape wait for the same."""
        if self._told is None or self._told[0] is not fleet:
            self._told = (fleet, {})
        known = self._told[1]
        if key not in known:
            known[key] = make()
        return known[key]


def _lacks(state: NodeState, pod: Pod) -> tuple[Lack, ...]:
    missing = unlisted(state, pod)
    if missing:
        return (Lack("node", {missing: requests_of(state.node.settings, pod)[missing]}),)
    decision, _ = tried(state, pod)
    return () if decision.admitted else lacks_of(state.node, decision)


def why_waiting(
    fleet: Fleet,
    pod: Pod,
    memory: VerdictMemory,
    kept: WaitingMemory,
    *,
    unknown: int = 0,
    stays: Stays = static_stays,
) -> WhyWaiting:
    """As if the pod were offered to nobody yet. `unknown`: so many nodes have not told their topology. `stays`: pods of
    which it is of no use to say that they would have to end."""
    new = promise_of(pod)
    demands = pod.demands
    # One that is offered counts for the others, and not for itself.
    offered = pod.uid if pod.uid in fleet.offers else ""
    key = (new.shape, demands.selector, repr(demands.affinity), demands.tolerations, unknown, offered)
    found = kept.recalled(fleet, key, lambda: _Inquiry(fleet, new, memory, kept, stays).told(unknown))
    return msgspec.structs.replace(found, pod=pod.full_name)


class _Inquiry:
    def __init__(
        self, fleet: Fleet, new: PromisedPod, memory: VerdictMemory, kept: WaitingMemory, stays: Stays
    ) -> None:
        self.fleet = fleet.withdrawn(new.pod.uid)
        self.new, self.memory, self.kept, self.stays = new, memory, kept, stays
        self.cut = False
        """A bound was met."""

    def told(self, unknown: int) -> WhyWaiting:
        placing = places(self.fleet, self.new.pod, self.memory)
        refusals = {name: refusal for refusal, names in placing.refusals.items() for name in names}
        aside: dict[str, list[tuple[str, bool]]] = {}
        crowds: list[_Crowd] = []
        for names in self.fleet.groups.values():
            for refusal, own in _split(names, refusals):
                if refusal.reason in ASIDE:
                    aside.setdefault(refusal.reason, []).extend((name, self._willing(name)) for name in own)
                else:
                    crowds.append(self._crowd(own, refusal))
        crowds.sort(key=lambda crowd: (not crowd.empty, -crowd.nearness, crowd.names))
        self._look(crowds)
        busy = [crowd for crowd in crowds if crowd.empty]
        busy.sort(key=lambda crowd: (-crowd.share, -crowd.nearness, crowd.names))
        told = [(crowd.lacks, len(crowd.names)) for crowd in crowds if crowd.refusal.reason != PROMISED]
        whole = all(lacks for lacks, _ in told)
        of_busy = [(crowd.lacks, len(crowd.names)) for crowd in busy if crowd.refusal.reason != PROMISED]
        lack = common_lack(told) if whole else None
        busy_lack = common_lack(of_busy) if of_busy and all(lacks for lacks, _ in of_busy) else None
        near = [crowd.node for crowd in _unlike(busy or crowds)][:MOST_CHANGED]
        return WhyWaiting(
            pod="",
            nodes=len(self.fleet.nodes),
            unknown=unknown,
            fitting=len(placing.places),
            never=sum(len(crowd.names) for crowd in crowds if not crowd.empty),
            busy=sum(len(crowd.names) for crowd in busy),
            promised=sum(len(crowd.names) for crowd in busy if crowd.refusal.reason == PROMISED),
            lack=lack,
            busy_lack=busy_lack,
            commonest=_commonest(told),
            ends=tuple(sorted(self._ends(busy), key=lambda own: own.node)),
            cut=self.cut,
            aside=tuple(_aside(reason, aside[reason]) for reason in ASIDE if reason in aside),
            change=None if placing.places else smallest_change(self.new.pod, near, self.memory),
            groups=tuple(_alike(crowds)),
        )

    def _willing(self, name: str) -> bool:
        """Whether it takes the pod but for the one thing that speaks against it."""
        node, demands = self.fleet.nodes[name], self.new.pod.demands
        against = (
            not node.schedulable,
            untolerated(node.state.node.settings, demands, node.facts.taints, SCHEDULER_EFFECTS) is not None,
            bool(wrong_labels(demands, node.facts.labels or {}, name)),
            self.new.shape in node.refused,
        )
        return sum(against) == 1 and self._verdict(node).admitted

    def _verdict(self, node: FleetNode) -> FleetVerdict:
        return together(node.state, node.promised, self.new, self.memory)

    def _crowd(self, names: tuple[str, ...], refusal: PlaceRefusal) -> _Crowd:
        node = self.fleet.nodes[names[0]]
        freedom = self.memory.freedom(node.state)
        wanted = requests_of(node.state.node.settings, self.new.pod)
        nearness = min((freedom.get(name, 0.0) for name in wanted if name in freedom), default=0.0)
        empty = refusal.reason != NOT_OFFERED and self._fits_empty(node.state)
        return _Crowd(names, node, refusal, nearness, empty)

    def _fits_empty(self, state: NodeState) -> bool:
        empty = self.kept.emptied(state)
        return self.memory.verdict(empty, self.new.pod, self.new.shape).admitted

    def _look(self, crowds: Iterable[_Crowd]) -> None:
        """A node to which others are promised lacks nothing but them."""
        left = MOST_LOOKED
        for crowd in crowds:
            if crowd.refusal.reason == PROMISED:
                continue
            # What a node lacks with nobody on it, it lacks all the more now; and of empty nodes there are few sorts.
            state = crowd.node.state if crowd.empty else self.kept.emptied(crowd.node.state)
            if not self.kept.knows_lacks(state, self.new):
                left -= 1
                if left < 0:
                    self.cut = True
                    continue
            crowd.lacks = self.kept.lacks(state, self.new)

    def _ends(self, busy: Sequence[_Crowd]) -> Iterator[Ending]:
        """The first node of each group, then the second of each, and so on."""
        left = MOST_TRIED
        for rank in range(max((len(crowd.names) for crowd in busy), default=0)):
            for crowd in busy:
                if rank >= len(crowd.names):
                    continue
                node = self.fleet.nodes[crowd.names[rank]]
                resources = {name for lack in crowd.lacks for name in lack.needs if name != "pods"}
                for holder in holders(node.state, resources, self.stays):
                    if not self.kept.knows_end(node, holder.uid, self.new):
                        left -= 1
                        if left < 0:
                            self.cut = True
                            return
                    if self.kept.admitted_after(node, holder.uid, self.new, self.memory):
                        yield Ending(node.name, holder.full_name, holder.uid)
                        break


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


def _unlike(crowds: Iterable[_Crowd]) -> Iterator[_Crowd]:
    """One for each state."""
    seen: set[bytes] = set()
    for crowd in crowds:
        if crowd.node.state.key not in seen:
            seen.add(crowd.node.state.key)
            yield crowd


def _commonest(told: Iterable[tuple[Sequence[Lack], int]]) -> tuple[Lack, int] | None:
    numbers: dict[tuple[str, ...], tuple[int, Lack]] = {}
    for lacks, number in told:
        for lack in lacks:
            key = (lack.where, lack.container, lack.text, *sorted(lack.needs))
            before, first = numbers.get(key, (0, lack))
            numbers[key] = (before + number, first)
    if not numbers:
        return None
    number, lack = numbers[min(numbers, key=lambda key: (-numbers[key][0], key))]
    return lack, number


def _aside(reason: str, own: Sequence[tuple[str, bool]]) -> AsideNodes:
    willing = sorted(name for name, takes in own if takes)
    names = willing or sorted(name for name, _ in own)
    return AsideNodes(reason, len(own), len(willing), tuple(names[:MOST_NAMED]))


def _alike(crowds: Iterable[_Crowd]) -> Iterator[NodesAlike]:
    """By what they lack; the most nodes first."""
    found: dict[Hashable, list[_Crowd]] = {}
    for crowd in crowds:
        wants = tuple((lack.where, lack.container, lack.text, tuple(sorted(lack.needs))) for lack in crowd.lacks)
        found.setdefault((crowd.refusal, wants, crowd.empty), []).append(crowd)
    rows = []
    for own in found.values():
        names = sorted(name for crowd in own for name in crowd.names)
        first = own[0]
        lacks = tuple(msgspec.structs.replace(lack, share=0.0) for lack in first.lacks)
        refusal = first.refusal
        rows.append(
            NodesAlike(len(names), tuple(names[:MOST_NAMED]), refusal.reason, refusal.message, lacks, first.empty)
        )
    yield from sorted(rows, key=lambda row: (-row.nodes, row.names))
