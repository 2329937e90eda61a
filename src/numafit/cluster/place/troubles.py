"""What is wrong with the cluster as the placer sees it: nodes that cannot be used, rights that are missing.

Each is said when it comes, and when it is over.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Protocol

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.nodes import ClusterNode
from numafit.fleet.fleet import Fleet

MOST_SAID = 10
"""Nodes of which something is said at once."""
AGAIN_SECONDS, OVER_SECONDS = 600.0, 60.0
"""Before a right that is still missing is said again; after which one is no longer missed."""


class TroubledCluster(Protocol):
    @property
    def fleet(self) -> Fleet: ...
    @property
    def nodes(self) -> Mapping[str, ClusterNode]: ...
    @property
    def troubles(self) -> Mapping[str, str]: ...


class ClusterTroubles:
    def __init__(self, health: ApiHealth, say: Callable[[str], None]) -> None:
        self._health, self._say = health, say
        self._told: dict[str, str] = {}
        self._rights: dict[str, float] = {}
        """Right that is missing -> when that was said."""

    def nodes(self, cluster: TroubledCluster) -> Counter[str]:
        """How many of them are known, unusable and unreported."""
        bad = {name: why for name, why in cluster.troubles.items() if name in cluster.nodes}
        if bad != self._told:
            new = [name for name in sorted(bad) if self._told.get(name) != bad[name]]
            over = sorted(name for name in self._told if name in cluster.fleet.nodes)
            for name in new[:MOST_SAID]:
                self._say(f"nothing is known of node {name} any more: {bad[name]}")
            if len(new) > MOST_SAID:
                self._say(f"nor of {len(new) - MOST_SAID} other nodes: kubectl numafit doctor tells why")
            if over:
                more = f" and {len(over) - MOST_SAID} more" if len(over) > MOST_SAID else ""
                self._say(f"known again: {', '.join(over[:MOST_SAID])}{more}")
            self._told = dict(bad)
        known = sum(name in cluster.fleet.nodes for name in cluster.nodes)
        return Counter(known=known, unusable=len(bad), unreported=len(cluster.nodes) - known - len(bad))

    def missing_rights(self, now: float) -> None:
        missing = self._health.missing
        for right, at in list(missing.items()):
            if now - at >= OVER_SECONDS:
                del missing[right]
                if self._rights.pop(right, None) is not None:
                    self._say(f"nobody is kept any more from this: {right}")
            elif now - self._rights.get(right, -AGAIN_SECONDS) >= AGAIN_SECONDS:
                self._rights[right] = now
                self._say(f"a right is missing, its manifest has it: {right}")
