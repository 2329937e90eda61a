"""Which nodes one waiting pod is offered now: those that admit it, that its wishes leave, and that a patch can name."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import NOTHING, ClusterPod
from numafit.cluster.place.around.neighbours import Labels, Neighbour, PodSurroundings, Wisher, allowed, chosen_names
from numafit.cluster.place.around.preempt import preempts, room_made
from numafit.cluster.place.around.unknown import Sums, sums_of, unknown_places
from numafit.cluster.place.around.volumes import NO_LIMITS, VolumeLimits, reaches
from numafit.cluster.place.around.wishes import NO_WISHES, NeighbourWish, PodWishes, read_wishes
from numafit.cluster.place.patch import HOSTNAME
from numafit.decision.filters import labels_suit, untolerated
from numafit.fleet.fleet import Fleet
from numafit.fleet.places import SCHEDULER_EFFECTS, Placing
from numafit.fleet.verdicts import VerdictMemory
from numafit.workload.pod import Pod

NO_NAMES: Collection[str] = ()


class PlacedCluster(Protocol):
    """The cluster as the placer sees it: a LiveFleet, or its book."""

    @property
    def fleet(self) -> Fleet: ...
    @property
    def memory(self) -> VerdictMemory: ...
    @property
    def nodes(self) -> Mapping[str, ClusterNode]: ...
    @property
    def pods(self) -> Mapping[str, ClusterPod]: ...
    def places(self, pod: Pod, most: int | None = None) -> Placing: ...
    def offer(self, pod: ClusterPod, names: Sequence[str]) -> None: ...
    def withdraw(self, uid: str) -> None: ...


class Candidates(msgspec.Struct, frozen=True):
    names: tuple[str, ...]
    """The best first; empty where nothing fits now."""
    placing: Placing
    """What the known nodes say."""
    unknown: bool = False
    """The names are of nodes that nobody knows more of than a scheduler."""
    preempting: bool = False
    """The one node takes it when the scheduler has evicted pods of lower priority there."""
    unwished: int = 0
    """Nodes that would admit it, and that its wishes about other pods exclude now."""
    kept: int = 0
    """Nodes that would admit it, and are kept for somebody else."""
    unreached: int = 0
    """Nodes that would admit it, and do not reach its volumes."""


class CandidateSearch:
    """For all pods of a round, or of many rounds: what it remembers of pods follows by `told` and `gone`."""

    def __init__(self, cluster: PlacedCluster, *, unknown_nodes: bool = True) -> None:
        self._cluster, self._unknown_nodes = cluster, unknown_nodes
        self._neighbours: dict[str, dict[str, Neighbour]] | None = None
        """Namespace -> UID -> pod; None until somebody has wishes about others."""
        self._lonely: dict[str, tuple[str, tuple[NeighbourWish, ...]]] = {}
        """UID -> namespace and from whom it has to be apart."""
        self._sums: Sums | None = None
        self._hosts: Mapping[str, str] | None = None

    # --- what changes -------------------------------------------------------------------------------------------------

    def begin_round(self) -> None:
        self._sums, self._hosts = None, None

    def told(self, pod: ClusterPod) -> None:
        """It has come, has changed, or was offered to other nodes."""
        if pod.spec is not NOTHING and pod.uid not in self._lonely:
            apart = wishes_of(pod).apart
            if apart:
                self._lonely[pod.uid] = (pod.metadata.namespace, apart)
        if self._neighbours is not None:
            self._neighbours.setdefault(pod.metadata.namespace, {})[pod.uid] = self._neighbour(pod)

    def gone(self, pod: ClusterPod) -> None:
        self._lonely.pop(pod.uid, None)
        if self._neighbours is not None:
            self._neighbours.get(pod.metadata.namespace, {}).pop(pod.uid, None)

    def _neighbour(self, pod: ClusterPod) -> Neighbour:
        nodes = (pod.node,) if pod.node else self._cluster.fleet.offers.get(pod.uid, ())
        meta = pod.metadata
        _, apart = self._lonely.get(pod.uid, ("", ()))
        return Neighbour(meta.namespace, meta.labels, nodes, bool(pod.node), meta.deletionTimestamp is not None, apart)

    # --- the question -------------------------------------------------------------------------------------------------

    def candidates(
        self,
        pod: ClusterPod,
        most: int,
        *,
        terms: bool,
        last: Collection[str] = NO_NAMES,
        kept: Collection[str] = NO_NAMES,
        volumes: VolumeLimits = NO_LIMITS,
    ) -> Candidates:
        """At most so many. `terms`: the pod has required terms of its own, so that several nodes are named by a label.
        `last`: nodes that come behind all others. `kept`: nodes that are for somebody else."""
        wishes = wishes_of(pod)
        enough = None if wishes or terms or volumes else most + len(last) + len(kept)
        placing = self._cluster.places(pod.pod, enough)
        admitted = [place.node for place in placing.places]
        found = self._reached(admitted, volumes)
        free = [name for name in found if name not in kept]
        held = len(found) - len(free)
        names = self._chosen(pod, wishes, _late(free, last), most, terms=terms)
        if names:
            return Candidates(names, placing, kept=held)
        if self._unknown_nodes and not found:
            others = self._reached(self._unknown(pod.pod, last), volumes)
            names = self._chosen(pod, wishes, others, most, terms=terms)
            if names:
                return Candidates(names, placing, unknown=True)
        return Candidates((), placing, unwished=len(free), kept=held, unreached=len(admitted) - len(found))

    def made_room(self, pod: ClusterPod, kept: Collection[str], volumes: VolumeLimits, found: Candidates) -> Candidates:
        """Where no node takes it: the one where the scheduler makes room for it. What was found before where there is
        none. Pods with wishes about others, or with volumes that not every node reaches, are not looked at."""
        others = found.unwished or found.kept or found.unreached
        if others or volumes or not preempts(pod) or wishes_of(pod) or self._apart_from(pod):
            return found
        own = self._cluster
        made = room_made(pod, found.placing, own.fleet, own.memory, own.nodes, own.pods.values(), kept)
        return found if made is None else Candidates((made.node,), found.placing, preempting=True)

    def _reached(self, names: Iterable[str], volumes: VolumeLimits) -> list[str]:
        nodes = self._cluster.nodes
        if not volumes:
            return list(names)
        return [name for name in names if name in nodes and reaches(volumes, nodes[name].labels, name)]

    def _chosen(
        self, pod: ClusterPod, wishes: PodWishes, found: Sequence[str], most: int, *, terms: bool
    ) -> tuple[str, ...]:
        if not found:
            return ()
        if wishes or self._apart_from(pod):
            around = self._surroundings(pod)
            names = chosen_names(found, allowed(self._wisher(pod, wishes), around), around.nodes, most)
        else:
            names = tuple(found[:most])
        if terms and len(names) > 1:
            hosts = self.hostnames()
            named = tuple(name for name in names if name in hosts)
            # One that has no label of its own is named alone.
            names = named if names[0] in hosts else names[:1]
        return names

    def _unknown(self, pod: Pod, last: Collection[str]) -> Iterable[str]:
        cluster = self._cluster
        names = [name for name in cluster.nodes if name not in cluster.fleet.nodes]
        if not names:
            return ()
        if self._sums is None:
            self._sums = sums_of(cluster.pods.values(), cluster.fleet.offers, set(names))
        found = list(unknown_places(pod, (cluster.nodes[name] for name in names), self._sums))
        return _late(found, last)

    def offered_unknown(self) -> None:
        """Sums have changed."""
        self._sums = None

    def hostnames(self) -> Mapping[str, str]:
        """Node -> its label of the host, where no other node has the same."""
        if self._hosts is None:
            nodes = self._cluster.nodes
            labels = {name: node.labels[HOSTNAME] for name, node in nodes.items() if node.labels.get(HOSTNAME)}
            counts = Counter(labels.values())
            self._hosts = {name: label for name, label in labels.items() if counts[label] == 1}
        return self._hosts

    # --- other pods ---------------------------------------------------------------------------------------------------

    def _wisher(self, pod: ClusterPod, wishes: PodWishes) -> Wisher:
        return Wisher(pod.metadata.namespace, pod.metadata.labels, wishes)

    def _apart_from(self, pod: ClusterPod) -> bool:
        """Somebody has to be apart from it."""
        meta = pod.metadata
        return any(
            wish.means(meta.namespace, meta.labels)
            for uid, (_, apart) in self._lonely.items()
            if uid != pod.uid
            for wish in apart
        )

    def _surroundings(self, pod: ClusterPod) -> PodSurroundings:
        nodes: dict[str, Labels] = {name: node.labels for name, node in self._cluster.nodes.items()}
        demands = pod.pod.demands
        suited = {name for name, labels in nodes.items() if labels_suit(demands, labels, name)}
        return PodSurroundings(nodes, suited, self._tolerated(pod.pod), self._others(pod))

    def _tolerated(self, pod: Pod) -> Collection[str]:
        found = set()
        for name, node in self._cluster.nodes.items():
            own = self._cluster.fleet.nodes.get(name)
            if not node.taints:
                found.add(name)
            elif own is not None:
                settings = own.state.node.settings
                if untolerated(settings, pod.demands, node.taints, SCHEDULER_EFFECTS) is None:
                    found.add(name)
        return found

    def _others(self, pod: ClusterPod) -> list[Neighbour]:
        if self._neighbours is None:
            self._neighbours = {}
            for other in self._cluster.pods.values():
                self.told(other)
        wishes = wishes_of(pod)
        spaces = {pod.metadata.namespace}
        for wish in (*wishes.near, *wishes.apart):
            spaces |= self._neighbours.keys() if wish.namespaces is None else wish.namespaces
        found = [
            own
            for space in spaces
            for uid, own in self._neighbours.get(space, {}).items()
            if uid != pod.uid and own.nodes
        ]
        for uid, (space, _) in self._lonely.items():
            own = self._neighbours.get(space, {}).get(uid)
            if space not in spaces and own is not None and uid != pod.uid:
                found.append(own)
        return found


def wishes_of(pod: ClusterPod) -> PodWishes:
    """Of one that is bound only from whom it has to be apart."""
    if pod.spec is NOTHING:
        return NO_WISHES
    return read_wishes(pod.spec, pod.metadata.namespace, pod.metadata.labels)


def _late(names: Sequence[str], last: Collection[str]) -> list[str]:
    return [name for name in names if name not in last] + [name for name in names if name in last]


def wanted_names(most: int, nodes: int, waiting: int) -> int:
    """How many nodes a pod is offered. It counts on all of them until it is bound, so that where many wait for few
    nodes each gets few, down to one: an even share of all nodes."""
    return max(1, min(most, nodes // max(1, waiting)))
