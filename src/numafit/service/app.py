"""The agent as one ASGI application: the API, the page, the metrics, and the source that feeds the board."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
from starlette.routing import BaseRoute, Route, Router

from numafit.errors import NumafitError
from numafit.service.api.docs import STYLE, STYLE_PATH, docs_html
from numafit.service.api.guard import Guard, Rules
from numafit.service.api.handlers import Api
from numafit.service.api.openapi import PATH, document
from numafit.service.api.operations import OPERATIONS, Operation
from numafit.service.api.static import MEDIA_TYPES, Asset, asset_route, assets
from numafit.service.api.stream import EventStream
from numafit.service.board import Board
from numafit.service.node import NodeSource
from numafit.service.recent import USE_SECONDS
from numafit.service.workers.pool import Pool
from numafit.show.records.time import now_text

RETRY_SECONDS = 5.0
"""After a source could not be read."""


class Agent:
    """`app` is what a server runs."""

    def __init__(self, source: NodeSource, rules: Rules | None = None) -> None:
        self.source = source
        self.rules = rules or Rules()
        self.board = Board(source.place, metered=source.meter is not None)
        self.pool = Pool(lambda: self.board.snapshot)
        self.app = Guard(None, self.rules, self.board.requests)
        self.api = Api(self.board, self.pool, source.leases, self.app.writer)
        self.app.app = Router(self._routes(), redirect_slashes=False, lifespan=self._lifespan)

    def _routes(self) -> list[BaseRoute]:
        found: list[BaseRoute] = [
            Route(operation.path, self._handler(operation), methods=[operation.method]) for operation in OPERATIONS
        ]
        content = document()
        made = {
            PATH: Asset(msgspec.json.encode(content), "application/json"),
            "/api/docs": Asset(docs_html(content).encode(), MEDIA_TYPES[".html"]),
            STYLE_PATH: Asset(STYLE.encode(), MEDIA_TYPES[".css"]),
        }
        found += [asset_route(path, asset) for path, asset in {**made, **assets()}.items()]
        return found

    def _handler(self, operation: Operation) -> Any:
        """What starlette takes: a coroutine function or an ASGI application."""
        if operation.handler == "events":
            return EventStream(self.board)
        own = getattr(self.api, operation.handler, None)
        return own or self.api.asks(operation.handler)

    @asynccontextmanager
    async def _lifespan(self, _app: Any) -> AsyncIterator[None]:
        async with self.running():
            yield

    def end(self) -> None:
        """All streams end, so that a server can stop."""
        self.board.broadcast.close()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The source is followed, and questions are answered."""
        tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._measure())]
        self.pool.start()
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.pool.stop()

    async def _measure(self) -> None:
        """Reads how busy the machine is, where the source has a meter for it. A reading that fails leaves a gap."""
        meter = self.source.meter
        while meter is not None:
            with suppress(NumafitError, OSError):
                self.board.recent.add(await asyncio.to_thread(meter.read), now_text())
            await asyncio.sleep(USE_SECONDS)

    async def _follow(self) -> None:
        """A source that cannot be read is asked again; what was read last stays shown."""
        while True:
            try:
                async for change in self.source.changes():
                    self._warn(change.warning)
                    self.board.apply(change)
            except (NumafitError, OSError) as error:
                self._stalled(str(error))
            except Exception as error:
                # Without this the task would end in silence, and a picture that no longer changes would look alive.
                self._stalled(f"this is a bug in numafit: {type(error).__name__}: {error}")
            await asyncio.sleep(RETRY_SECONDS)

    def _stalled(self, message: str) -> None:
        self._warn(message)
        self.board.doubt(message)

    def _warn(self, message: str) -> None:
        """Once, however often it is met."""
        if message and message != self.board.problem:
            print(f"numafit: {message}", file=sys.stderr, flush=True)
