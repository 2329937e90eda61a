"""Why a pod waits, in a sentence."""

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.candidates import Candidates, PlacedCluster
from numafit.decision.story.terms import upper
from numafit.fleet.waiting.why import WhyMemory, WhyWaiting, why_waiting
from numafit.fleet.waiting.words import nodes_text, waiting_sentence
from numafit.workload.pod import Pod

COMING_BACK = ("DaemonSet", "Node")
"""Controllers whose pods are made anew on the same node, and the node itself."""


class Sentences:
    def __init__(self, cluster: PlacedCluster) -> None:
        self._cluster = cluster
        self._kept = WhyMemory()

    def of(self, pod: ClusterPod, found: Candidates | None) -> str:
        if found is not None and found.unwished:
            return (
                f"{upper(nodes_text(found.unwished))} would take it, and none is left by what it wants of other pods."
            )
        if found is not None and found.kept:
            return f"{upper(nodes_text(found.kept))} would take it, and larger pods that wait for longer come first."
        return waiting_sentence(self.why(pod.pod))

    def why(self, pod: Pod) -> WhyWaiting:
        cluster = self._cluster
        unknown = sum(name not in cluster.fleet.nodes for name in cluster.nodes)
        return why_waiting(cluster.fleet, pod, cluster.memory, self._kept, unknown=unknown, stays=self.stays)

    def stays(self, pod: Pod) -> bool:
        """It is of no use to wait for its end."""
        own = self._cluster.pods.get(pod.uid)
        return pod.static or (own is not None and own.owner is not None and own.owner.kind in COMING_BACK)
