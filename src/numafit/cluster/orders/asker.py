"""The side of the command: a switch is ordered, its plan is read and approved, its log is followed."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import msgspec

from numafit.cluster.kube.api import MERGE, KubeApi
from numafit.cluster.orders.order import OrderMap, SwitchWish, order_name, orders_path
from numafit.cluster.orders.words import (
    APPROVED,
    CHOICES,
    CONFIG,
    DIGEST,
    LOG,
    OVER,
    PLANNED,
    PLANNING,
    STATUS,
    UNDO,
    UNFINISHED,
)
from numafit.cluster.switch.server import persistently
from numafit.errors import ApiServerError, InputError

PAUSE = 0.5
"""Seconds between two looks at the order."""
ANSWER_SECONDS = 20.0
"""In which an agent that takes orders has said so."""
PLAN_SECONDS = 180.0


class OrderAsker:
    def __init__(self, api: KubeApi, namespace: str, node: str) -> None:
        self.api, self.node, self.namespace = api, node, namespace
        self.name = order_name(node)
        self._folder = orders_path(namespace)
        self._path = f"{self._folder}/{self.name}"

    async def order(self, config: str, wish: SwitchWish) -> OrderMap:
        """With its plan, or its refusal. Where nobody answers the order is taken back."""
        before = await self._found()
        if before is not None and before.status in OVER:
            await self.remove()
        elif before is not None:
            state = before.status or "not seen by its agent"
            cure = f"--continue follows it, --undo brings back what ran before; or kubectl delete configmap {self.name}"
            raise InputError(f"there is an order already, {state}", source=self.name, cure=cure)
        data = {CHOICES: msgspec.json.encode(wish).decode(), **({CONFIG: config} if config else {})}
        content = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": self.name}, "data": data}
        await self.api.create(self._folder, msgspec.json.encode(content))
        try:
            return await self.planned()
        except BaseException:
            await asyncio.shield(self.remove())
            raise

    async def planned(self) -> OrderMap:
        await self._until(lambda order: bool(order.status), ANSWER_SECONDS)
        return await self._until(lambda order: order.status != PLANNING, PLAN_SECONDS)

    async def approve(self, plan: OrderMap) -> OrderMap:
        """The order as it goes on: at work, or planned anew, since the node has changed meanwhile."""
        digest = plan.said(DIGEST)
        await self._write({APPROVED: digest})
        try:
            return await self._until(
                lambda order: order.status not in (PLANNED, PLANNING) or order.said(DIGEST) != digest, PLAN_SECONDS
            )
        except InputError:
            # Nobody wants it to begin hours later.
            await self._write({APPROVED: None})
            raise

    async def go_on(self, *, undo: bool) -> OrderMap:
        """An order that was made before; one that waits for a word gets it."""
        order = await self._found()
        if order is None:
            why = f"there is no order for {self.node} in the namespace {self.namespace}"
            raise InputError(why, source=self.name, cure="--namespace names another one")
        if order.status in OVER:
            return order
        words: dict[str, str | None] = {UNDO: "true"} if undo else {}
        if order.status == UNFINISHED:
            words[STATUS] = None
        if words:
            await self._write(words)
            await self._until(lambda one: one.status not in ("", UNFINISHED), ANSWER_SECONDS)
        return await self._until(lambda one: one.status != PLANNING, PLAN_SECONDS)

    async def followed(self, say: Callable[[str], None]) -> OrderMap:
        """Until its end, or until it waits for somebody; each line of its log is said once."""
        said: set[str] = set()
        while True:
            order = await self._now()
            for line in order.said(LOG).splitlines():
                if line not in said:
                    say(line)
                    said.add(line)
            if order.status in (*OVER, UNFINISHED) or (order.status == PLANNED and not order.undo):
                return order
            await asyncio.sleep(PAUSE)

    async def remove(self) -> None:
        async def gone() -> None:
            try:
                await self.api.delete(self._path)
            except ApiServerError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise

        await persistently(gone)

    # --- the order ----------------------------------------------------------------------------------------------------

    async def _until(self, holds: Callable[[OrderMap], bool], seconds: float) -> OrderMap:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            order = await self._now()
            if holds(order):
                return order
            if loop.time() > end:
                why = f"no agent of node {self.node} has answered within {seconds:g} s"
                cure = f"does numafit node-agent run there with --allow-switch, for the namespace {self.namespace}?"
                raise InputError(why, source=self.name, cure=cure)
            await asyncio.sleep(PAUSE)

    async def _now(self) -> OrderMap:
        order = await self._found()
        if order is None:
            why = "somebody has removed the order; what had been begun is brought to its end all the same"
            raise InputError(why, source=self.name, cure="the log of the node's agent tells")
        return order

    async def _found(self) -> OrderMap | None:
        async def asked() -> OrderMap | None:
            try:
                return msgspec.json.decode(await self.api.get(self._path), type=OrderMap)
            except ApiServerError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                return None

        return await persistently(asked)

    async def _write(self, words: dict[str, str | None]) -> None:
        """None removes one."""

        def written() -> Awaitable[bytes]:
            return self.api.patch(self._path, msgspec.json.encode({"data": words}), MERGE)

        await persistently(written)
