"""Which kinds of waiting pods may be helped by what has changed: only those are asked about again.

A kind that no known node takes is helped by a node that has changed, if that one takes it now. Where more than the
known nodes decides (other pods, nodes that nobody knows, rejections there), it is asked again by and by. With thousands
of kinds not all are looked at at once: each remembers up to which change it was.
"""

import time
from collections.abc import Collection, Hashable, Iterator, Mapping

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.candidates import PlacedCluster
from numafit.cluster.place.waiting.queue import WaitingQueue
from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.groups import StandingGroups
from numafit.fleet.places import places
from numafit.fleet.state import Standing
from numafit.fleet.verdicts import shape_digest

AGAIN_SECONDS = 0.5
"""Between two looks at what more than known nodes decides."""
LOOK_SECONDS = 0.02
"""For which kinds are looked at in one round."""
REFUSED_SECONDS = 600.0
"""For which an unknown node that rejected a pod comes last for others like it."""
MOST_REFUSED = 10_000
NOBODY: Mapping[str, FleetNode] = {}


class HelpedKinds:
    def __init__(self, cluster: PlacedCluster) -> None:
        self._cluster = cluster
        self._seen = NOBODY
        self._others_changed = self._unknown_changed = False
        self._by_others: set[Hashable] = set()
        self._last = 0.0
        self._refused: dict[tuple[bytes, str], float] = {}
        self._change = 0
        """The number of the last change of a node that may help somebody."""
        self._changed: dict[str, int] = {}
        """Node -> the number of its last one."""
        self._looked: dict[Hashable, int] = {}
        """Kind that sleeps -> up to which change it was looked at."""
        self.unfinished = False
        """Some kinds were not looked at yet, since there are so many."""

    def node_changed(self, name: str) -> None:
        if name not in self._cluster.fleet.nodes:
            self._unknown_changed = True

    def pod_gone(self, pod: ClusterPod | None) -> None:
        self._others_changed = True
        if pod is not None and pod.node and pod.node not in self._cluster.fleet.nodes:
            self._unknown_changed = True

    def pod_changed(self) -> None:
        self._others_changed = True

    def refused(self, pod: ClusterPod) -> None:
        """By a kubelet of which nothing is known."""
        if pod.node in self._cluster.fleet.nodes:
            return
        if len(self._refused) >= MOST_REFUSED:
            self._refused.clear()
        self._refused[shape_digest(pod.pod), pod.node] = time.monotonic() + REFUSED_SECONDS

    def refusing(self, pod: ClusterPod) -> Collection[str]:
        """Unknown nodes that come last for it."""
        if not self._refused:
            return ()
        shape, now = shape_digest(pod.pod), time.monotonic()
        return {node for (own, node), end in self._refused.items() if own == shape and now < end}

    def sleeps(self, kind: Hashable, *, others: bool) -> None:
        """No node takes it as they all are now. `others`: nodes would, and other pods keep it from them."""
        (self._by_others.add if others else self._by_others.discard)(kind)
        self._looked[kind] = self._change

    def kinds(self, queue: WaitingQueue) -> set[Hashable]:
        """Those to be woken."""
        if queue.sleeping:
            self._note_nodes()
        else:
            # Whoever sleeps from now on has seen the nodes as they are: to compare them all would cost more than to
            # decide about a pod.
            self._seen = self._cluster.fleet.nodes
            self._changed.clear()
        woken = set(self._helped_by_nodes(queue)) if self._changed else set()
        now = time.monotonic()
        if now - self._last >= AGAIN_SECONDS:
            self._last = now
            self._by_others &= set(queue.sleeping)
            if self._unknown_changed:
                woken |= set(queue.sleeping)
            elif self._others_changed:
                woken |= self._by_others
            self._unknown_changed = self._others_changed = False
        return woken

    def _note_nodes(self) -> None:
        nodes = self._cluster.fleet.nodes
        if nodes is self._seen:
            return
        better = [name for name, node in nodes.items() if may_be_better(self._seen.get(name), node)]
        self._seen = nodes
        if better:
            self._change += 1
            self._changed.update(dict.fromkeys(better, self._change))

    def _helped_by_nodes(self, queue: WaitingQueue) -> Iterator[Hashable]:
        """Of the kinds that were looked at longest ago, as many as there is time for."""
        sleeping = queue.sleeping
        behind = [kind for kind in sleeping if self._looked.get(kind, 0) < self._change]
        behind.sort(key=lambda kind: self._looked.get(kind, 0))
        fleet, parts = self._cluster.fleet, dict[int, Fleet]()
        end = time.monotonic() + LOOK_SECONDS
        self.unfinished = False
        for kind in behind:
            if time.monotonic() > end:
                self.unfinished = True
                return
            since = self._looked.get(kind, 0)
            if since not in parts:
                names = [name for name, change in self._changed.items() if change > since]
                parts[since] = part_of(fleet, [fleet.nodes[name] for name in names if name in fleet.nodes])
            self._looked[kind] = self._change
            pod = self._cluster.pods.get(queue.first_of(kind))
            if pod is None or places(parts[since], pod.pod, self._cluster.memory, 1).places:
                yield kind
        self._changed.clear()
        self._looked = dict.fromkeys(sleeping, self._change)


def may_be_better(before: FleetNode | None, after: FleetNode) -> bool:
    """One to which only more was promised is not."""
    if before is after:
        return False
    if before is None:
        return True
    same = before.state is after.state and before.facts is after.facts and before.refused == after.refused
    kept = len(after.promised) >= len(before.promised) and after.promised[: len(before.promised)] == before.promised
    return not (same and kept and before.schedulable == after.schedulable)


def part_of(fleet: Fleet, nodes: Collection[FleetNode]) -> Fleet:
    """The fleet as if it had these only."""
    groups: dict[Standing, list[str]] = {}
    for node in sorted(nodes, key=lambda own: own.name):
        groups.setdefault(node.standing, []).append(node.name)
    names = {node.name for node in nodes}
    return Fleet(
        {node.name: node for node in nodes},
        StandingGroups({standing: tuple(own) for standing, own in groups.items()}),
        {},
        fleet.refusing & names,
    )
