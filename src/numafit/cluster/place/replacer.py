"""Looks after pods that were released and that the scheduler cannot bind: they are told, or make room for a new try."""

import asyncio
import time
from collections.abc import Callable

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.candidates import CandidateSearch, PlacedCluster
from numafit.cluster.place.counts import PlaceCounts
from numafit.cluster.place.faults import Faults
from numafit.cluster.place.stuck import StuckBook, delete_unbound, is_released
from numafit.cluster.place.waiting.claimed import ClaimedVolumes
from numafit.cluster.place.waiting.notices import Teller

LOOK_SECONDS = 1.0
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
        volumes: ClaimedVolumes,
        teller: Teller,
        counts: PlaceCounts,
        health: ApiHealth,
        say: Callable[[str], None],
        faults: Faults,
    ) -> None:
        self._api, self._cluster, self._search, self._book = api, cluster, search, book
        self._volumes, self._teller, self._counts, self._health, self._say = volumes, teller, counts, health, say
        self._faults = faults

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for uid in self._book.stuck():
                pod = self._cluster.pods.get(uid)
                if pod is None or not is_released(pod):
                    self._book.gone(uid)
                else:
                    with self._faults.passed_over(pod.full_name):
                        await self._look(pod)

    async def _look(self, pod: ClusterPod) -> None:
        now, nodes = time.monotonic(), self._cluster.nodes
        # Whether another node would take it costs more to find out than whether it is time.
        if not self._book.answer(pod, nodes, elsewhere=True, now=now):
            return
        volumes = self._volumes.limits(pod)
        if volumes is None:
            return
        elsewhere = self._search.candidates(pod, 1, terms=False, kept=pod.offered, volumes=volumes)
        answer = self._book.answer(pod, nodes, elsewhere=bool(elsewhere.names), now=now)
        condition = pod.condition("PodScheduled")
        why = condition.message if condition is not None else ""
        if answer == "tell":
            self._book.was_told(pod.uid)
            await self._teller.warn(pod, NOT_BOUND, f"The scheduler can bind it to none of its nodes: {why}")
        elif answer == "replace" and await delete_unbound(self._api, pod, self._health):
            self._book.replaced(pod, now)
            self._counts.replaced += 1
            owner = pod.owner.kind if pod.owner is not None else "controller"
            text = f"It was deleted, so that its {owner} makes one for other nodes: {why}"
            self._say(f"{pod.full_name}: {text}")
            await self._teller.warn(pod, REPLACED, text)
