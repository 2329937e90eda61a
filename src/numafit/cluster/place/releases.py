"""The patch that releases a pod, sent once, and what became of it: that is always found out before anything follows."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Literal, Protocol

import msgspec

from numafit.cluster.kube.api import JSON_PATCH, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.kube.pace import Backoff
from numafit.cluster.live.pods import ClusterPod, SchedulingGate
from numafit.cluster.live.words import PLACE_GATE, PLACER
from numafit.errors import ApiServerError, InputError

SEND_SECONDS = 5.0
"""Less than a leader goes on without its lease: nothing of it arrives after the next one has begun."""
PARAMETERS = {"fieldManager": PLACER, "fieldValidation": "Ignore"}
"""What we write ourselves the API server need not look through for unknown fields."""

SENDS = 3
"""Times that a patch is sent which nobody answers, before the pod is decided anew."""

ReleaseResult = Literal["released", "changed", "gone", "refused"]
"""`changed`: the pod is no longer what was decided about. `refused`: the API server does not let us."""


class MadePatch(Protocol):
    def __call__(self, *, annotated: bool) -> bytes: ...


class ReleaseOutcome(msgspec.Struct, frozen=True):
    result: ReleaseResult
    why: str = ""


class _LookedSpec(msgspec.Struct):
    schedulingGates: tuple[SchedulingGate, ...] | None = None


class _Looked(msgspec.Struct):
    metadata: ObjectMeta
    spec: _LookedSpec = msgspec.field(default_factory=_LookedSpec)


class Releaser:
    def __init__(self, api: KubeApi, health: ApiHealth, leads: Callable[[], bool] = lambda: True) -> None:
        """`leads`: nobody else decides by now. What was decided before a process stood still may be wrong after it."""
        self._api, self._health, self._leads = api, health, leads

    async def release(self, pod: ClusterPod, patch: MadePatch) -> ReleaseOutcome:
        """`patch` is made for a pod that has annotations, or that has none: somebody may have given it the first.

        One that nobody answered may arrive after a look at the pod that still finds the gate. So the same is sent
        again before anything else is decided about the pod: whichever of them arrives, the nodes are the same."""
        outcome = ReleaseOutcome("changed", "another replica may decide by now")
        for left in reversed(range(SENDS)):
            if not self._leads():
                break
            found, answered = await self._sent(pod, patch)
            outcome = found or await self._found_out(pod)
            if answered or outcome.result != "changed" or not left:
                break
        return outcome

    async def _sent(self, pod: ClusterPod, patch: MadePatch) -> tuple[ReleaseOutcome | None, bool]:
        """What became of it, as far as it was said, and whether the API server has done with it."""
        annotated = pod.metadata.annotated
        for last in (False, True):
            try:
                async with asyncio.timeout(SEND_SECONDS):
                    await self._api.patch(pod.path, patch(annotated=annotated), JSON_PATCH, PARAMETERS)
                return ReleaseOutcome("released"), True
            except TimeoutError:
                return None, False
            except ApiServerError as error:
                status = error.status
                if status == HTTPStatus.UNPROCESSABLE_ENTITY and not last:
                    annotated = not annotated
                    continue
                self._health.failed(error)
                if status == HTTPStatus.NOT_FOUND:
                    return ReleaseOutcome("gone"), True
                if status in (HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY):
                    return ReleaseOutcome("changed", error.message), True
                if status and status < HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.TOO_MANY_REQUESTS:
                    return ReleaseOutcome("refused", error.message), True
                return None, bool(status) and status != HTTPStatus.GATEWAY_TIMEOUT
            except InputError as error:
                # Credentials that cannot be read: nothing was sent.
                self._health.failed(error)
                return ReleaseOutcome("refused", str(error)), True
        raise AssertionError("the second try returns")

    async def _found_out(self, pod: ClusterPod) -> ReleaseOutcome:
        """Nobody said what became of it."""
        backoff = Backoff()
        while True:
            try:
                found = msgspec.json.decode(await self._api.get(pod.path), type=_Looked)
                break
            except ApiServerError as error:
                self._health.failed(error)
                if error.status == HTTPStatus.NOT_FOUND:
                    return ReleaseOutcome("gone")
            except InputError as error:
                self._health.failed(error)
            await asyncio.sleep(backoff.seconds())
        if found.metadata.uid != pod.metadata.uid:
            return ReleaseOutcome("gone")
        gated = any(gate.name == PLACE_GATE for gate in found.spec.schedulingGates or ())
        return ReleaseOutcome("changed", "no answer came") if gated else ReleaseOutcome("released")
