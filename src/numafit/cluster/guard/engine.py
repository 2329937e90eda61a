"""What the fleet says of a pod that is held: which nodes can take it, and whether all that could are known."""

from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import PLACE_GATE
from numafit.decision.filters import untolerated, wrong_labels
from numafit.fleet.places import SCHEDULER_EFFECTS
from numafit.settings.settings import Settings

NODES = 8
"""To choose from, for the scheduler."""


class HoldEngine:
    def __init__(self, live: LiveFleet) -> None:
        self._live = live

    def nodes(self, pod: ClusterPod) -> tuple[str, ...]:
        """The best first; none where no report is known that says so."""
        if not self._live.fleet.nodes:
            return ()
        return tuple(place.node for place in self._live.places(pod.pod, NODES).places)

    def hopeless(self, pod: ClusterPod) -> bool:
        """No node can take it, and there is none that may be tried and has not reported."""
        known = self._live.fleet.nodes
        if not known or self._live.places(pod.pod, 1).places:
            return False
        settings = next(iter(known.values())).state.node.settings
        return not any(
            _may_be_tried(node, pod, settings) for name, node in self._live.nodes.items() if name not in known
        )

    def promise(self, pod: ClusterPod, nodes: tuple[str, ...]) -> None:
        """It counts on these from now on; where the placer has a gate on it, that one decides."""
        if nodes and PLACE_GATE not in pod.gates:
            self._live.offer(pod, nodes)

    def take_back(self, pod: ClusterPod) -> None:
        self._live.withdraw(pod.uid)


def _may_be_tried(node: ClusterNode, pod: ClusterPod, settings: Settings) -> bool:
    if node.unschedulable or wrong_labels(pod.pod.demands, node.labels, node.name):
        return False
    return untolerated(settings, pod.pod.demands, node.taints, SCHEDULER_EFFECTS) is None
