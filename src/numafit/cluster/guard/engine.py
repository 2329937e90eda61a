"""What the fleet says of a pod that is held: which nodes can take it, and whether all that could are known."""

from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import PLACE_GATE
from numafit.cluster.place.candidates import CandidateSearch, PlacedCluster
from numafit.cluster.place.patch import has_terms, release_patch, waiting_spec
from numafit.decision.filters import untolerated, wrong_labels
from numafit.fleet.places import SCHEDULER_EFFECTS
from numafit.settings.settings import Settings

NODES = 8
"""To choose from, for the scheduler."""


class HoldEngine:
    def __init__(self, live: PlacedCluster) -> None:
        self._live = live

    def nodes(self, pod: ClusterPod) -> tuple[str, ...]:
        """The best first, as the placer chooses them; none where no report says so."""
        if not self._live.fleet.nodes:
            return ()
        search = CandidateSearch(self._live, unknown_nodes=False)
        return search.candidates(pod, NODES, terms=has_terms(waiting_spec(pod.spec))).names

    def patch(self, pod: ClusterPod, nodes: tuple[str, ...], *, annotated: bool) -> bytes:
        """It may go to these nodes, and to no other one."""
        hosts = CandidateSearch(self._live).hostnames()
        return release_patch(waiting_spec(pod.spec), pod.metadata.uid, nodes, hosts, annotated=annotated)

    def hopeless(self, pod: ClusterPod) -> bool:
        """No node can take it, and there is none that may be tried and has not reported."""
        if not self._live.fleet.nodes or self._live.places(pod.pod, 1).places:
            return False
        return not self.unknown(pod)

    def unknown(self, pod: ClusterPod) -> int:
        """Nodes that may be tried, as far as a Node tells, and have not reported."""
        known = self._live.fleet.nodes
        settings = next((own.state.node.settings for own in known.values()), None)
        others = (node for name, node in self._live.nodes.items() if name not in known)
        return sum(_may_be_tried(node, pod, settings) for node in others)

    def promise(self, pod: ClusterPod, nodes: tuple[str, ...]) -> None:
        """It counts on these from now on; where the placer has a gate on it, that one decides."""
        if nodes and PLACE_GATE not in pod.gates:
            self._live.offer(pod, nodes)

    def take_back(self, pod: ClusterPod) -> None:
        self._live.withdraw(pod.uid)


def _may_be_tried(node: ClusterNode, pod: ClusterPod, settings: Settings | None) -> bool:
    """`settings`: of any kubelet; which tolerations there are depends on its release."""
    if node.unschedulable or wrong_labels(pod.pod.demands, node.labels, node.name):
        return False
    return settings is None or untolerated(settings, pod.pod.demands, node.taints, SCHEDULER_EFFECTS) is None
