"""Nodes that are kept for large pods while they wait: who has one, and whom that keeps out."""

import time
from collections.abc import Callable, Sequence

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.candidates import PlacedCluster
from numafit.cluster.place.waiting.queue import QueueOrder
from numafit.fleet.waiting.ends import Stays
from numafit.fleet.waiting.memory import WaitingMemory
from numafit.fleet.waiting.reserve import Contender, NodeReservation, Reservations, Reserver
from numafit.show.records.time import time_text

LOOK_SECONDS = 5.0
"""Between two looks for a node where none was found."""
NOBODY: frozenset[str] = frozenset()


class ReservedNodes:
    """No network: whoever calls tells what time it is."""

    def __init__(self, cluster: PlacedCluster, seconds: float, stays: Stays) -> None:
        self._cluster = cluster
        self._until: dict[str, str] = {}
        """Key -> until when a node is kept for it, by the clock on the wall."""
        self._reserver = Reserver(cluster.memory, WaitingMemory(), seconds, stays=stays)
        self.current = Reservations()
        self._looked = float("-inf")
        self._asked: frozenset[str] = NOBODY
        """Whoever waited when a node was looked for last."""

    def renew(self, waiting: Callable[[], Sequence[Contender]], keys: Callable[[str], bool], now: float) -> bool:
        """Whether somebody has lost a node that was kept, so that others may have it. `waiting`: those that no node
        takes, in order; `keys`: whether somebody is still in the queue."""
        before = self.current
        full = len(before.held) >= self._reserver.most
        if not before.held and now - self._looked < LOOK_SECONDS and not self._new(waiting()):
            return False
        contenders = [own for own in waiting() if not full or before.of(own.key) is not None]
        known = {own.key for own in contenders}
        # One that is asked about in this very round is in the queue, and keeps its node.
        contenders += [_again(own) for own in before.held if own.key not in known and keys(own.key)]
        self._looked, self._asked = now, frozenset(own.key for own in waiting())
        self.current = self._reserver.renewed(self._cluster.fleet, contenders, before, now)
        ends = {
            own.key: self._until.get(own.key) or time_text(time.time() + own.until - now) for own in self.current.held
        }
        self._until = ends
        return any(own.key not in ends for own in before.held)

    @property
    def nodes(self) -> int:
        return len({each.node for own in self.current.held for each in own.nodes})

    def text(self, key: str) -> str:
        """What is kept for it, as a sentence of its own; empty where nothing is."""
        own = self.current.of(key)
        if own is None:
            return ""
        names = sorted({each.node for each in own.nodes})
        ends = sorted({name for each in own.nodes for name in each.ends.values()})
        which = f"{names[0]} is" if len(names) == 1 else f"{len(names)} nodes are"
        after = f", where {ends[0]} has to end first" if len(ends) == 1 else ""
        return f"{which} kept for it until {self._until[key]}{after}."

    def _new(self, waiting: Sequence[Contender]) -> bool:
        return any(own.key not in self._asked for own in waiting)

    def kept_back(self, pod: ClusterPod, key: str, order: QueueOrder) -> frozenset[str]:
        if not self.current.held:
            return NOBODY
        return self._reserver.kept_back(self._cluster.fleet, pod.pod, key, order, self.current)


def _again(own: NodeReservation) -> Contender:
    return Contender(own.key, own.rank, tuple(each.pod for each in own.nodes))
