"""Which pods get the gate of the placer: those for which it matters who chooses the node."""

import time
from collections.abc import Callable, Collection

from numafit.cluster.admission.options import SYSTEM_NAMESPACE
from numafit.cluster.admission.review import AdmittedPod
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.needs import NeedAnswers
from numafit.cluster.live.spec import OS_LABEL, PodShapes, is_too_large
from numafit.cluster.live.words import PLACE_GATE
from numafit.errors import InputError
from numafit.workload.served import MIRROR

DAEMON_SET = "DaemonSet"
"""Also of other groups: whoever is called so chooses the node itself."""


class PlaceWish:
    """A wish for the webhook. `schedulers`: names, and pods of others are left alone; all where none is named, since
    kube-scheduler and whatever is made of its framework leaves a pod alone that has a gate."""

    def __init__(
        self,
        live: LiveFleet,
        namespace: str,
        schedulers: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._live, self._schedulers = live, frozenset(schedulers)
        self._never = {SYSTEM_NAMESPACE, namespace}
        self._shapes, self._answers = PodShapes(), NeedAnswers(live, clock)

    def __call__(self, pod: AdmittedPod) -> tuple[str, ...]:
        if self._is_left_alone(pod) or not self._live.synced.is_set():
            return ()
        try:
            return (PLACE_GATE,) if self.needed(pod) else ()
        except InputError:
            # The API server will refuse it, or it holds what is not known here yet.
            return ()

    def _is_left_alone(self, pod: AdmittedPod) -> bool:
        owner, annotations = pod.owner, pod.metadata.annotations or {}
        return (
            bool(pod.node)
            or pod.namespace in self._never
            or (owner is not None and owner.kind == DAEMON_SET)
            or MIRROR in annotations
            or (bool(self._schedulers) and pod.scheduler not in self._schedulers)
        )

    def needed(self, pod: AdmittedPod) -> bool:
        """Whether some node that it may go to might refuse it though its sums have room. Raises InputError for a pod
        that cannot be read."""
        name = pod.metadata.name or pod.metadata.generateName
        system = (pod.metadata.labels or {}).get(OS_LABEL)
        own = self._shapes.pod(pod.spec, name, pod.namespace, "new", system)
        return not is_too_large(own) and self._answers.needed(own)
