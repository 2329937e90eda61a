"""What is decided about one waiting pod or one group: where it goes, or why it sleeps on.

An offer is recorded before anybody else can know of it; the patch for it is the caller's. A group is offered pod by
pod, one node for each, and all of it is taken back where too few find one.
"""

import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.spec import is_too_large
from numafit.cluster.place.around.preempt import preempts
from numafit.cluster.place.around.volumes import NO_LIMITS
from numafit.cluster.place.candidates import Candidates, CandidateSearch, PlacedCluster, wanted_names
from numafit.cluster.place.faults import Faults
from numafit.cluster.place.patch import has_terms, release_patch, ungate_patch, waiting_spec
from numafit.cluster.place.releases import MadePatch
from numafit.cluster.place.stuck import StuckBook
from numafit.cluster.place.waiting.claimed import ClaimedVolumes
from numafit.cluster.place.waiting.entries import is_ours, order_of
from numafit.cluster.place.waiting.grouped import GroupBook
from numafit.cluster.place.waiting.helped import HelpedKinds
from numafit.cluster.place.waiting.queue import WaitingQueue
from numafit.cluster.place.waiting.reserved import ReservedNodes
from numafit.cluster.place.waiting.sentences import Sentences
from numafit.fleet.waiting.groups import group_sentence, large_first
from numafit.fleet.waiting.reserve import Contender

MOST_TRIES = 4
"""Times in a round a node is looked for that could be kept: with thousands of kinds each costs."""
LOOK_SECONDS = 1.0
"""Between two looks for one at the begin of a round."""
NO_NODE = "no_node"
"""Why a pod waits that no known node has room for."""


class PodRelease(msgspec.Struct, frozen=True):
    """What is to be sent for one pod."""

    pod: ClusterPod
    patch: MadePatch
    nodes: str
    """Of which sort they are, for the metric."""
    names: tuple[str, ...]

    @property
    def told(self) -> str:
        if self.nodes == "preempting":
            return f"It may go to {self.names[0]}, where the scheduler evicts pods of lower priority for it."
        if self.names:
            return f"It may go to {', '.join(self.names)}."
        return "It waits for a node that is still to come." if self.nodes == "scale" else "The scheduler decides alone."


class Asleep(msgspec.Struct, frozen=True):
    """What was found for a kind that sleeps."""

    found: Candidates
    pod: ClusterPod
    """The one that found no node: of a group, the first that did not."""
    beside: Mapping[str, str] = {}
    """Of a group: UID -> node of those that did."""

    @property
    def reason(self) -> str:
        return reason_of(self.found)


FoundPod = tuple[ClusterPod, Candidates]


def reason_of(found: Candidates) -> str:
    """Why it waits, for the metric."""
    if found.unwished:
        return "other_pods"
    if found.kept:
        return "reserved"
    return "volumes" if found.unreached else NO_NODE


class Decider:
    def __init__(
        self,
        cluster: PlacedCluster,
        queue: WaitingQueue,
        search: CandidateSearch,
        helped: HelpedKinds,
        stuck: StuckBook,
        groups: GroupBook,
        volumes: ClaimedVolumes,
        sentences: Sentences,
        faults: Faults,
        *,
        names: int,
        reserve_seconds: float,
    ) -> None:
        self._cluster, self._queue, self._search, self._helped = cluster, queue, search, helped
        self._stuck, self._groups, self._sentences, self._names = stuck, groups, sentences, names
        self._volumes, self._faults = volumes, faults
        self.reserved = ReservedNodes(cluster, reserve_seconds, sentences.stays)
        self._asleep: dict[Hashable, Asleep] = {}
        self._tries = MOST_TRIES
        self._looked = 0.0

    # --- a round ------------------------------------------------------------------------------------------------------

    def begin_round(self) -> None:
        self._search.begin_round()
        woken: Collection[Hashable] = tuple(self._queue.sleeping)
        with self._faults.passed_over("who could be helped"):
            woken = self._helped.kinds(self._queue)
        for kind in woken:
            self._queue.wake(kind)
        if len(self._asleep) > len(self._queue.sleeping):
            self._asleep = {kind: own for kind, own in self._asleep.items() if kind in self._queue.sleeping}
        self._tries = MOST_TRIES
        if self.reserved.current.held or time.monotonic() - self._looked >= LOOK_SECONDS:
            self._reserve()

    def decided(self, key: str) -> Sequence[PodRelease]:
        """What is to be sent; nothing where it sleeps from now on. Whoever cannot be decided about, by a fault of ours,
        is released as it came: as without a webhook."""
        try:
            return self._decided(key)
        except Exception as error:
            pods = [self._cluster.pods[uid] for uid in self._uids(key) if uid in self._cluster.pods]
            self._faults.happened(pods[0].full_name if pods else key, error)
            self._queue.remove(key)
            return [self.as_it_came(pod) for pod in pods if is_ours(pod)]

    def as_it_came(self, pod: ClusterPod) -> PodRelease:
        self._cluster.withdraw(pod.uid)
        return PodRelease(pod, lambda annotated: ungate_patch(pod.gates, pod.metadata.uid), "fault", ())

    def _decided(self, key: str) -> Sequence[PodRelease]:
        state = self._groups.state(key)
        if state is not None:
            pods = [self._cluster.pods[uid] for uid in state.waiting if uid in self._cluster.pods]
            pods = [pod for pod in pods if is_ours(pod)]
            large = [self._unplaced(pod) for pod in pods if is_too_large(pod.pod)]
            return large or self._group(key, pods, state.needed)
        pod = self._cluster.pods.get(key)
        if pod is None or not is_ours(pod):
            self._queue.remove(key)
            return ()
        if is_too_large(pod.pod):
            return (self._unplaced(pod),)
        nodes = len(self._cluster.fleet.nodes) or len(self._cluster.nodes)
        found = self._candidates(pod, key, wanted_names(self._names, nodes, self._queue.awake))
        if not found.names and self._tries:
            found = self._made_room(pod, key, found)
        if not found.names:
            self._sleep(key, Asleep(found, pod))
            return ()
        self._offer(pod, found)
        return (self.release(pod, found),)

    def _group(self, key: str, pods: Sequence[ClusterPod], needed: int) -> Sequence[PodRelease]:
        offered, refused = self.offered_together(key, pods)
        if offered and len(offered) >= needed:
            return [self.release(pod, found) for pod, found in offered]
        self.take_back(pod for pod, _ in offered)
        if refused:
            pod, found = refused[0]
            self._sleep(key, Asleep(found, pod, {own.uid: beside.names[0] for own, beside in offered}))
        else:
            self._queue.remove(key)
        return ()

    def offered_together(self, key: str, pods: Sequence[ClusterPod]) -> tuple[list[FoundPod], list[FoundPod]]:
        """Those that find a node, each beside those before it: from now on they count there. And those that do not."""
        own = {pod.uid: pod for pod in pods}
        offered: list[FoundPod] = []
        refused: list[FoundPod] = []
        for each in large_first(self._cluster.fleet, [pod.pod for pod in pods]):
            pod = own[each.uid]
            found = self._candidates(pod, key, 1)
            if found.names:
                self._offer(pod, found)
            (offered if found.names else refused).append((pod, found))
        return offered, refused

    def take_back(self, pods: Iterable[ClusterPod]) -> None:
        for pod in pods:
            self._cluster.withdraw(pod.uid)
            self._search.told(pod)

    def _candidates(self, pod: ClusterPod, key: str, most: int) -> Candidates:
        last = {*self._stuck.tried(pod), *self._helped.refusing(pod)}
        kept = self.reserved.kept_back(pod, key, order_of(pod))
        terms, volumes = has_terms(waiting_spec(pod.spec)), self._volumes.limits(pod) or NO_LIMITS
        return self._search.candidates(pod, most, terms=terms, last=last, kept=kept, volumes=volumes)

    def _made_room(self, pod: ClusterPod, key: str, found: Candidates) -> Candidates:
        kept = self.reserved.kept_back(pod, key, order_of(pod))
        return self._search.made_room(pod, kept, self._volumes.limits(pod) or NO_LIMITS, found)

    def _offer(self, pod: ClusterPod, found: Candidates) -> None:
        self._cluster.offer(pod, found.names)
        self._search.told(pod)
        if found.unknown:
            self._search.offered_unknown()

    def release(self, pod: ClusterPod, found: Candidates) -> PodRelease:
        spec = waiting_spec(pod.spec)
        hosts = self._search.hostnames() if has_terms(spec) and len(found.names) > 1 else {}
        patch = partial(release_patch, spec, pod.metadata.uid, found.names, hosts)
        sort = "preempting" if found.preempting else "unknown" if found.unknown else "known"
        return PodRelease(pod, patch, sort, found.names)

    def _unplaced(self, pod: ClusterPod) -> PodRelease:
        """As if nobody had gated it: the webhook does not, so its maker has."""

        def patch(*, annotated: bool) -> bytes:
            return ungate_patch(pod.gates, pod.metadata.uid)

        return PodRelease(pod, patch, "any", ())

    # --- who waits ----------------------------------------------------------------------------------------------------

    def _sleep(self, key: str, asleep: Asleep) -> None:
        kind = self._queue.kind_of(key)
        self._asleep[kind] = asleep
        self._queue.sleep(kind)
        # Where the scheduler can make room for it depends on others, too: on whoever comes and goes.
        self._helped.sleeps(kind, others=bool(asleep.found.unwished) or preempts(asleep.pod))
        if asleep.reason == NO_NODE and self._tries:
            # Those that come after it in this very round shall not take its node.
            self._tries -= 1
            self._reserve()

    def _reserve(self) -> None:
        self._looked = time.monotonic()
        changed = False
        with self._faults.passed_over("which node is kept"):
            changed = self.reserved.renew(self._contenders, self._queue.__contains__, time.monotonic())
        if changed:
            for kind, own in self._asleep.items():
                if own.found.kept:
                    self._queue.wake(kind)

    def _contenders(self) -> list[Contender]:
        """The first of each kind that no node takes; the others of its kind wait for the same."""
        found = []
        for kind, own in self._asleep.items():
            if own.reason != NO_NODE or kind not in self._queue.sleeping:
                continue
            key = self._queue.first_of(kind)
            state = self._groups.state(key)
            uids = (key,) if state is None else state.waiting[: max(1, state.needed)]
            pods = [self._cluster.pods[uid] for uid in uids if uid in self._cluster.pods]
            if pods:
                order = min(order_of(pod) for pod in pods)
                found.append(Contender(key, order, tuple(pod.pod for pod in pods)))
        return sorted(found, key=lambda own: own.rank)

    def asleep(self) -> Iterator[tuple[str, Hashable]]:
        """UIDs of those that sleep, and their kinds."""
        for kind in list(self._queue.sleeping):
            for key in self._queue.entries(kind):
                for uid in self._uids(key):
                    yield uid, kind

    def without_room(self) -> Iterator[tuple[str, Sequence[ClusterPod]]]:
        """Keys of those that sleep since no known node has room for them, and their pods."""
        for kind, own in list(self._asleep.items()):
            if own.reason == NO_NODE and kind in self._queue.sleeping:
                for key in self._queue.entries(kind):
                    pods = [self._cluster.pods[uid] for uid in self._uids(key) if uid in self._cluster.pods]
                    yield key, [pod for pod in pods if is_ours(pod)]

    def _uids(self, key: str) -> tuple[str, ...]:
        state = self._groups.state(key)
        return (key,) if state is None else state.waiting

    def sentences(self) -> Iterator[tuple[str, Callable[[], str]]]:
        """Why those wait who sleep; made when somebody asks."""
        for uid, kind in self.asleep():
            yield uid, partial(self.sentence, uid, kind)

    def reasons(self) -> Iterator[tuple[str, int]]:
        """Why they sleep, and how many."""
        for kind, own in self._asleep.items():
            yield own.reason, self._queue.number(kind)

    def sentence(self, uid: str, kind: Hashable) -> str:
        """Empty where it sleeps no longer."""
        if uid not in self._cluster.pods or kind not in self._queue.sleeping:
            return ""
        own = self._asleep.get(kind)
        state = self._groups.state(self._queue.first_of(kind))
        if own is None:
            return self._sentences.of(self._cluster.pods[uid], None)
        text = self._sentences.of(own.pod if state is not None else self._cluster.pods[uid], own.found, own.beside)
        if state is not None:
            return group_sentence(state, len(own.beside), text)
        return f"{text} {self.reserved.text(uid)}".rstrip()
