"""What the fleet says of a pod that is held: which nodes can take it, and whether all that could are known."""

from collections.abc import Mapping

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
    """What it remembers of other pods follows by `told` and `gone`, from the first question to `rest`."""

    def __init__(self, live: PlacedCluster) -> None:
        self._live = live
        self._search: CandidateSearch | None = None

    # --- what changes -------------------------------------------------------------------------------------------------

    def begin_round(self) -> None:
        """Nodes may have changed."""
        if self._search is not None:
            self._search.begin_round()

    def told(self, pod: ClusterPod) -> None:
        # Of a pod that was rejected older news may come.
        if self._search is not None and pod.uid in self._live.pods:
            self._search.told(pod)

    def gone(self, pod: ClusterPod) -> None:
        if self._search is not None:
            self._search.gone(pod)

    def rest(self) -> None:
        """Nobody is held: what others wish need not be known."""
        self._search = None

    def _asked(self) -> CandidateSearch:
        if self._search is None:
            self._search = CandidateSearch(self._live, unknown_nodes=False)
            for pod in self._live.pods.values():
                self._search.told(pod)
        return self._search

    # --- questions ----------------------------------------------------------------------------------------------------

    def nodes(self, pod: ClusterPod) -> tuple[str, ...]:
        """The best first, as the placer chooses them; none where no report says so."""
        if not self._live.fleet.nodes:
            return ()
        return self._asked().candidates(pod, NODES, terms=has_terms(waiting_spec(pod.spec))).names

    def patch(self, pod: ClusterPod, nodes: tuple[str, ...], notes: Mapping[str, str], *, annotated: bool) -> bytes:
        """It may go to these nodes, and to no other one. `notes`: annotations."""
        hosts = self._asked().hostnames()
        return release_patch(waiting_spec(pod.spec), pod.metadata.uid, nodes, hosts, notes, annotated=annotated)

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
            self.told(pod)

    def take_back(self, pod: ClusterPod) -> None:
        self._live.withdraw(pod.uid)
        self.told(pod)


def _may_be_tried(node: ClusterNode, pod: ClusterPod, settings: Settings | None) -> bool:
    """`settings`: of any kubelet; which tolerations there are depends on its release."""
    if node.unschedulable or wrong_labels(pod.pod.demands, node.labels, node.name):
        return False
    return settings is None or untolerated(settings, pod.pod.demands, node.taints, SCHEDULER_EFFECTS) is None
