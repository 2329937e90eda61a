"""What each change of the cluster means for the fleet. No network and no clock: whoever calls tells what time it is.

A pod that is bound counts on its node until the node's report has it. One that vanishes before that keeps its share
until the next report, or for some seconds: its kubelet may have taken it in meanwhile. Where others were promised to
the node at that time, it is the next report that has them: they may have been given places beside it, which they keep,
and a report without them may be older than all of that. A node is in the fleet while there are both, the Node and a
NodeTopology that can be used.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from numafit.cluster.live.kinds import NodeKinds
from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.topology.model import NodeTopology
from numafit.fleet.fleet import Fleet
from numafit.fleet.places import Placing, places
from numafit.fleet.state import NodeState, state_of
from numafit.fleet.verdicts import VerdictMemory
from numafit.settings.facts import NO_FACTS
from numafit.workload.pod import Pod

LEAVING_SECONDS = 10.0
"""So long a pod that has vanished counts on a node that reports nothing."""
MOST_REJECTED = 10_000
"""Rejected pods that are remembered: of the same pod two watches tell, in any order."""
MOST_REFUSED = 1_000
"""Nodes that are away, and whose refusals are remembered: with an autoscaler most never come back."""


class LeavingPod(NamedTuple):
    """One that vanished before its node's report had it."""

    node: str
    end: float
    """So long it counts at most."""
    beside: frozenset[str]
    """UIDs of those that were promised to the node when it vanished."""


class FleetBook:
    def __init__(self) -> None:
        self.fleet = Fleet()
        self.memory = VerdictMemory()
        self.pods: dict[str, ClusterPod] = {}
        """By the UID that the kubelet knows: all that have not ended."""
        self.nodes: dict[str, ClusterNode] = {}
        self.troubles: dict[str, str] = {}
        """Node -> why its NodeTopology cannot be used."""
        self.kinds = NodeKinds()
        self._states: dict[str, NodeState] = {}
        """As reported, whether or not there is a Node."""
        self._bound: dict[str, set[str]] = {}
        """Node -> UIDs of the pods that are bound to it."""
        self._leaving: dict[str, LeavingPod] = {}
        """By UID."""
        self._mirrors: dict[str, str] = {}
        """UID of the API server -> that of the kubelet, where they are not the same."""
        self._rejected: OrderedDict[str, None] = OrderedDict()
        self._refused: OrderedDict[str, tuple[bytes, Mapping[bytes, str]]] = OrderedDict()
        """Nodes that are away, and refused something: how they stood, and what they said."""

    # --- nodes --------------------------------------------------------------------------------------------------------

    def node_told(self, node: ClusterNode) -> None:
        before = self.nodes.get(node.name)
        self.nodes[node.name] = node
        state = self._states.get(node.name)
        if state is None:
            return
        if before is None or before.facts != node.facts:
            self._states[node.name] = self.kinds.told(state, node.facts)
        elif before.unschedulable == node.unschedulable:
            return
        self._stand(node.name)

    def node_gone(self, name: str) -> None:
        self.nodes.pop(name, None)
        self._remove(name)

    def read(self, topology: NodeTopology) -> NodeState:
        """How the node stands by this report. Raises InputError for one that makes no sense."""
        node = self.nodes.get(topology.name)
        holders = (holder.uid for holder in topology.status.holders)
        known = {uid: self.pods[uid].pod for uid in holders if uid in self.pods}
        return self.kinds.state(topology, node.facts if node is not None else NO_FACTS, known)

    def reported(self, name: str, state: NodeState) -> None:
        self.troubles.pop(name, None)
        self._states[name] = self._up_to_date(name, state)
        self._stand(name)
        for uid, left in list(self._leaving.items()):
            if left.node == name and not any(name in self.fleet.offers.get(other, ()) for other in left.beside):
                del self._leaving[uid]
                self.fleet = self.fleet.withdrawn(uid)

    def unreported(self, name: str, trouble: str = "") -> None:
        """Its NodeTopology is gone, or cannot be used any more."""
        self.troubles.pop(name, None)
        if trouble:
            self.troubles[name] = trouble
        self._states.pop(name, None)
        self._remove(name)

    def _remove(self, name: str) -> None:
        node = self.fleet.nodes.get(name)
        if node is not None and node.refused:
            self._refused[name] = (node.state.key, node.refused)
            if len(self._refused) > MOST_REFUSED:
                self._refused.popitem(last=False)
        self.fleet = self.fleet.removed(name)

    def _up_to_date(self, name: str, state: NodeState) -> NodeState:
        """What came to be known between reading and telling."""
        node = self.nodes.get(name)
        if node is not None:
            state = self.kinds.told(state, node.facts)
        others = {uid: self.pods[uid].pod for uid in state.ledger.active if uid in self.pods}
        changed = {uid: pod for uid, pod in others.items() if state.ledger.active[uid] != pod}
        return _holding(state, changed) if changed else state

    def _stand(self, name: str) -> None:
        node, state = self.nodes.get(name), self._states.get(name)
        if node is None or state is None:
            return
        key, refused = self._refused.pop(name, (b"", {}))
        refused = refused if key == state.key else {}
        fleet = self.fleet.reported(name, state, node.facts, schedulable=not node.unschedulable, refused=refused)
        for uid in sorted(self._bound.get(name, ())):
            if uid not in state.ledger.active and fleet.offers.get(uid) != (name,):
                fleet = fleet.bound(self.pods[uid].pod, name)
        self.fleet = fleet

    # --- pods ---------------------------------------------------------------------------------------------------------

    def pod_told(self, pod: ClusterPod) -> ClusterPod:
        """As it is kept: one that pretends to be another's mirror is itself only."""
        pod = self._itself(pod)
        if pod.uid in self._rejected:
            return pod
        before = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        if pod.uid != pod.metadata.uid:
            self._mirrors[pod.metadata.uid] = pod.uid
        self._leaving.pop(pod.uid, None)
        if pod.node:
            self._bound.setdefault(pod.node, set()).add(pod.uid)
            self._count(pod, before)
        elif pod.offered and not pod.gates and pod.uid not in self.fleet.offers:
            self.fleet = self.fleet.offered(pod.pod, pod.offered)
        return pod

    def _itself(self, pod: ClusterPod) -> ClusterPod:
        own, there = pod.metadata.uid, self.pods.get(pod.uid)
        if pod.uid == own:
            if there is not None and there.metadata.uid != own:
                # Somebody called himself so before this one came.
                self._forget(there)
                self.pod_told(replace(there, pod=replace(there.pod, uid=there.metadata.uid)))
            return pod
        if not pod.node or (there is not None and there.metadata.uid != own):
            return replace(pod, pod=replace(pod.pod, uid=own))
        return pod

    def _count(self, pod: ClusterPod, before: ClusterPod | None) -> None:
        state = self._states.get(pod.node)
        if pod.node not in self.fleet.nodes or state is None:
            # It counts when the node reports.
            if pod.uid in self.fleet.offers:
                self.fleet = self.fleet.withdrawn(pod.uid)
        elif pod.uid not in state.ledger.active:
            resized = before is not None and before.node and before.pod != pod.pod
            fleet = self.fleet.withdrawn(pod.uid) if resized else self.fleet
            self.fleet = fleet.bound(pod.pod, pod.node)
        else:
            if pod.uid in self.fleet.offers:
                self.fleet = self.fleet.withdrawn(pod.uid)
            if state.ledger.active[pod.uid] != pod.pod:
                self._states[pod.node] = _holding(state, {pod.uid: pod.pod})
                self._stand(pod.node)

    def pod_gone(self, uid: str, now: float) -> ClusterPod | None:
        """It was deleted, or has ended. `uid`: that of the API server."""
        uid = self._mirrors.get(uid, uid)
        pod = self.pods.get(uid)
        if pod is None:
            return None
        self._forget(pod)
        if uid in self.fleet.offers:
            if pod.node:
                node = self.fleet.nodes.get(pod.node)
                others = frozenset(own.pod.uid for own in node.promised) if node is not None else frozenset()
                self._leaving[uid] = LeavingPod(pod.node, now + LEAVING_SECONDS, others - {uid, *self._leaving})
            else:
                self.fleet = self.fleet.withdrawn(uid)
        return pod

    def _forget(self, pod: ClusterPod) -> None:
        del self.pods[pod.uid]
        self._mirrors.pop(pod.metadata.uid, None)
        bound = self._bound.get(pod.node)
        if bound is not None:
            bound.discard(pod.uid)
            if not bound:
                del self._bound[pod.node]

    def rejected(self, pod: ClusterPod) -> None:
        """Its kubelet did not take it in: nothing of it counts there, and none like it goes there before the node has
        changed."""
        self._rejected[pod.uid] = None
        if len(self._rejected) > MOST_REJECTED:
            self._rejected.popitem(last=False)
        self._leaving.pop(pod.uid, None)
        if pod.uid in self.pods:
            self._forget(self.pods[pod.uid])
        self.fleet = self.fleet.rejected(pod.pod, pod.node, pod.message)

    def sweep(self, now: float) -> list[str]:
        """Those that vanished long ago count no longer: the nodes on which they did."""
        freed = []
        for uid, left in list(self._leaving.items()):
            if now >= left.end:
                del self._leaving[uid]
                self.fleet = self.fleet.withdrawn(uid)
                freed.append(left.node)
        return freed

    # --- questions ----------------------------------------------------------------------------------------------------

    def bound_to(self, name: str) -> list[ClusterPod]:
        """By name; also those that its report does not have."""
        return sorted((self.pods[uid] for uid in self._bound.get(name, ())), key=lambda own: own.full_name)

    def places(self, pod: Pod, most: int | None = None) -> Placing:
        return places(self.fleet, pod, self.memory, most)

    def offer(self, pod: ClusterPod, names: Sequence[str]) -> None:
        """Before anybody else can know of it."""
        self.fleet = self.fleet.offered(pod.pod, names)

    def withdraw(self, uid: str) -> None:
        pod = self.pods.get(uid)
        if pod is None or not pod.node:
            self.fleet = self.fleet.withdrawn(uid)


def _holding(state: NodeState, known: dict[str, Pod]) -> NodeState:
    """With what is known of pods that the report told less of."""
    ledger = replace(state.ledger, active={**state.ledger.active, **known})
    return state_of(state.kind, state.node, ledger, state.allocatable)
