"""How a pod of the cluster stands: from its object, from the report of its node, and by the engine."""

from msgspec.structs import replace

from numafit.advice.propose.knobs import as_new
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.topology.model import KIND
from numafit.cluster.view.seen import ClusterView
from numafit.fleet.look.account import PodAccount
from numafit.fleet.look.capacity import after_promised
from numafit.fleet.look.seats import seat_of
from numafit.fleet.places import places
from numafit.fleet.verdicts import tried
from numafit.fleet.waiting.why import WaitingMemory, why_waiting

SCHEDULED = "PodScheduled"
MOST_BEST = 8
"""Nodes that are told where a pod would fit."""


class Accountant:
    """For many pods of one view: what was found for one shape is not looked for again."""

    def __init__(self, view: ClusterView) -> None:
        self.view = view
        self.memory = WaitingMemory()

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
        scheduled = pod.condition(SCHEDULED)
        known = replace(
            known,
            standing="waits",
            message=scheduled.message if scheduled is not None and not pod.gates else "",
            gates=pod.gates,
            offered=pod.offered,
        )
        if self.view.sightless:
            return replace(known, unknown=self.view.sightless)
        why = why_waiting(book.fleet, pod.pod, book.memory, self.memory, unknown=len(self.view.unknown))
        best: tuple[str, ...] = ()
        if why.fitting:
            best = tuple(place.node for place in places(book.fleet, pod.pod, book.memory, MOST_BEST).places)
        return replace(known, why=why, best=best)

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
