"""How a pod of the cluster stands: from its object, from the report of its node, and by the engine."""

from collections.abc import Hashable

from msgspec.structs import replace

from numafit.advice.propose.knobs import as_new
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import PLACED
from numafit.cluster.topology.model import KIND
from numafit.cluster.view.seen import ClusterView
from numafit.fleet.look.account import PodAccount
from numafit.fleet.look.capacity import after_promised
from numafit.fleet.look.seats import seat_of
from numafit.fleet.places import places
from numafit.fleet.verdicts import shape_digest, tried
from numafit.fleet.waiting.why import WhyMemory, why_waiting
from numafit.workload.pod import Pod

SCHEDULED = "PodScheduled"
MOST_BEST = 8
"""Nodes that are told where a pod would fit."""


class Accountant:
    """For many pods of one view: what was found for one shape is not looked for again."""

    def __init__(self, view: ClusterView) -> None:
        self.view = view
        self.memory = WhyMemory()
        self._returning = frozenset(uid for uid, pod in view.book.pods.items() if pod.comes_back)
        self._best: dict[Hashable, tuple[str, ...]] = {}

    def account(self, pod: ClusterPod) -> PodAccount:
        known = PodAccount(pod.full_name, "ended", pod.node, since=pod.metadata.creationTimestamp)
        if pod.rejected:
            return self._rejected(pod, known)
        if pod.ended:
            return replace(known, reason=pod.reason or pod.phase, message=pod.message)
        if pod.node:
            return self._bound(pod, known)
        return self._waiting(pod, known)

    def _rejected(self, pod: ClusterPod, known: PodAccount) -> PodAccount:
        known = replace(known, standing="rejected", reason=pod.reason, message=pod.message)
        node = self.view.book.fleet.nodes.get(pod.node)
        if node is None:
            return replace(known, unknown=self._no_report(pod.node))
        state = after_promised(node)
        decision, _ = tried(state, as_new(pod.pod))
        return replace(known, policy=self._policy(pod.node), decision=decision, engine=state.node)

    def _bound(self, pod: ClusterPod, known: PodAccount) -> PodAccount:
        node = self.view.book.fleet.nodes.get(pod.node)
        if node is None:
            standing = "runs" if pod.phase == "Running" else "coming"
            return replace(known, standing=standing, unknown=self._no_report(pod.node))
        known = replace(known, policy=self._policy(pod.node))
        seat = seat_of(node.state, pod.uid)
        if seat is not None:
            return replace(known, standing="runs", seat=seat)
        return replace(known, standing="coming", unknown=f"the {KIND} of {pod.node} does not have it yet")

    def _waiting(self, pod: ClusterPod, known: PodAccount) -> PodAccount:
        book = self.view.book
        scheduled, placed = pod.condition(SCHEDULED), pod.condition(PLACED)
        known = replace(
            known,
            standing="waits",
            message=scheduled.message if scheduled is not None and not pod.gates else "",
            gates=pod.gates,
            placed=placed.message if placed is not None and pod.gates else "",
            offered=pod.offered,
        )
        if self.view.sightless:
            return replace(known, unknown=self.view.sightless)
        unknown = len(self.view.unknown)
        why = why_waiting(book.fleet, pod.pod, book.memory, self.memory, unknown=unknown, stays=self._stays)
        return replace(known, why=why, best=self._best_for(pod) if why.fitting else ())

    def _stays(self, pod: Pod) -> bool:
        """Whether it would come back to its node at once."""
        return pod.static or pod.uid in self._returning

    def _best_for(self, pod: ClusterPod) -> tuple[str, ...]:
        book, demands = self.view.book, pod.pod.demands
        # What was offered to a pod is free for itself alone.
        own = pod.uid if pod.uid in book.fleet.offers else ""
        key = (shape_digest(pod.pod), demands.selector, repr(demands.affinity), demands.tolerations, own)
        if key not in self._best:
            found = places(book.fleet, pod.pod, book.memory, MOST_BEST).places
            self._best[key] = tuple(place.node for place in found)
        return self._best[key]

    def _policy(self, name: str) -> str:
        topology = self.view.book.fleet.nodes[name].state.node.topology
        return topology.policy if topology.policy == "none" else f"{topology.policy}, scope {topology.scope}"

    def _no_report(self, name: str) -> str:
        if self.view.sightless:
            return f"how nodes stand is not known: {self.view.sightless}"
        error = self.view.refused.get(name)
        if error is not None:
            return f"the {KIND} of {name} cannot be used: {error.message}"
        return f"there is no {KIND} of {name}, so nobody tells how it stands"


def waiting_pods(view: ClusterView, namespace: str | None) -> list[ClusterPod]:
    """Not bound and not ended, the oldest first; None: of all namespaces."""
    found = [
        pod
        for pod in view.book.pods.values()
        if not pod.node and not pod.ended and namespace in (None, pod.metadata.namespace)
    ]
    return sorted(found, key=lambda pod: (pod.metadata.creationTimestamp, pod.full_name))
