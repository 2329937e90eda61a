"""A pod on a node as it stands: yes or no, and what it takes; decided once for equal nodes and equal pods."""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from numafit.decision.decide import decide, load_after, load_beside, requests_of
from numafit.decision.decision import Decision
from numafit.decision.life import start_containers
from numafit.decision.verdicts import shape_of
from numafit.fleet.groups import StandingGroups
from numafit.fleet.room import Freedom, freedom_of, room_of
from numafit.fleet.state import NodeState, Standing, state_with
from numafit.workload.api_server import is_extended
from numafit.workload.pod import Pod

MOST_REMEMBERED = 200_000
MOST_DIGESTS = 2_000
"""Pods without a template among them: of each of these one is remembered for nothing."""
MOST_AFTERS = 1_000
"""States of nodes after a pod, which are large: they are asked for again soon, or never."""
CRASH = "Crash"
"""The reason where the kubelet would crash over the pod."""

NOT_OFFERED = "NotOffered"
"""The reason where the node does not know a resource that the pod asks for."""


_DIGESTS: dict[Hashable, tuple[bytes, tuple[object, ...]]] = {}
"""What `shape_digest` has found; it holds no truth of its own."""


class FleetVerdict(msgspec.Struct, frozen=True, gc=False):
    admitted: bool
    reason: str = ""
    """The kubelet's, of a rejection; or one of ours."""
    message: str = ""
    cost: float = 0.0
    """What it takes of the node's room for large pods."""


class GroupOrder(NamedTuple):
    """In which order groups of nodes are asked."""

    groups: StandingGroups
    closed: frozenset[Standing]
    """Those that a cordon or a taint may keep out."""
    ranked: list[tuple[float, tuple[str, ...], Standing]]
    """How much is free there, the names of the nodes, how they stand. No two groups have the same first name."""


def shape_digest(pod: Pod) -> bytes:
    """Equal for pods that no kubelet can tell apart but by their names, wherever they want to go."""
    # Copies of one template have the same parts, not only equal ones: those are known by where they are.
    parts = (pod.containers, pod.init_containers, pod.resources, pod.overhead or None)
    key = (*map(id, parts), pod.status_qos, pod.demands, pod.priority, pod.static)
    known = _DIGESTS.get(key)
    if known is None:
        if len(_DIGESTS) >= MOST_DIGESTS:
            _DIGESTS.clear()
        # With the parts themselves: nothing else can come to be where they are.
        known = _DIGESTS[key] = _digest(pod), parts
    return known[0]


def _digest(pod: Pod) -> bytes:
    demands = replace(pod.demands, selector=(), affinity=None, tolerations=())
    return blake2b(repr(shape_of(replace(pod, demands=demands))).encode(), digest_size=16).digest()


def tried(state: NodeState, pod: Pod) -> tuple[Decision, NodeState | None]:
    """What the kubelet decides, and how the node stands after it; None where the pod is not admitted. Nobody is evicted
    for a critical pod: who asks wants to know where it fits beside the others."""
    node, before = state.node, state.ledger
    others = load_beside(node.settings, state.load, before, pod.uid)
    decision = decide(node, before, pod, state.allocatable, others=others, evicts=False)
    if not decision.admitted:
        return decision, None
    ledger, _ = start_containers(node, decision.ledger, pod.uid)
    load = load_after(node.settings, others, decision)
    return decision, state_with(state.kind, node, ledger, load, state.allocatable)


def not_started(after: NodeState, decision: Decision) -> NodeState:
    """The same node while no container of the pod has started: what only its init containers need is held still."""
    return state_with(after.kind, after.node, decision.ledger, after.load, after.allocatable)


def unlisted(state: NodeState, pod: Pod) -> str:
    """What a kubelet drops from the requests of a pod, and no scheduler does: a resource that the node does not
    list."""
    listed = {*(state.allocatable or ()), *state.ledger.device.healthy}
    wanted = requests_of(state.node.settings, pod)
    return next((name for name in wanted if is_extended(name) and name not in listed), "")


class VerdictMemory:
    """What was found before. It holds no truth of its own: thrown away, everything is found again."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, FleetVerdict] = OrderedDict()
        self._rooms: OrderedDict[bytes, float] = OrderedDict()
        self._afters: OrderedDict[tuple[bytes, bytes], tuple[NodeState | None, NodeState | None]] = OrderedDict()
        """With its containers started, and before."""
        self._freedoms: OrderedDict[bytes, Freedom] = OrderedDict()
        self._free: dict[bytes, float] = {}
        self.order: GroupOrder | None = None
        """The one that was wanted last."""
        self.decided = 0
        """How often the engine was asked."""

    def verdict(self, state: NodeState, pod: Pod, shape: bytes) -> FleetVerdict:
        key = (state.key, shape)
        found = self._found.get(key)
        if found is None:
            found = self._decided(state, pod, shape)
            self.remember(key, found)
        return found

    def after(self, state: NodeState, pod: Pod, shape: bytes, *, started: bool = True) -> NodeState | None:
        """How the node stands after the pod, by whatever name; None where it is not admitted. `started`: its containers
        run already."""
        key = (state.key, shape)
        if key not in self._afters:
            self._try(state, pod, shape)
        running, waiting = self._afters[key]
        return running if started else waiting

    def _try(self, state: NodeState, pod: Pod, shape: bytes) -> Decision:
        # Not under its own name: what comes of it holds for all pods of this shape, and it may be asked about beside
        # another one of them. No two that come one after the other have the same.
        decision, after = tried(state, replace(pod, uid=f"promised-{state.load.pods}"))
        waiting = not_started(after, decision) if after is not None and pod.init_containers else after
        self._afters[state.key, shape] = after, waiting
        if len(self._afters) > MOST_AFTERS:
            self._afters.popitem(last=False)
        return decision

    def _decided(self, state: NodeState, pod: Pod, shape: bytes) -> FleetVerdict:
        self.decided += 1
        missing = unlisted(state, pod)
        if missing:
            return FleetVerdict(False, NOT_OFFERED, f"it offers no {missing}")
        decision = self._try(state, pod, shape)
        after, _ = self._afters[state.key, shape]
        if after is None:
            reason = CRASH if decision.panic else decision.reason
            return FleetVerdict(False, reason, decision.panic or decision.message)
        return FleetVerdict(True, cost=self.room(state) - self.room(after))

    def room(self, state: NodeState) -> float:
        found = self._rooms.get(state.key)
        if found is None:
            found = self._rooms[state.key] = room_of(state)
            if len(self._rooms) > self._most:
                self._rooms.popitem(last=False)
        return found

    def freedom(self, state: NodeState) -> Freedom:
        found = self._freedoms.get(state.key)
        if found is None:
            found = self._freedoms[state.key] = freedom_of(state)
            if len(self._freedoms) > self._most:
                self._freedoms.popitem(last=False)
        return found

    def frees(self, states: Iterable[NodeState]) -> Mapping[bytes, float]:
        """How much of each is free, all resources together, by its key: a guess at how good a place it is."""
        for state in states:
            if state.key not in self._free:
                self._free[state.key] = sum(self.freedom(state).values())
        return self._free

    @property
    def known_frees(self) -> Mapping[bytes, float]:
        """Of those that were asked for before, and have not been forgotten."""
        if len(self._free) > self._most:
            self._free.clear()
        return self._free

    def recall(self, key: Hashable) -> FleetVerdict | None:
        return self._found.get(key)

    def remember(self, key: Hashable, verdict: FleetVerdict) -> None:
        self._found[key] = verdict
        if len(self._found) > self._most:
            self._found.popitem(last=False)
