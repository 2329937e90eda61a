"""A waiting pod's place in the queue: its order, and with whom it is of one kind."""

import msgspec

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import PLACE_GATE
from numafit.cluster.place.around.preempt import preempts
from numafit.cluster.place.around.volumes import NO_LIMITS, VolumeLimits
from numafit.cluster.place.candidates import wishes_of
from numafit.cluster.place.patch import has_terms, waiting_spec
from numafit.cluster.place.waiting.queue import QueueEntry, QueueOrder
from numafit.fleet.verdicts import shape_digest


class PodKind(msgspec.Struct, frozen=True):
    """Pods of one kind are admitted by the same nodes, and wish the same."""

    shape: bytes
    demands: str
    """Labels and taints, as text."""
    around: str = ""
    """Who it is for others, where it has wishes about them; else empty."""
    volumes: VolumeLimits = NO_LIMITS
    evicting: int = 0
    """Its priority, where the scheduler evicts others for it."""


def waits(pod: ClusterPod) -> bool:
    """For us, and perhaps for others, too."""
    return PLACE_GATE in pod.gates and not pod.node and pod.metadata.deletionTimestamp is None


def is_ours(pod: ClusterPod) -> bool:
    """For us alone: gates of others come first."""
    return pod.gates == (PLACE_GATE,) and not pod.node and pod.metadata.deletionTimestamp is None


def order_of(pod: ClusterPod) -> QueueOrder:
    meta = pod.metadata
    return (-(pod.pod.priority or 0), meta.creationTimestamp, pod.full_name, meta.uid)


def kind_of(pod: ClusterPod, volumes: VolumeLimits = NO_LIMITS) -> PodKind:
    demands = pod.pod.demands
    wishes = wishes_of(pod)
    meta = pod.metadata
    around = repr((meta.namespace, sorted(meta.labels.items()), wishes)) if wishes else ""
    told = repr((demands.selector, demands.affinity, demands.tolerations, has_terms(waiting_spec(pod.spec))))
    evicting = pod.pod.priority or 0 if preempts(pod) else 0
    return PodKind(shape_digest(pod.pod), told, around, volumes, evicting)


class EntryMaker:
    """What is made of a spec is made once, however often the pod's status changes."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[msgspec.Raw, PodKind]] = {}

    def entry(self, pod: ClusterPod, volumes: VolumeLimits = NO_LIMITS) -> QueueEntry:
        known = self._kinds.get(pod.uid)
        if known is None or known[1].volumes != volumes or bytes(known[0]) != bytes(pod.spec):
            known = self._kinds[pod.uid] = (pod.spec, kind_of(pod, volumes))
        return QueueEntry(pod.uid, order_of(pod), known[1])

    def forget(self, uid: str) -> None:
        self._kinds.pop(uid, None)
