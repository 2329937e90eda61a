"""Recreate loops: a pod is rejected, its controller makes it again, and the node rejects it again.

The scheduler counts totals per node, not NUMA nodes, so the new pod may come straight back. A pod of a fixed name (of a
StatefulSet, of an operator) is known by its name; pods of a ReplicaSet, DaemonSet or Job by their common prefix.
"""

import re

import msgspec

from numafit.advice.logs.admission import Admission, Arrival
from numafit.managers.protocol import TOPOLOGY_AFFINITY
from numafit.managers.topology.policy import SINGLE_NUMA_NODE

MOST_FAMILIES = 10_000
LEAST_NAMED, LEAST_GENERATED = 2, 3
"""From so many rejections on it is a loop; two replicas of one ReplicaSet may be rejected side by side."""
YEAR = 366 * 86400 * 1_000_000

_GENERATED = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}")
"""The letters that the API server makes names of."""


class RecreateLoop(msgspec.Struct, frozen=True):
    pod: str
    """namespace/name; `namespace/prefix-*` for names that a controller generates."""
    reason: str
    rejections: int
    recreations: int
    """How often a pod came again after one was rejected, as far as the log shows it."""
    first: str
    last: str
    seconds: float
    """From the first to the last coming."""
    period: float
    """Mean seconds from one coming to the next; 0 when only one is in the log."""
    ended: str
    """When it was admitted after all; empty: it goes on."""
    ways_out: tuple[str, ...]


class _Family:
    def __init__(self, generated: bool) -> None:
        self.generated = generated
        self.rejections = 0
        self.recreations = 0
        self.comings = 0
        self.uid = ""
        self.uids: list[str] = []
        self.waiting = False
        self.reason = ""
        self.policy = ""
        self.first = self.last = self.ended = ""
        self.first_time = self.last_time = 0


class LoopFinder:
    """Takes admissions and arrivals in the order of the log."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}

    def take(self, event: Admission | Arrival) -> None:
        if isinstance(event, Arrival):
            self._arrived(event)
        elif event.admitted is False:
            self._rejected(event)
        elif event.admitted:
            family = self._families.get(family_of(event.pod))
            if family is not None and family.rejections:
                family.ended, family.waiting = event.stamp, False

    def loops(self) -> tuple[RecreateLoop, ...]:
        """Those with most rejections first, then by name."""
        found = [_loop(name, family) for name, family in self._families.items() if _is_loop(family)]
        return tuple(sorted(found, key=lambda loop: (-loop.rejections, loop.pod)))

    def _family(self, pod: str) -> _Family | None:
        name = family_of(pod)
        family = self._families.get(name)
        if family is None and len(self._families) < MOST_FAMILIES:
            family = self._families[name] = _Family(name != pod)
        return family

    def _rejected(self, admission: Admission) -> None:
        family = self._family(admission.pod)
        if family is None or (admission.uid and admission.uid == family.uid and family.rejections):
            return
        again = family.rejections > 0
        family.rejections += 1
        if again and not family.waiting:
            family.recreations += 1
        if not family.waiting:
            _came(family, admission.time, admission.stamp)
        family.waiting, family.ended = False, ""
        family.uid, family.reason = admission.uid, admission.reason
        family.policy = admission.kubelet.policy
        _remember(family, admission.uid)

    def _arrived(self, arrival: Arrival) -> None:
        family = self._families.get(family_of(arrival.pod))
        if arrival.old_uid:
            family = family or self._family(arrival.pod)
            if family is not None and not family.generated and arrival.old_uid not in family.uids:
                family.recreations += 1
                _remember(family, arrival.old_uid)
        elif family is not None and family.rejections and not family.waiting and not family.generated:
            family.waiting = True
            family.recreations += 1
            _came(family, arrival.time, arrival.stamp)


def family_of(pod: str) -> str:
    """`ns/web-6d4cf56db6-x2x5v` -> `ns/web-6d4cf56db6-*`; other names stay as they are."""
    head = pod[:-6]
    return f"{head}-*" if _GENERATED.fullmatch(pod[-6:]) and head and not head.endswith("/") else pod


def _came(family: _Family, time: int, stamp: str) -> None:
    if not family.comings:
        family.first, family.first_time = stamp, time
    family.last, family.last_time = stamp, time
    family.comings += 1


def _remember(family: _Family, uid: str) -> None:
    if uid:
        family.uids = [*family.uids[-7:], uid]


def _is_loop(family: _Family) -> bool:
    if family.rejections >= (LEAST_GENERATED if family.generated else LEAST_NAMED):
        return True
    # One rejection, but the log shows a pod of that name before it and another one after it.
    return family.rejections > 0 and family.waiting and family.recreations >= LEAST_NAMED


def _loop(name: str, family: _Family) -> RecreateLoop:
    seconds = (family.last_time - family.first_time) % YEAR / 1_000_000
    period = seconds / (family.comings - 1) if family.comings > 1 else 0.0
    return RecreateLoop(
        pod=name,
        reason=family.reason,
        rejections=family.rejections,
        recreations=family.recreations,
        first=family.first,
        last=family.last,
        seconds=seconds,
        period=round(period, 3),
        ended=family.ended,
        ways_out=_ways_out(family),
    )


def _ways_out(family: _Family) -> tuple[str, ...]:
    """What stops it at once, then what cures it."""
    cordon = "cordon the node, so that the scheduler puts the next pod elsewhere"
    if family.reason != TOPOLOGY_AFFINITY:
        return (cordon, "ask for less, or free what the pod needs on this node")
    relax = "restricted or best-effort" if family.policy == SINGLE_NUMA_NODE else "best-effort"
    return (
        cordon,
        "ask for no more CPUs, memory and devices than one NUMA node has free, or free them there: end a pod that "
        "holds them",
        f"relax the topology policy of the node to {relax}, if a slower placement is better than none",
        "let the scheduler see NUMA nodes (a topology-aware scheduler plugin); by itself it counts totals per node",
    )
