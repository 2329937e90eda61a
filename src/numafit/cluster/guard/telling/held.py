"""Pods that wait behind our gate are told why, by a condition and one event: a few each second."""

import asyncio
import time
from collections.abc import Callable, Iterable
from http import HTTPStatus

from numafit.cluster.guard.counts import GuardCounts
from numafit.cluster.guard.engine import HoldEngine
from numafit.cluster.guard.record import LoopRecord
from numafit.cluster.guard.telling.story import held_story
from numafit.cluster.guard.words import HELD
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.events import Events
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.placed import write_placed
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import GUARD, HOLD_GATE, PLACE_GATE, PLACED, RELEASED
from numafit.cluster.live.words import HELD as HELD_BACK
from numafit.cluster.place.candidates import PlacedCluster
from numafit.cluster.place.waiting.notices import MOST_EACH_SECOND, MOST_SECONDS, NoticeBook
from numafit.errors import ApiServerError, InputError
from numafit.fleet.waiting.why import WhyMemory

LOOK_SECONDS = 1.0
NO_SENTENCE = "It is held, and it is not known why: a fault of numafit, which its metrics count."
LET_GO = "The guard holds it no longer."


class HeldTeller:
    """`held`: pods with our gate, and what is known of their owners."""

    def __init__(
        self,
        api: KubeApi,
        health: ApiHealth,
        live: PlacedCluster,
        counts: GuardCounts,
        held: Callable[[], Iterable[tuple[ClusterPod, LoopRecord]]],
    ) -> None:
        self._api, self._health, self._live, self._counts, self._held = api, health, live, counts, held
        self._events, self._book = Events(api, GUARD, health), NoticeBook()
        self._engine, self._kept = HoldEngine(live), WhyMemory()
        self._waiting: set[str] = set()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look(time.monotonic())

    async def look(self, now: float) -> None:
        held = {pod.uid: (pod, record) for pod, record in self._held()}
        for pod, _ in held.values():
            self._book.waits(pod, now)
        ended, self._waiting = self._waiting - held.keys(), set(held)
        for uid in ended:
            await self._over(uid)
        spent, told = 0.0, 0
        for uid, own in self._book.due(held.items(), now):
            if spent >= MOST_SECONDS or told >= MOST_EACH_SECOND:
                break
            begun = time.monotonic()
            sentence = self._sentence(*own)
            spent += time.monotonic() - begun
            found = self._live.pods.get(uid)
            if found is not None and HOLD_GATE in found.gates and self._book.is_news(uid, sentence, now):
                told += 1
                self._book.tell(uid, sentence, now)
                await self._tell(found, sentence)

    def _sentence(self, pod: ClusterPod, record: LoopRecord) -> str:
        try:
            unknown, hopeless = self._engine.unknown(pod), self._engine.hopeless(pod)
            return held_story(pod, record, self._live, self._kept, unknown, hopeless=hopeless)
        # A node or a pod that the engine cannot bear must not end the guard: it is a bug, and counted.
        except Exception as error:
            self._counts.failed(error)
            return NO_SENTENCE

    async def _tell(self, pod: ClusterPod, sentence: str) -> None:
        first = pod.condition(PLACED) is None
        if await self._written(pod, "False", HELD_BACK, sentence) and first:
            await self._events.tell(pod.reference, "Normal", HELD, sentence)

    async def _over(self, uid: str) -> None:
        """Where the placer has its gate on the pod, it goes on telling."""
        told, pod = self._book.gone(uid), self._live.pods.get(uid)
        if told and pod is not None and HOLD_GATE not in pod.gates and PLACE_GATE not in pod.gates:
            await self._written(pod, "True", RELEASED, LET_GO)

    async def _written(self, pod: ClusterPod, status: str, reason: str, message: str) -> bool:
        try:
            await write_placed(self._api, pod, status, reason, message)
        except InputError as error:
            if not (isinstance(error, ApiServerError) and error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)):
                self._health.failed(error)
            return False
        return True
