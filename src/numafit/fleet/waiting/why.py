"""Why a pod waits: what is short and where, who would have to end, and what would let it start now, as one value.

Nodes fall into three sorts. Some are out of the question for what they are (a cordon, a taint, labels, a refusal that
was not predicted); of these it is told how many would take the pod but for that one thing. Some could not take it even
with nobody on them. The others are busy: with nobody on them they would.

The work is bounded: lacks are read from so many states, and so many ends are tried, the nearest nodes first. Where a
bound was met the value says so.
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from numafit.fleet.fleet import Fleet
from numafit.fleet.orders import PROMISED, PromisedPod, promise_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.change import PodChange, smallest_change
from numafit.fleet.waiting.crowds import ASIDE, Crowd, crowds_of
from numafit.fleet.waiting.ends import Stays, holders, static_stays
from numafit.fleet.waiting.lack import Lack, common_lack
from numafit.fleet.waiting.memory import WaitingMemory
from numafit.workload.pod import Pod

MOST_LOOKED = 256
"""Distinct states whose lacks are read at once."""
MOST_TRIED = 128
"""Ends that are tried at once."""
MOST_CHANGED = 3
"""Nodes on which changes of the pod are tried."""
MOST_NAMED = 3


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


class WhyMemory(WaitingMemory):
    """Whole answers, too: while the fleet is the same, pods of one shape wait for the same."""

    def __init__(self) -> None:
        super().__init__()
        self._told: tuple[Fleet, dict[Hashable, WhyWaiting]] | None = None

    def told(self, fleet: Fleet) -> dict[Hashable, WhyWaiting]:
        if self._told is None or self._told[0] is not fleet:
            self._told = (fleet, {})
        return self._told[1]


def why_waiting(
    fleet: Fleet,
    pod: Pod,
    memory: VerdictMemory,
    kept: WhyMemory,
    *,
    unknown: int = 0,
    stays: Stays = static_stays,
) -> WhyWaiting:
    """As if the pod were offered to nobody yet. `unknown`: so many nodes have not told their topology. `stays`: pods of
    which it is of no use to say that they would have to end."""
    new, demands = promise_of(pod), pod.demands
    # One that is offered counts for the others, and not for itself.
    offered = pod.uid if pod.uid in fleet.offers else ""
    key = (new.shape, demands.selector, repr(demands.affinity), demands.tolerations, unknown, offered)
    told = kept.told(fleet)
    if key not in told:
        told[key] = _Inquiry(fleet, new, memory, kept, stays).told(unknown)
    return replace(told[key], pod=pod.full_name)


class _Inquiry:
    def __init__(
        self, fleet: Fleet, new: PromisedPod, memory: VerdictMemory, kept: WaitingMemory, stays: Stays
    ) -> None:
        self.fleet = fleet.withdrawn(new.pod.uid)
        self.new, self.memory, self.kept, self.stays = new, memory, kept, stays
        self.cut = False
        """A bound was met."""

    def told(self, unknown: int) -> WhyWaiting:
        found = crowds_of(self.fleet, self.new, self.memory, self.kept)
        crowds = found.crowds
        self._look(crowds)
        busy = sorted(
            (crowd for crowd in crowds if crowd.empty),
            key=lambda crowd: (-crowd.share, -crowd.nearness, crowd.names),
        )
        told = [(crowd.lacks, len(crowd.names)) for crowd in crowds if crowd.refusal.reason != PROMISED]
        of_busy = [(crowd.lacks, len(crowd.names)) for crowd in busy if crowd.refusal.reason != PROMISED]
        near = [crowd.node for crowd in _unlike(busy or crowds)][:MOST_CHANGED]
        return WhyWaiting(
            pod="",
            nodes=len(self.fleet.nodes),
            unknown=unknown,
            fitting=found.fitting,
            never=_nodes(crowd for crowd in crowds if not crowd.empty),
            busy=_nodes(busy),
            promised=_nodes(crowd for crowd in busy if crowd.refusal.reason == PROMISED),
            lack=_lack(told),
            busy_lack=_lack(of_busy),
            commonest=_commonest(told),
            ends=tuple(sorted(self._ends(busy), key=lambda own: own.node)),
            cut=self.cut,
            aside=tuple(_aside(reason, found.aside[reason]) for reason in ASIDE if reason in found.aside),
            change=None if found.fitting else smallest_change(self.new.pod, near, self.memory),
            groups=tuple(_alike(crowds)),
        )

    def _look(self, crowds: Iterable[Crowd]) -> None:
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

    def _ends(self, busy: Sequence[Crowd]) -> Iterator[Ending]:
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


def _nodes(crowds: Iterable[Crowd]) -> int:
    return sum(len(crowd.names) for crowd in crowds)


def _lack(told: Sequence[tuple[Sequence[Lack], int]]) -> Lack | None:
    """None where one was not looked at: nothing can be said about all."""
    return common_lack(told) if told and all(lacks for lacks, _ in told) else None


def _unlike(crowds: Iterable[Crowd]) -> Iterator[Crowd]:
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


def _alike(crowds: Iterable[Crowd]) -> Iterator[NodesAlike]:
    """By what they lack; the most nodes first."""
    found: dict[Hashable, list[Crowd]] = {}
    for crowd in crowds:
        wants = tuple((lack.where, lack.container, lack.text, tuple(sorted(lack.needs))) for lack in crowd.lacks)
        found.setdefault((crowd.refusal, wants, crowd.empty), []).append(crowd)
    rows = []
    for own in found.values():
        names = sorted(name for crowd in own for name in crowd.names)
        first = own[0]
        lacks = tuple(replace(lack, share=0.0) for lack in first.lacks)
        refusal = first.refusal
        rows.append(
            NodesAlike(len(names), tuple(names[:MOST_NAMED]), refusal.reason, refusal.message, lacks, first.empty)
        )
    yield from sorted(rows, key=lambda row: (-row.nodes, row.names))
