"""Failed pods that a loop leaves behind: the newest three of an owner are kept, older ones are removed, a few in a
second.

Only pods that a kubelet rejected: no container of them ever ran, and nothing of theirs is lost. Pods of an indexed Job
stay: by their annotations the Job counts the failures of each index. Pods without an owner stay, too: nobody makes
another one.
"""

from collections import deque
from collections.abc import Callable, Iterator

from numafit.cluster.live.pods import ClusterPod

KEPT = 3
PER_SECOND = 5
"""Pods that are removed, in the cluster."""
JOB_INDEX = "batch.kubernetes.io/job-completion-index"


class Leftovers:
    def __init__(self) -> None:
        self._failed: dict[str, dict[str, ClusterPod]] = {}
        """Owner UID -> pod UID -> pod, in the order in which they came."""
        self._removed: deque[float] = deque(maxlen=PER_SECOND)
        """When the last ones were."""

    def failed(self, pod: ClusterPod) -> None:
        owner = pod.owner
        if owner is None or not pod.rejected or JOB_INDEX in pod.metadata.annotations:
            return
        self._failed.setdefault(owner.uid, {})[pod.uid] = pod

    def gone(self, uid: str, owner: str) -> None:
        own = self._failed.get(owner)
        if own is not None:
            own.pop(uid, None)
            if not own:
                del self._failed[owner]

    def too_many(self) -> Iterator[ClusterPod]:
        """The oldest of each owner first."""
        for own in self._failed.values():
            if len(own) > KEPT:
                yield from sorted(own.values(), key=lambda pod: pod.metadata.creationTimestamp)[:-KEPT]

    def due(self, now: float, wanted: Callable[[ClusterPod], bool] = lambda _: True) -> list[ClusterPod]:
        """Those that may be removed now; they count as removed. `now` in seconds, of any clock that runs evenly."""
        found: list[ClusterPod] = []
        for pod in self.too_many():
            if not wanted(pod):
                continue
            if len(self._removed) == PER_SECOND and now - self._removed[0] < 1:
                break
            self._removed.append(now)
            found.append(pod)
        for pod in found:
            assert pod.owner is not None
            self.gone(pod.uid, pod.owner.uid)
        return found
