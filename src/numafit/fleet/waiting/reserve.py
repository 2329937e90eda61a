"""A node kept for a large pod that waits, so that small ones do not take every share that comes free before it.

The first pod in the queue that no node takes now, and that some node would take after others have ended, gets the node
for which the fewest have to end. Pods behind it are not offered that node, unless that does not delay it: with them
there, and after the same ends, it is admitted all the same, in every order. Whatever is there may run on and end.

A reservation ends when its pod is gone, released or could never fit there any more, and after a time at the latest:
then the next one has its turn, and the same one again when all others have had theirs. So at most so many nodes are
kept back at any time, and a pod that is not the first waits no longer than the turns before it take. For a group that
would need more nodes than that none is kept.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.orders import PromisedPod, promise_of, together
from numafit.fleet.places import places
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.crowds import crowds_of
from numafit.fleet.waiting.ends import Stays, admitted_after, holders, needed_ends, state_without, static_stays
from numafit.fleet.waiting.memory import WaitingMemory
from numafit.workload.pod import Pod

RESERVE_SECONDS = 600.0
MOST_RESERVED = 1
MOST_HELD = 8
"""Nodes that are kept for one group of pods."""
HELD_SHARE = 4
"""And of all nodes no more than one in so many, but one in any case."""
MOST_COMPARED = 16
"""Nodes of which it is found out who would have to end."""
MOST_ASKED = 4
"""Contenders that a node is looked for at once."""

QueueRank = tuple[int, str, str, str]
"""The smallest comes first: priority with its sign turned, when it was made, its name, its UID."""


class Contender(msgspec.Struct, frozen=True):
    """What waits: a pod, or the pods of a group that start together."""

    key: str
    """UID of the pod, or the name of the group."""
    rank: QueueRank
    pods: tuple[Pod, ...]


class HeldNode(msgspec.Struct, frozen=True):
    """A node that is kept for one pod."""

    node: str
    pod: Pod
    ends: Mapping[str, str]
    """UID -> namespace/name of those that have to end before it is admitted there; empty: it could come now."""


class NodeReservation(msgspec.Struct, frozen=True):
    key: str
    rank: QueueRank
    nodes: tuple[HeldNode, ...]
    since: float
    until: float
    """Both by the clock of the caller, in seconds."""


class Reservations(msgspec.Struct, frozen=True):
    held: tuple[NodeReservation, ...] = ()
    turns: Mapping[str, float] = {}
    """Key of a contender that still waits -> when its last turn ended."""

    def holder(self, node: str) -> NodeReservation | None:
        return next((own for own in self.held if any(each.node == node for each in own.nodes)), None)

    def of(self, key: str) -> NodeReservation | None:
        return next((own for own in self.held if own.key == key), None)

    @property
    def next_change(self) -> float | None:
        """When the first of them ends by its time."""
        return min((own.until for own in self.held), default=None)


class Reserver(msgspec.Struct, frozen=True):
    """The rules, and what they are worked out with."""

    memory: VerdictMemory
    kept: WaitingMemory
    seconds: float = RESERVE_SECONDS
    most: int = MOST_RESERVED
    most_held: int = MOST_HELD
    stays: Stays = static_stays

    def renewed(self, fleet: Fleet, waiting: Sequence[Contender], before: Reservations, now: float) -> Reservations:
        """What is reserved from now on. `waiting`: those that could not be released, the first of the queue first."""
        known = {own.key for own in waiting}
        return self.filled(fleet, waiting, self.still(fleet, before, known.__contains__, now), now)

    def still(self, fleet: Fleet, before: Reservations, waits: Callable[[str], bool], now: float) -> Reservations:
        """What is left of it: without those that wait no longer, whose time is over, or whose node is of no use."""
        turns = dict(before.turns)
        held = []
        for own in before.held:
            if not waits(own.key):
                continue
            if now >= own.until:
                turns[own.key] = now
                continue
            left = self._still(fleet, own)
            if left is not None:
                held.append(left)
        return Reservations(tuple(held), turns)

    def filled(self, fleet: Fleet, waiting: Sequence[Contender], before: Reservations, now: float) -> Reservations:
        """With nodes for others of those that wait, as long as there may be more."""
        if self.seconds <= 0:
            return Reservations()
        known = {own.key for own in waiting}
        turns = {key: ended for key, ended in before.turns.items() if key in known}
        held = list(before.held)
        have = {own.key for own in held}
        asked = 0
        for contender in sorted(waiting, key=lambda own: (turns.get(own.key, float("-inf")), own.rank)):
            if len(held) >= self.most or asked >= MOST_ASKED:
                break
            if contender.key in have:
                continue
            asked += 1
            nodes = self._nodes(fleet, contender, {each.node for own in held for each in own.nodes})
            if nodes:
                held.append(NodeReservation(contender.key, contender.rank, nodes, now, now + self.seconds))
            else:
                # It has had its turn, so that those behind it are asked about the next time.
                turns[contender.key] = now
        return Reservations(tuple(held), turns)

    def kept_back(
        self, fleet: Fleet, pod: Pod, key: str, rank: QueueRank, reservations: Reservations
    ) -> frozenset[str]:
        """The nodes that this pod is not offered, since they are kept for somebody before it. `key` is that of its
        group, where it has one."""
        found: set[str] = set()
        for own in reservations.held:
            if own.key == key or rank < own.rank:
                continue
            found.update(each.node for each in own.nodes if self._delays(fleet, pod, own, each.node))
        return frozenset(found)

    def _delays(self, fleet: Fleet, pod: Pod, own: NodeReservation, name: str) -> bool:
        """Whether those for whom the node is kept would not come after the same ends, were this pod there."""
        node = fleet.nodes.get(name)
        if node is None:
            return False
        there = replace(node, promised=(*_beside(node, pod.uid), promise_of(pod)))
        return not _room_for([each for each in own.nodes if each.node == name], there, self.memory)

    def _still(self, fleet: Fleet, own: NodeReservation) -> NodeReservation | None:
        """The same reservation on the fleet as it is now, with those that have yet to end; None where one of its nodes
        is gone or can no longer become free."""
        nodes = []
        for each in own.nodes:
            node = fleet.nodes.get(each.node)
            if node is None or not node.schedulable:
                return None
            left = {uid: name for uid, name in each.ends.items() if uid in node.state.ledger.active}
            new = promise_of(each.pod)
            there = replace(node, promised=_beside(node, each.pod.uid))
            if not admitted_after(there, left, new, self.memory):
                ends = needed_ends(there, new, self.memory, holders(node.state, (), self.stays, largest=True))
                if ends is None:
                    return None
                left = {pod.uid: pod.full_name for pod in ends}
            nodes.append(replace(each, ends=left))
        return replace(own, nodes=tuple(nodes))

    def _nodes(self, fleet: Fleet, contender: Contender, taken: set[str]) -> tuple[HeldNode, ...]:
        """One after the other for its pods; none where one of them finds no node, or where they are too many."""
        found: list[HeldNode] = []
        most = min(self.most_held, max(1, len(fleet.nodes) // HELD_SHARE))
        for pod in contender.pods:
            here = [each.node for each in places(fleet, pod, self.memory).places if each.node not in taken]
            if here:
                best = HeldNode(here[0], pod, {})
            else:
                own = {each.node for each in found}
                chosen = min(self._candidates(fleet, pod, taken, own), key=lambda each: each[0], default=None)
                if chosen is None:
                    return ()
                best = chosen[1]
                # Those that come after it find the node as it will be then.
                fleet = _after_ends(fleet, best)
            fleet = fleet.offered(pod, (best.node,))
            found.append(best)
            if len({each.node for each in found}) > most:
                return ()
        # Where all of it could start now nothing has to be kept.
        return tuple(found) if any(each.ends for each in found) else ()

    def _candidates(
        self, fleet: Fleet, pod: Pod, taken: set[str], own: set[str]
    ) -> Iterator[tuple[tuple[int, bool, float, str], HeldNode]]:
        """By how many have to end, whether the node is not one of its `own` yet, what it loses then, and its name."""
        new = promise_of(pod)
        compared = 0
        for node in _nearest(fleet, new, self.memory, self.kept):
            if node.name in taken:
                continue
            compared += 1
            if compared > MOST_COMPARED:
                return
            ends = needed_ends(node, new, self.memory, holders(node.state, (), self.stays, largest=True))
            if ends:
                gone = {own.uid: own.full_name for own in ends}
                cost = together(state_without(node.state, gone), node.promised, new, self.memory).cost
                yield (len(ends), node.name not in own, round(cost, 9), node.name), HeldNode(node.name, pod, gone)


def _nearest(fleet: Fleet, new: PromisedPod, memory: VerdictMemory, kept: WaitingMemory) -> Iterator[FleetNode]:
    """Of those that would take it with nobody on them: the first of each crowd, then the second, and so on."""
    busy = [crowd for crowd in crowds_of(fleet, new, memory, kept).crowds if crowd.empty]
    for rank in range(max((len(crowd.names) for crowd in busy), default=0)):
        yield from (fleet.nodes[crowd.names[rank]] for crowd in busy if rank < len(crowd.names))


def _beside(node: FleetNode, uid: str) -> tuple[PromisedPod, ...]:
    return tuple(own for own in node.promised if own.pod.uid != uid)


def _room_for(held: Sequence[HeldNode], node: FleetNode, memory: VerdictMemory) -> bool:
    """Whether all of them are admitted there once those have ended that they wait for."""
    gone = {uid for each in held for uid in each.ends if uid in node.state.ledger.active}
    state = state_without(node.state, gone)
    promised = node.promised
    for each in held:
        if not together(state, promised, promise_of(each.pod), memory).admitted:
            return False
        promised = (*promised, promise_of(each.pod))
    return True


def _after_ends(fleet: Fleet, held: HeldNode) -> Fleet:
    node = fleet.nodes[held.node]
    state = state_without(node.state, held.ends)
    return fleet.reported(held.node, state, node.facts, schedulable=node.schedulable)
