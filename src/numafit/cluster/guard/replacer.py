"""Pods that the guard released to some nodes, and that the scheduler cannot bind there: somebody was quicker.

A released pod cannot be changed any more. It is deleted while nothing of it can have begun, and its owner makes another
one, which is released anew: seldom, as the placer does it with its own.
"""

import asyncio
import time
from collections.abc import Callable

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.place.candidates import PlacedCluster
from numafit.cluster.place.stuck import StuckBook, delete_unbound, is_released

LOOK_SECONDS = 1.0


class LoopReplacer:
    def __init__(self, api: KubeApi, health: ApiHealth, live: PlacedCluster, say: Callable[[str], None]) -> None:
        self._api, self._health, self._live, self._say = api, health, live, say
        self._book = StuckBook()

    def told(self, pod: ClusterPod) -> None:
        """One that the guard released."""
        self._book.told(pod, time.monotonic())

    def gone(self, uid: str) -> None:
        self._book.gone(uid)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for uid in self._book.stuck():
                pod = self._live.pods.get(uid)
                if pod is None or not is_released(pod):
                    self._book.gone(uid)
                else:
                    await self._look(pod)

    async def _look(self, pod: ClusterPod) -> None:
        now = time.monotonic()
        answer = self._book.answer(pod, self._live.nodes, elsewhere=True, now=now)
        if answer == "replace" and await delete_unbound(self._api, pod, self._health):
            self._book.replaced(pod, now)
            self._say(f"{pod.full_name} was deleted, since the scheduler could not bind it: its owner makes another")
