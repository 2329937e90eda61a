"""What the agent says of an order, in that order; nothing that it does waits for it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus

import msgspec

from numafit.cluster.kube.api import MERGE, KubeApi
from numafit.cluster.kube.pace import Backoff
from numafit.cluster.orders.order import OrderMap, orders_path
from numafit.errors import ApiServerError, InputError

FLUSH_SECONDS = 60.0
"""For the last words: an order that is not told of its end is told by the next look at the journal."""


class OrderBoard:
    def __init__(self, api: KubeApi, order: OrderMap, say: Callable[[str], None]) -> None:
        self.api, self.say = api, say
        own = order.metadata
        self._uid = own.uid
        self._path = f"{orders_path(own.namespace)}/{own.name}"
        self._waiting: dict[str, str] = {}
        self._wake = asyncio.Event()
        self._said = ""
        self.gone = False
        """Somebody has removed the order."""

    def post(self, words: Mapping[str, str]) -> None:
        """The newest of each counts."""
        self._waiting |= words
        self._wake.set()

    async def write(self, words: Mapping[str, str]) -> None:
        """Until it is there, or nobody has answered for long."""
        self.post(words)
        with suppress(TimeoutError):
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._write_all()

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._wake.wait()
            await self._write_all()

    async def _write_all(self) -> None:
        backoff = Backoff(longest=5.0)
        while self._waiting and not self.gone:
            words = dict(self._waiting)
            # With its UID: another order of this name is not meant.
            content = msgspec.json.encode({"metadata": {"uid": self._uid}, "data": words})
            try:
                await self.api.patch(self._path, content, MERGE)
            except ApiServerError as error:
                self.gone = error.status in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT)
                self._trouble(str(error))
            except InputError as error:
                self._trouble(str(error))
            else:
                self._waiting = {key: text for key, text in self._waiting.items() if words.get(key) != text}
                continue
            await asyncio.sleep(backoff.seconds())
        self._wake.clear()

    def _trouble(self, why: str) -> None:
        """Once."""
        if why != self._said:
            self.say(f"the order is not told of it: {why}")
        self._said = why
