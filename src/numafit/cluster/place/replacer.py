"""Looks after pods that were released and that the scheduler cannot bind: they are told, or make room for a new try."""

import asyncio
import time
from collections.abc import Callable

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.around.volumes import VolumeLimits
from numafit.cluster.place.candidates import CandidateSearch, PlacedCluster
from numafit.cluster.place.counts import PlaceCounts
from numafit.cluster.place.faults import Faults
from numafit.cluster.place.narrowed import as_it_came
from numafit.cluster.place.stuck import StuckBook, delete_unbound, is_released, is_scaled
from numafit.cluster.place.successors import Successors
from numafit.cluster.place.waiting.claimed import ClaimedVolumes
from numafit.cluster.place.waiting.notices import Teller

LOOK_SECONDS, MOST_SECONDS = 1.0, 0.1
"""Between two looks, and for each: decisions come first. The next one goes on where this one ends."""
NOT_BOUND, REPLACED = "NotBound", "Replaced"
"""Reasons of events."""


class Replacer:
    """`book` is told of pods by whoever hears of them."""

    def __init__(
        self,
        api: KubeApi,
        cluster: PlacedCluster,
        search: CandidateSearch,
        book: StuckBook,
        successors: Successors,
        volumes: ClaimedVolumes,
        teller: Teller,
        counts: PlaceCounts,
        health: ApiHealth,
        say: Callable[[str], None],
        faults: Faults,
    ) -> None:
        self._api, self._cluster, self._search, self._book = api, cluster, search, book
        self._volumes, self._teller, self._counts, self._health, self._say = volumes, teller, counts, health, say
        self._successors, self._faults = successors, faults

    async def run(self) -> None:
        left: list[str] = []
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            left = left or list(self._book.stuck())[::-1]
            end = time.monotonic() + MOST_SECONDS
            while left and time.monotonic() < end:
                uid = left.pop()
                pod = self._cluster.pods.get(uid)
                if pod is None or not is_released(pod):
                    self._book.gone(uid)
                else:
                    with self._faults.passed_over(pod.full_name):
                        await self._look(pod)

    async def _look(self, pod: ClusterPod) -> None:
        now, nodes = time.monotonic(), self._cluster.nodes
        forgiven = self._successors.forgives(pod)
        # Whether another node would take it costs more to find out than whether it is time.
        if not self._book.answer(pod, nodes, elsewhere=True, now=now, forgiven=bool(forgiven)):
            return
        volumes = self._volumes.limits(pod)
        if volumes is None or forgiven is None:
            return
        elsewhere = self._elsewhere(pod, volumes)
        answer = self._book.answer(pod, nodes, elsewhere=elsewhere, now=now, forgiven=forgiven)
        condition = pod.condition("PodScheduled")
        why = condition.message if condition is not None else ""
        if answer == "tell":
            self._book.was_told(pod.uid, elsewhere=elsewhere)
            await self._teller.warn(pod, NOT_BOUND, _not_bound(pod, why, elsewhere=elsewhere))
        elif answer == "replace" and await delete_unbound(self._api, pod, self._health, disrupted=forgiven):
            self._book.replaced(pod, now)
            self._counts.replaced += 1
            owner = pod.owner.kind if pod.owner is not None else "controller"
            text = f"It was deleted, so that its {owner} makes one for other nodes: {why}"
            self._say(f"{pod.full_name}: {text}")
            await self._teller.warn(pod, REPLACED, text)

    def _elsewhere(self, pod: ClusterPod, volumes: VolumeLimits) -> bool:
        """A node would take it that it may not go to. One that was released for nodes to come, and to which a known
        one of these belongs that has room, only has to be bound."""
        if is_scaled(pod) and self._cluster.places(pod.pod, 1).places:
            return False
        found = self._search.candidates(as_it_came(pod), 1, terms=False, kept=pod.offered, volumes=volumes)
        return bool(found.names) and not (is_scaled(pod) and found.unknown)


def _not_bound(pod: ClusterPod, why: str, *, elsewhere: bool) -> str:
    if not is_scaled(pod):
        return f"The scheduler can bind it to none of its nodes: {why}"
    if elsewhere:
        return "A known node would take it now, but it was released for nodes to come: delete it to have another one."
    return f"It was released for nodes to come, and none has come that takes it: {why}"
