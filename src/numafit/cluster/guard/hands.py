"""What the guard changes: a gate goes, a leftover goes. Nothing else of a pod is ever touched, and nothing of a pod
that is bound: each request names the UID and the version that was looked at, so the API server refuses what has
changed."""

from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Literal

import msgspec

from numafit.cluster.guard.telling.story import annotation_text
from numafit.cluster.guard.words import RELEASED_ANNOTATION
from numafit.cluster.kube.api import JSON_PATCH, STRATEGIC, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.pods import ClusterPod, PodKeeper, SentPod
from numafit.cluster.live.words import GUARD, HOLD_GATE
from numafit.errors import ApiServerError, InputError

TRIES = 5
"""Of a pod that others change at the same time."""
SteerResult = Literal["done", "refused", "failed"]
"""`refused`: the API server does not want it so. `failed`: it could not be asked, or has too much to do."""
GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
"""Somebody else removed it, or it was another one of this name."""


class GuardHands:
    def __init__(self, api: KubeApi, health: ApiHealth) -> None:
        self._api, self._health = api, health
        self._keeper = PodKeeper()

    async def steer(self, pod: ClusterPod, patch: Callable[[bool], bytes]) -> SteerResult:
        """As `release`, to some nodes only: the patch, for a pod with annotations or without, tests that it is still
        what was decided about."""
        for annotated in (pod.metadata.annotated, not pod.metadata.annotated):
            try:
                await self._api.patch(pod.path, patch(annotated), JSON_PATCH, {"fieldManager": GUARD})
            except InputError as error:
                status = error.status if isinstance(error, ApiServerError) else 0
                if status == HTTPStatus.NOT_FOUND:
                    return "done"
                self._health.failed(error)
                if status == HTTPStatus.UNPROCESSABLE_ENTITY:
                    continue
                return "refused" if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN) else "failed"
            return "done"
        return "refused"

    async def release(self, pod: ClusterPod, why: str) -> bool:
        """Whether our gate is gone."""
        found: ClusterPod | None = pod
        for _ in range(TRIES):
            if found is None or found.uid != pod.uid or HOLD_GATE not in found.gates or found.node:
                return True
            try:
                await self._api.patch(pod.path, _ungating(found, why), STRATEGIC, {"fieldManager": GUARD})
            except InputError as error:
                status = error.status if isinstance(error, ApiServerError) else 0
                if status == HTTPStatus.NOT_FOUND:
                    return True
                if status != HTTPStatus.CONFLICT:
                    self._health.failed(error)
                    return False
                found = await self._fresh(pod)
                continue
            return True
        return False

    async def _fresh(self, pod: ClusterPod) -> ClusterPod | None:
        try:
            return self._keeper.kept(msgspec.json.decode(await self._api.get(pod.path), type=SentPod))
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            self._health.failed(error)
            return pod
        except (InputError, msgspec.MsgspecError):
            self._health.unreadable["pods"] += 1
            return pod

    async def remove(self, pod: ClusterPod) -> bool:
        """A rejected pod, and no other one of its name; whether it is gone. A pod that has failed never runs again."""
        only = {"uid": pod.metadata.uid}
        content = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": only}
        try:
            await self._api.delete(pod.path, msgspec.json.encode(content))
        except InputError as error:
            if isinstance(error, ApiServerError) and error.status in GONE:
                return True
            self._health.failed(error)
            return False
        return True


def released_note(why: str) -> dict[str, str]:
    """The annotation of a pod whose gate goes."""
    return {RELEASED_ANNOTATION: annotation_text(why, datetime.now(UTC))}


def _ungating(pod: ClusterPod, why: str) -> bytes:
    meta = pod.metadata
    content = {
        "metadata": {"uid": meta.uid, "resourceVersion": meta.resourceVersion, "annotations": released_note(why)},
        "spec": {"schedulingGates": [{"$patch": "delete", "name": HOLD_GATE}]},
    }
    return msgspec.json.encode(content)
