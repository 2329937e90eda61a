"""Events: a sentence about an object, which `kubectl describe` shows."""

import uuid
from collections import OrderedDict
from http import HTTPStatus

import msgspec

from numafit.cluster.kube.api import MERGE, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import ObjectReference
from numafit.errors import ApiServerError, InputError
from numafit.show.records.time import time_text

LONGEST_MESSAGE = 1024
"""Characters; the API server refuses more."""
MOST_REMEMBERED = 1000
DEFAULT_NAMESPACE = "default"
"""Where events about objects without a namespace lie."""


class _Sent(msgspec.Struct):
    path: str
    count: int


class Events:
    """The same sentence about the same object again is the same event, counted."""

    def __init__(self, api: KubeApi, component: str, health: ApiHealth, *, instance: str = "") -> None:
        self._api, self._component, self._instance, self._health = api, component, instance, health
        self._sent: OrderedDict[tuple[ObjectReference, str, str], _Sent] = OrderedDict()

    async def tell(self, about: ObjectReference, kind: str, reason: str, message: str) -> None:
        """`kind`: Normal or Warning. One that cannot be told is counted as a failure, and that is all: nothing may stop
        for it."""
        if len(message) > LONGEST_MESSAGE:
            message = f"{message[: LONGEST_MESSAGE - 1]}…"
        key = (about, reason, message)
        try:
            if not await self._again(key):
                await self._first(key, kind)
        except InputError as error:
            self._health.failed(error)

    async def _again(self, key: tuple[ObjectReference, str, str]) -> bool:
        sent = self._sent.get(key)
        if sent is None:
            return False
        content = {"count": sent.count + 1, "lastTimestamp": time_text(self._api.clock.now())}
        try:
            await self._api.patch(sent.path, msgspec.json.encode(content), MERGE)
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            # Events are kept for an hour.
            del self._sent[key]
            return False
        sent.count += 1
        self._sent.move_to_end(key)
        return True

    async def _first(self, key: tuple[ObjectReference, str, str], kind: str) -> None:
        about, reason, message = key
        namespace, now = about.namespace or DEFAULT_NAMESPACE, time_text(self._api.clock.now())
        name = f"{about.name[:200]}.{uuid.uuid4().hex[:16]}"
        content = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "type": kind,
            "source": {"component": self._component, **({"host": self._instance} if self._instance else {})},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        path = f"/api/v1/namespaces/{namespace}/events"
        await self._api.create(path, msgspec.json.encode(content))
        self._sent[key] = _Sent(f"{path}/{name}", 1)
        if len(self._sent) > MOST_REMEMBERED:
            self._sent.popitem(last=False)
