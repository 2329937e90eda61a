"""The leader's work: pods that wait are decided one after the other, and released.

An offer is recorded before anybody else can know of it, then its patch is sent; patches are under way side by side, up
to a number, and what comes to nothing is taken back. The queue is gone through whenever something has changed.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveChange
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.around.volumes import NO_LIMITS
from numafit.cluster.place.candidates import CandidateSearch, PlacedCluster
from numafit.cluster.place.counts import PlaceCounts
from numafit.cluster.place.decider import Decider, PodRelease
from numafit.cluster.place.faults import Faults
from numafit.cluster.place.releases import ReleaseOutcome, Releaser
from numafit.cluster.place.replacer import Replacer
from numafit.cluster.place.scale import ScaleReleases
from numafit.cluster.place.stuck import StuckBook
from numafit.cluster.place.successors import Successors
from numafit.cluster.place.waiting.claimed import ClaimedVolumes
from numafit.cluster.place.waiting.entries import EntryMaker, is_ours, waits
from numafit.cluster.place.waiting.grouped import GroupBook
from numafit.cluster.place.waiting.helped import HelpedKinds
from numafit.cluster.place.waiting.notices import NoticeBook, Teller
from numafit.cluster.place.waiting.queue import WaitingQueue
from numafit.cluster.place.waiting.sentences import Sentences
from numafit.cluster.place.waiting.sizes import GroupSizes
from numafit.cluster.place.waiting.telling import WaitingTeller
from numafit.fleet.waiting.groups import group_sentence
from numafit.fleet.waiting.members import GroupObject
from numafit.show.records.time import seconds_of

START_SECONDS = 2.0
"""Before the first decision: what the leader before us wrote last, and reports of it, are on their way."""
TICK_SECONDS = 1.0
MOST_IN_FLIGHT = 48
YIELD_SECONDS = 0.01
"""So long decisions are made without letting others come in between."""
RETRY_SECONDS, MOST_RETRY_SECONDS = 0.5, 60.0
MOST_REJECTED = 10_000
LAST_SECONDS = 3.0
"""For patches that are under way when it ends."""
REJECTED, NOT_RELEASED = "UnpredictedRejection", "NotReleased"
"""Reasons of events."""


class WatchedCluster(PlacedCluster, Protocol):
    synced: asyncio.Event

    def listen(self, heard: Callable[[LiveChange], None]) -> None: ...


class PlacerOptions(msgspec.Struct, frozen=True):
    names: int = 8
    """Nodes that a pod is offered at most."""
    scale: bool = False
    """What no known node has room for is released for nodes that are still to come."""
    unknown_nodes: bool = True
    """Nodes without a NodeTopology are offered where no other one fits."""
    reserve_seconds: float = 600.0
    identity: str = ""


class _Retry(msgspec.Struct):
    until: float
    version: str
    times: int


class Placer:
    def __init__(
        self,
        api: KubeApi,
        cluster: WatchedCluster,
        options: PlacerOptions,
        health: ApiHealth,
        counts: PlaceCounts,
        say: Callable[[str], None],
        leads: Callable[[], bool] = lambda: True,
    ) -> None:
        self._api, self._cluster, self._options, self._health = api, cluster, options, health
        self._counts, self._say, self._faults = counts, say, Faults(counts, say)
        self._releaser = Releaser(api, health, leads)
        self._teller = Teller(api, health, options.identity)
        self._wake, self._leads = asyncio.Event(), False
        self._tasks: set[asyncio.Task[None]] = set()
        self._released: set[str] = set()
        """UIDs whose release was confirmed and not seen yet: until then older news of them may come."""
        cluster.listen(self._heard)
        self._begin()

    def _begin(self) -> None:
        self._queue, self._entries = WaitingQueue(), EntryMaker()
        self._search = CandidateSearch(self._cluster, unknown_nodes=self._options.unknown_nodes)
        self._helped = HelpedKinds(self._cluster)
        self._notices, self._stuck = NoticeBook(), StuckBook()
        self._volumes = ClaimedVolumes(self._api, self._health, self._ask_volumes)
        self._successors = Successors(self._api, self._health, lambda pod: self._spawn(self._successors.read(pod)))
        known = (self._cluster, self._search, self._stuck, self._successors, self._volumes, self._teller, self._counts)
        self._replacer = Replacer(self._api, *known, self._health, self._say, self._faults)
        self._telling = WaitingTeller(self._cluster, self._due, self._notices, self._teller, self._counts, self._faults)
        self._sizes = GroupSizes(self._api, self._health, self._ask_size)
        self._groups = GroupBook(self._queue, self._sizes)
        self._decider = Decider(
            self._cluster,
            self._queue,
            self._search,
            self._helped,
            self._stuck,
            self._groups,
            self._volumes,
            Sentences(self._cluster),
            self._faults,
            names=self._options.names,
            reserve_seconds=self._options.reserve_seconds,
        )
        self._scale = ScaleReleases(self._cluster, self._decider, self._notices)
        self._changed: dict[str, ClusterPod | None] = {}
        """UIDs of which something was heard; the pod where it is gone."""
        self._in_flight: set[str] = set()
        self._retries: dict[str, _Retry] = {}
        self._slots = asyncio.Semaphore(MOST_IN_FLIGHT)
        self._rejected: set[str] = set()
        """UIDs of rejected pods that were counted: of a failed pod more than one change is told."""

    # --- what is heard ------------------------------------------------------------------------------------------------

    def _heard(self, change: LiveChange) -> None:
        if not self._leads:
            return
        match change.kind:
            case "node":
                self._helped.node_changed(change.name)
            case "pod":
                self._changed[change.name] = None
                self._helped.pod_changed()
            case "gone":
                self._changed[change.name] = change.pod
                self._helped.pod_gone(change.pod)
            case "failed":
                self._failed(change.pod)
        self._wake.set()

    def _failed(self, pod: ClusterPod | None) -> None:
        if pod is None or not pod.rejected or pod.node not in pod.offered or pod.uid in self._rejected:
            return
        self._rejected.add(pod.uid)
        if len(self._rejected) > MOST_REJECTED:
            self._rejected.clear()
        self._helped.refused(pod)
        if pod.node not in self._cluster.fleet.nodes:
            # Nobody predicted anything there.
            return
        self._counts.unpredicted += 1
        text = f"the kubelet of {pod.node} rejected it ({pod.reason}): {pod.message}"
        self._say(f"{pod.full_name} was placed, and {text}")
        told = f"numafit predicted that it fits, but {text} No pod like it goes there before the node has changed."
        self._spawn(self._teller.warn(pod, REJECTED, told))

    # --- the leader's loop --------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until it is cancelled; then patches that are under way are waited for."""
        await self._cluster.synced.wait()
        self._begin()
        self._leads = True
        try:
            await asyncio.sleep(START_SECONDS)
            self._changed = dict.fromkeys(self._cluster.pods)
            self._say(f"this replica decides: {sum(map(waits, self._cluster.pods.values()))} pods wait")
            async with asyncio.TaskGroup() as group:
                group.create_task(self._decide())
                group.create_task(self._telling.run())
                group.create_task(self._replacer.run())
        finally:
            self._leads = False
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=LAST_SECONDS)
            for task in self._tasks:
                task.cancel()
            self._counts.waiting.clear()

    async def _decide(self) -> None:
        while True:
            self._wake.clear()
            with self._faults.passed_over("a round"):
                await self.round()
            with suppress(TimeoutError):
                async with asyncio.timeout(TICK_SECONDS):
                    await self._wake.wait()

    async def round(self) -> None:
        """Everybody who could be helped by what has changed is asked about, in order."""
        self._take_changes()
        self._decider.begin_round()
        if self._helped.unfinished:
            self._wake.set()
        begun = time.monotonic()
        for key in self._queue.round():
            await self._slots.acquire()
            if time.monotonic() - begun > YIELD_SECONDS:
                await asyncio.sleep(0)
                begun = time.monotonic()
                if self._wake.is_set():
                    # Somebody more urgent may have come: the rest is asked about after a look at what is new.
                    self._slots.release()
                    return
            self._counts.decided += 1
            releases = self._decider.decided(key)
            if not releases:
                self._slots.release()
            for number, release in enumerate(releases):
                self._send(release, slot=number == 0)
        if self._options.scale:
            await self._release_for_more_nodes()
        self._count_waiting()

    def _take_changes(self) -> None:
        changed, self._changed = self._changed, {}
        now = time.monotonic()
        for uid, gone in changed.items():
            pod = self._cluster.pods.get(uid)
            if pod is not None:
                self._looked_at(pod, now)
            else:
                self._forget(uid, gone)
        for uid, retry in list(self._retries.items()):
            if now >= retry.until and uid in self._cluster.pods:
                self._looked_at(self._cluster.pods[uid], now)
        self._volumes.again(self._cluster.pods)
        self._groups.settle()
        for source in list(self._groups.sources()):
            self._sizes.again(source)

    def _ask_size(self, source: GroupObject) -> None:
        self._spawn(self._read_size(source))

    async def _read_size(self, source: GroupObject) -> None:
        if await self._sizes.read(source):
            self._changed |= dict.fromkeys(self._groups.of_source(source))
            self._wake.set()

    def _ask_volumes(self, pod: ClusterPod) -> None:
        self._spawn(self._read_volumes(pod))

    async def _read_volumes(self, pod: ClusterPod) -> None:
        if await self._volumes.read(pod):
            self._changed.setdefault(pod.uid, None)
            self._wake.set()

    def _looked_at(self, pod: ClusterPod, now: float) -> None:
        try:
            self._look(pod, now)
        except Exception as error:
            self._faults.happened(pod.full_name, error)
            if is_ours(pod) and pod.uid not in self._in_flight and pod.uid not in self._released:
                self._send(self._decider.as_it_came(pod), slot=False)

    def _look(self, pod: ClusterPod, now: float) -> None:
        self._search.told(pod)
        self._stuck.told(pod, now)
        if not waits(pod):
            self._settled(pod.uid)
        queued = self._is_queued(pod, now)
        if queued:
            self._notices.waits(pod, now)
        if self._groups.told(pod, queued=queued) or not queued:
            self._queue.remove(pod.uid)
        else:
            self._queue.put(self._entries.entry(pod, self._volumes.limits(pod) or NO_LIMITS))

    def _is_queued(self, pod: ClusterPod, now: float) -> bool:
        """It waits for us, and nothing is under way for it."""
        if not is_ours(pod) or pod.uid in self._in_flight or pod.uid in self._released:
            return False
        if self._volumes.limits(pod) is None:
            return False
        retry = self._retries.get(pod.uid)
        return retry is None or now >= retry.until or pod.metadata.resourceVersion != retry.version

    def _forget(self, uid: str, gone: ClusterPod | None) -> None:
        self._queue.remove(uid)
        self._settled(uid)
        self._groups.gone(uid)
        self._stuck.gone(uid)
        if gone is not None:
            self._search.gone(gone)

    def _settled(self, uid: str) -> None:
        """It waits no longer."""
        self._entries.forget(uid)
        self._retries.pop(uid, None)
        self._released.discard(uid)
        self._notices.gone(uid)
        self._volumes.forget(uid)

    # --- what is released ---------------------------------------------------------------------------------------------

    async def _release_for_more_nodes(self) -> None:
        """Whoever has waited for long enough."""
        for releases in self._scale.due(time.monotonic()):
            for release in releases:
                self._send(release, slot=False)
            await asyncio.sleep(0)

    def _send(self, release: PodRelease, *, slot: bool) -> None:
        """`slot`: there is one for it already."""
        pod = release.pod
        self._queue.remove(pod.uid)
        self._in_flight.add(pod.uid)
        self._counts.in_flight = len(self._in_flight)
        self._groups.sent(pod.uid)
        self._spawn(self._sent(release, slot=slot))

    async def _sent(self, release: PodRelease, *, slot: bool) -> None:
        pod = release.pod
        try:
            if not slot:
                await self._slots.acquire()
            try:
                outcome = await self._releaser.release(pod, release.patch)
            finally:
                self._slots.release()
        except asyncio.CancelledError:
            # Whether it arrived is found out by whoever leads next.
            self._in_flight.discard(pod.uid)
            raise
        self._in_flight.discard(pod.uid)
        self._counts.in_flight = len(self._in_flight)
        if outcome.result == "released":
            self._succeeded(release)
        else:
            self._came_to_nothing(pod, outcome)
        self._wake.set()

    def _succeeded(self, release: PodRelease) -> None:
        pod = release.pod
        seen = self._cluster.pods.get(pod.uid)
        if seen is not None and waits(seen):
            self._released.add(pod.uid)
        self._retries.pop(pod.uid, None)
        self._entries.forget(pod.uid)
        self._counts.released[release.nodes] += 1
        self._counts.offered_names += len(release.names)
        with suppress(ValueError):
            self._counts.waited(self._api.clock.now() - seconds_of(pod.metadata.creationTimestamp))
        if self._notices.gone(pod.uid):
            self._spawn(self._teller.released(pod, release.told))

    def _came_to_nothing(self, pod: ClusterPod, outcome: ReleaseOutcome) -> None:
        self._counts.failed[outcome.result] += 1
        self._cluster.withdraw(pod.uid)
        if outcome.result == "gone" or (seen := self._cluster.pods.get(pod.uid)) is None:
            return
        self._search.told(seen)
        before = self._retries.get(pod.uid)
        times = before.times + 1 if before is not None else 1
        seconds = min(RETRY_SECONDS * 2 ** (times - 1), MOST_RETRY_SECONDS)
        # One that has changed since is decided anew at once.
        self._retries[pod.uid] = _Retry(time.monotonic() + seconds, pod.metadata.resourceVersion, times)
        self._changed.setdefault(pod.uid, None)
        if outcome.result == "refused" or times == 3:
            self._say(f"{pod.full_name} could not be released: {outcome.why}")
            self._spawn(self._teller.warn(pod, NOT_RELEASED, f"It could not be released: {outcome.why}"))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """`Any`: as a coroutine has it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- what is told -------------------------------------------------------------------------------------------------

    def _due(self) -> Iterator[tuple[str, Callable[[], str]]]:
        yield from self._scale.sentences() if self._options.scale else self._decider.sentences()
        for uid, state in self._groups.incomplete():
            yield uid, partial(group_sentence, state)

    def _count_waiting(self) -> None:
        waiting = self._counts.waiting
        waiting.clear()
        for reason, number in self._decider.reasons():
            waiting[reason] += number
        waiting["group"] = sum(1 for _ in self._groups.incomplete())
        waiting["deciding"] = self._queue.awake
        self._counts.reserved = self._decider.reserved.nodes
