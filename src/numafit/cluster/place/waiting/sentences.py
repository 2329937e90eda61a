"""Why a pod waits, in a sentence."""

from collections.abc import Mapping

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.candidates import Candidates, PlacedCluster
from numafit.decision.story.terms import upper
from numafit.fleet.fleet import Fleet
from numafit.fleet.verdicts import tried
from numafit.fleet.waiting.why import WhyMemory, WhyWaiting, why_waiting
from numafit.fleet.waiting.words import nodes_text, waiting_sentence
from numafit.workload.pod import Pod

NOBODY: Mapping[str, str] = {}


class Sentences:
    def __init__(self, cluster: PlacedCluster) -> None:
        self._cluster = cluster
        self._kept, self._kept_of_groups = WhyMemory(), WhyMemory()

    def of(self, pod: ClusterPod, found: Candidates | None, beside: Mapping[str, str] = NOBODY) -> str:
        """`beside`: the others of its group that found a node, by their UIDs."""
        if found is not None and found.unwished:
            return (
                f"{upper(nodes_text(found.unwished))} would take it, and none is left by what it wants of other pods."
            )
        if found is not None and found.kept:
            return f"{upper(nodes_text(found.kept))} would take it, and larger pods that wait for longer come first."
        if found is not None and found.unreached:
            return f"{upper(nodes_text(found.unreached))} would take it, and none of them reaches its volumes."
        return waiting_sentence(self.why(pod.pod, beside))

    def why(self, pod: Pod, beside: Mapping[str, str] = NOBODY) -> WhyWaiting:
        cluster = self._cluster
        unknown = sum(name not in cluster.fleet.nodes for name in cluster.nodes)
        fleet, kept = cluster.fleet, self._kept
        if beside:
            fleet, kept = self._with(beside), self._kept_of_groups
        return why_waiting(
            fleet,
            pod,
            cluster.memory,
            kept,
            unknown=unknown,
            stays=lambda own: own.uid in beside or self.stays(own),
        )

    def _with(self, beside: Mapping[str, str]) -> Fleet:
        """As if these ran there."""
        fleet = self._cluster.fleet
        for uid, name in beside.items():
            node, pod = fleet.nodes.get(name), self._cluster.pods.get(uid)
            after = None if node is None or pod is None else tried(node.state, pod.pod)[1]
            if node is not None and after is not None:
                fleet = fleet.reported(name, after, node.facts, schedulable=node.schedulable)
        return fleet

    def stays(self, pod: Pod) -> bool:
        """It is of no use to wait for its end."""
        own = self._cluster.pods.get(pod.uid)
        return pod.static or (own is not None and own.comes_back)
