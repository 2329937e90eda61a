"""Why a pod waits, in a sentence."""

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.candidates import Candidates, PlacedCluster
from numafit.fleet.waiting.why import WhyMemory, why_waiting
from numafit.fleet.waiting.words import nodes_text, waiting_sentence


class Sentences:
    def __init__(self, cluster: PlacedCluster) -> None:
        self._cluster = cluster
        self._kept = WhyMemory()

    def of(self, pod: ClusterPod, found: Candidates | None) -> str:
        if found is not None and found.unwished:
            number = nodes_text(found.unwished)
            return f"{number[:1].upper()}{number[1:]} would take it, and none is left by what it wants of other pods."
        if found is not None and found.kept:
            number = nodes_text(found.kept)
            return f"{number[:1].upper()}{number[1:]} would take it, and larger pods that wait for longer come first."
        cluster = self._cluster
        unknown = sum(name not in cluster.fleet.nodes for name in cluster.nodes)
        return waiting_sentence(why_waiting(cluster.fleet, pod.pod, cluster.memory, self._kept, unknown=unknown))
