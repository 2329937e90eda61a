"""One node of the fleet, opened: a whole agent of its own, which ends when nobody has looked for a while."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

from numafit.service.api.guard import Rules
from numafit.service.app import Agent
from numafit.service.node import NodeSource
from numafit.service.problem import refused

MOST_OPEN = 16
IDLE_SECONDS = 120.0


class OpenNode:
    def __init__(self, agent: Agent, stack: AsyncExitStack) -> None:
        self.agent, self.stack = agent, stack
        self.users = 0
        """Requests under way: streams among them."""
        self.seen = time.monotonic()

    @property
    def idle(self) -> bool:
        return not self.users and time.monotonic() - self.seen > IDLE_SECONDS


class OpenNodes:
    """`source` makes the source of a node by its name; it may take a while and raise errors of `errors`."""

    def __init__(self, source: Callable[[str], NodeSource], rules: Rules) -> None:
        self._source, self._rules = source, rules
        self._open: dict[str, OpenNode] = {}
        self._opening: dict[str, asyncio.Lock] = {}

    async def node(self, name: str) -> OpenNode:
        async with self._opening.setdefault(name, asyncio.Lock()):
            found = self._open.get(name)
            if found is None:
                await self._make_room()
                found = self._open[name] = await self._opened(name)
        found.seen = time.monotonic()
        return found

    async def _opened(self, name: str) -> OpenNode:
        source = await asyncio.to_thread(self._source, name)
        agent, stack = Agent(source, self._rules), AsyncExitStack()
        await stack.enter_async_context(agent.running())
        return OpenNode(agent, stack)

    async def _make_room(self) -> None:
        if len(self._open) < MOST_OPEN:
            return
        idle = [(own.seen, name) for name, own in self._open.items() if not own.users]
        if not idle:
            cure = "close one of their pages"
            raise refused(503, f"{MOST_OPEN} nodes are looked at already", cure=cure, headers={"Retry-After": "10"})
        await self._close(min(idle)[1])

    async def _close(self, name: str) -> None:
        own = self._open.pop(name, None)
        self._opening.pop(name, None)
        if own is not None:
            own.agent.board.broadcast.close()
            await own.stack.aclose()

    async def tidy(self) -> None:
        """Until it is cancelled; then all are closed."""
        try:
            while True:
                await asyncio.sleep(IDLE_SECONDS / 4)
                await self.close_idle()
        finally:
            for name in list(self._open):
                await self._close(name)

    async def close_idle(self) -> None:
        for name in [name for name, own in self._open.items() if own.idle]:
            await self._close(name)

    def names(self) -> list[str]:
        """Of those that are open."""
        return sorted(self._open)

    def end(self) -> None:
        """All streams end, so that a server can stop."""
        for own in self._open.values():
            own.agent.board.broadcast.close()
