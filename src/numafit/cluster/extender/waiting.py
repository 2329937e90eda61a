"""Pods that were refused. A scheduler tries them again when it sees something happen: an agent's annotation on a Node
tells it of each report. What only the extender knows it has to tell itself: that an offer has ended, or that a report
came to it later than to the scheduler. A condition of the pod is enough for that, and wakes nobody else."""

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.placed import write_placed
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import FITS
from numafit.errors import ApiServerError, InputError
from numafit.fleet.orders import promise_of

LOOK_SECONDS = 1.0
FIRST_SECONDS, LONGEST_SECONDS = 2.0, 120.0
"""Between two times that the same pod is woken: it may be that the scheduler has reasons of its own against a node."""
MOST_WOKEN, MOST_SHAPES = 20, 20
"""At one look."""
MESSAGE = "a node would admit it by now: the scheduler may try again"


class RefusedPod(msgspec.Struct):
    pod: ClusterPod
    asked: float
    pause: float = FIRST_SECONDS
    rest: float = 0.0
    """Not woken before."""


class RefusedPods:
    """`fits` says whether some node would admit a pod."""

    def __init__(self, fits: Callable[[ClusterPod], bool]) -> None:
        self._fits = fits
        self._pods: dict[str, RefusedPod] = {}
        self._changed = 0.0
        self._ripe = 0.0
        """Changes until then are old enough: schedulers that saw them have asked again."""

    def __len__(self) -> int:
        return len(self._pods)

    def refused(self, pod: ClusterPod, now: float) -> None:
        known = self._pods.pop(pod.uid, None)
        self._pods[pod.uid] = RefusedPod(pod, now, *((known.pause, known.rest) if known else ()))

    def over(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def changed(self, now: float) -> None:
        """A node stands otherwise than before."""
        self._changed = now

    def to_wake(self, now: float) -> list[ClusterPod]:
        """Those that waited longest first; of equal pods for which there is no room only one is looked at."""
        ripe, self._ripe = self._ripe, self._changed
        hopeless: set[bytes] = set()
        woken: list[ClusterPod] = []
        for own in self._pods.values():
            if own.asked >= ripe or own.rest > now:
                continue
            shape = promise_of(own.pod.pod).shape
            if shape in hopeless:
                continue
            if not self._fits(own.pod):
                # It is not looked at again before something else changes.
                own.asked = ripe
                hopeless.add(shape)
            else:
                own.asked = now
                own.rest, own.pause = now + own.pause, min(own.pause * 2, LONGEST_SECONDS)
                woken.append(own.pod)
            if len(woken) >= MOST_WOKEN or len(hopeless) >= MOST_SHAPES:
                break
        return woken


async def wake_for_ever(pods: RefusedPods, api: KubeApi, health: ApiHealth, woken: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        for pod in pods.to_wake(time.monotonic()):
            try:
                await write_placed(api, pod, "False", FITS, MESSAGE)
                woken()
            except ApiServerError as error:
                if error.status == HTTPStatus.NOT_FOUND:
                    pods.over(pod.uid)
                else:
                    health.failed(error)
            except InputError as error:
                health.failed(error)
