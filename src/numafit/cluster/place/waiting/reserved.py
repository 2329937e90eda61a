"""Nodes that are kept for large pods while they wait: who has one, and whom that keeps out."""

import time
from collections.abc import Callable

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.candidates import PlacedCluster
from numafit.cluster.place.waiting.queue import QueueOrder
from numafit.fleet.waiting.ends import Stays
from numafit.fleet.waiting.memory import WaitingMemory
from numafit.fleet.waiting.reserve import Contender, Reservations, Reserver
from numafit.show.records.time import time_text

LOOK_SECONDS, LEAST_SECONDS = 5.0, 0.5
"""Between two looks for a node where none was found; and where somebody has come since."""
NOBODY: frozenset[str] = frozenset()


class ReservedNodes:
    """No network: whoever calls tells what time it is."""

    def __init__(self, cluster: PlacedCluster, seconds: float, stays: Stays) -> None:
        self._cluster = cluster
        self._ends: dict[str, tuple[float, str]] = {}
        """Key -> since when a node is kept for it, and until when by the clock on the wall."""
        self._reserver = Reserver(cluster.memory, WaitingMemory(), seconds, stays=stays)
        self.current = Reservations()
        self._looked = float("-inf")
        self._asked: frozenset[str] = NOBODY
        """Whoever waited when a node was looked for last."""

    def renew(self, waiting: Callable[[], list[Contender]], waits: Callable[[str], bool], now: float) -> bool:
        """Whether somebody has lost a node that was kept, so that others may have it. `waiting`: those that no node
        takes, in order; `waits`: whether somebody is still in the queue, and be it to be asked about in this round."""
        before = self.current
        self.current = self._reserver.still(self._cluster.fleet, before, waits, now)
        lost = len(self.current.held) < len(before.held)
        if len(self.current.held) < self._reserver.most and (lost or now - self._looked >= LEAST_SECONDS):
            contenders = waiting()
            asked, self._asked = self._asked, frozenset(own.key for own in contenders)
            if contenders and (lost or now - self._looked >= LOOK_SECONDS or self._asked - asked):
                self._looked = now
                self.current = self._reserver.filled(self._cluster.fleet, contenders, self.current, now)
        known, self._ends = self._ends, {}
        for own in self.current.held:
            since, text = known.get(own.key, (None, ""))
            self._ends[own.key] = (own.since, text if since == own.since else time_text(time.time() + own.until - now))
        return any(self.current.of(own.key) is None for own in before.held)

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
        return f"{which} kept for it until {self._ends[key][1]}{after}."

    def kept_back(self, pod: ClusterPod, key: str, order: QueueOrder) -> frozenset[str]:
        if not self.current.held:
            return NOBODY
        return self._reserver.kept_back(self._cluster.fleet, pod.pod, key, order, self.current)
