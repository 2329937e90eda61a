"""What `--scale` adds: a pod that no known node has room for is released for nodes that are still to come.

An autoscaler does not see pods with gates. What is released cannot be changed any more: when a known node has room
after all, another one is made of it where that costs nothing, else it is told. Pods that wait for other pods, for a
volume or behind a node that is kept for somebody else wait on, since there is a node that would take them, and so do
those whose maker wants it. A group goes whole: who finds a known node gets it, and the others wait for more.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import SCALE_ANNOTATION
from numafit.cluster.place.candidates import PlacedCluster
from numafit.cluster.place.decider import NO_NODE, Decider, PodRelease, reason_of
from numafit.cluster.place.patch import HOSTNAME, scale_patch, waiting_spec
from numafit.cluster.place.waiting.notices import NoticeBook

SCALE_SECONDS = 10.0
"""A pod waits so long before it is released for nodes that are still to come."""
LOOK_SECONDS = 1.0
"""Between two looks for who has: thousands may wait."""
STAYS = f'No autoscaler sees it: the annotation {SCALE_ANNOTATION}: "false", of it or of its group, keeps it here.'


class ScaleReleases:
    """No network: whoever calls tells what time it is, and sends what is to be sent."""

    def __init__(self, cluster: PlacedCluster, decider: Decider, notices: NoticeBook) -> None:
        self._cluster, self._decider, self._notices = cluster, decider, notices
        self._looked = float("-inf")

    def due(self, now: float) -> Iterator[Sequence[PodRelease]]:
        """Those that have waited for long enough: one pod, or a whole group."""
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        for key, pods in self._decider.without_room():
            waited = bool(pods) and all(self._notices.waited(pod.uid, now) >= SCALE_SECONDS for pod in pods)
            if waited and not any(map(_stays, pods)):
                yield self._released(key, pods)

    def _released(self, key: str, pods: Sequence[ClusterPod]) -> Sequence[PodRelease]:
        offered, refused = self._decider.offered_together(key, pods)
        if any(reason_of(found) != NO_NODE for _, found in refused):
            self._decider.take_back(pod for pod, _ in offered)
            return ()
        return [
            *(self._decider.release(pod, found) for pod, found in offered),
            *(self._for_more_nodes(pod) for pod, _ in refused),
        ]

    def _for_more_nodes(self, pod: ClusterPod) -> PodRelease:
        nodes = self._cluster.nodes
        impossible = {name: nodes[name].labels.get(HOSTNAME, "") for name in self._cluster.fleet.nodes if name in nodes}
        patch = partial(scale_patch, waiting_spec(pod.spec), pod.metadata.uid, impossible)
        return PodRelease(pod, patch, "scale", ())

    def sentences(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Why those wait who sleep, and what keeps them from being released for nodes to come."""
        stay = set[str]()
        for _, pods in self._decider.without_room():
            if any(map(_stays, pods)):
                stay |= {pod.uid for pod in pods}
        for uid, kind in self._decider.asleep():
            yield uid, partial(self._sentence, uid, kind, stays=uid in stay)

    def _sentence(self, uid: str, kind: Hashable, *, stays: bool) -> str:
        text = self._decider.sentence(uid, kind)
        return f"{text} {STAYS}" if text and stays else text


def _stays(pod: ClusterPod) -> bool:
    return pod.metadata.annotations.get(SCALE_ANNOTATION) == "false"
