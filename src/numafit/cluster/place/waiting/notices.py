"""What a waiting pod is told: a condition with one sentence, and an event. Only news, and only so many in a second.

A pod that is released within a moment is told nothing at all: to tell it would cost as much as to release it.
"""

from collections.abc import Iterable
from typing import TypeVar

import msgspec

from numafit.cluster.kube.api import STRATEGIC, KubeApi
from numafit.cluster.kube.events import Events
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectReference
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import PLACED, PLACER
from numafit.cluster.place.releases import pod_path
from numafit.errors import ApiServerError, InputError
from numafit.show.records.time import time_text

QUIET_SECONDS = 2.0
"""A pod that waits no longer is told nothing."""
AGAIN_SECONDS = 30.0
"""Between two sentences for the same pod."""
MOST_EACH_SECOND = 20
MOST_SECONDS = 0.1
"""In each second, for making sentences: decisions come first."""

Said = TypeVar("Said")
WAITING, RELEASED = "Waiting", "Released"
"""Reasons of the condition and of the event."""


class ToldPod(msgspec.Struct):
    since: float
    """When it was first seen to wait, by our own clock."""
    sentence: str = ""
    at: float = 0.0


class NoticeBook:
    """Who was told what. No network: whoever calls tells what time it is."""

    def __init__(self) -> None:
        self._told: dict[str, ToldPod] = {}

    def waits(self, pod: ClusterPod, now: float) -> None:
        """From here on; what an earlier leader told it stands in its condition."""
        if pod.uid not in self._told:
            condition = pod.condition(PLACED)
            said = condition.message if condition is not None and condition.status == "False" else ""
            self._told[pod.uid] = ToldPod(now, said)

    def gone(self, uid: str) -> bool:
        """Whether it had been told something."""
        told = self._told.pop(uid, None)
        return told is not None and bool(told.sentence)

    def due(self, waiting: Iterable[tuple[str, Said]], now: float) -> list[tuple[str, Said]]:
        """Of UIDs that wait those that may be told something now; whoever was told nothing for longest comes first."""
        found = []
        for uid, own in waiting:
            told = self._told.get(uid)
            if told is None or now - told.since < QUIET_SECONDS:
                continue
            if not told.at or now - told.at >= AGAIN_SECONDS:
                found.append((told.at, told.since, uid, own))
        found.sort(key=lambda each: each[:3])
        return [(uid, own) for _, _, uid, own in found]

    def is_news(self, uid: str, sentence: str, now: float) -> bool:
        """One that would be told the same again is left alone as long as one that was told something new."""
        told = self._told.get(uid)
        if told is None or not sentence:
            return False
        if told.sentence == sentence:
            told.at = now
            return False
        return True

    def tell(self, uid: str, sentence: str, now: float) -> None:
        told = self._told.get(uid)
        if told is not None:
            told.sentence, told.at = sentence, now

    def waited(self, uid: str, now: float) -> float:
        told = self._told.get(uid)
        return now - told.since if told is not None else 0.0


class Teller:
    def __init__(self, api: KubeApi, health: ApiHealth, identity: str) -> None:
        self._api, self._health = api, health
        self.events = Events(api, PLACER, health, instance=identity)

    async def waiting(self, pod: ClusterPod, sentence: str) -> bool:
        """Whether it was written."""
        written = await self._condition(pod, "False", WAITING, sentence)
        if written:
            await self.events.tell(reference(pod), "Normal", WAITING, sentence)
        return written

    async def released(self, pod: ClusterPod, sentence: str) -> None:
        await self._condition(pod, "True", RELEASED, sentence)

    async def warn(self, pod: ClusterPod, reason: str, sentence: str) -> None:
        await self.events.tell(reference(pod), "Warning", reason, sentence)

    async def _condition(self, pod: ClusterPod, status: str, reason: str, message: str) -> bool:
        condition = {
            "type": PLACED,
            "status": status,
            "reason": reason,
            "message": message,
            "lastTransitionTime": time_text(self._api.clock.now()),
        }
        # With its UID, so that no other pod of that name is told.
        content = {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}}
        try:
            await self._api.patch(f"{pod_path(pod)}/status", msgspec.json.encode(content), STRATEGIC)
        except InputError as error:
            if not (isinstance(error, ApiServerError) and error.status in (404, 409)):
                self._health.failed(error)
            return False
        return True


def reference(pod: ClusterPod) -> ObjectReference:
    return ObjectReference("Pod", pod.metadata.name, pod.metadata.uid, pod.metadata.namespace)
