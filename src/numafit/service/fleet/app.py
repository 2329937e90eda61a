"""The page of a whole cluster as one ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router

from numafit.cluster.kube.access import Access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveFleet
from numafit.service.api.guard import Guard, Rules
from numafit.service.api.handlers import json_bytes, json_of
from numafit.service.api.operations import BASE
from numafit.service.api.static import Asset, asset_answer, asset_route, assets, index_for
from numafit.service.api.stream import EventStream
from numafit.service.fleet.board import FleetBoard
from numafit.service.fleet.nodes import OpenNodes
from numafit.service.node import NodeSource
from numafit.service.problem import refused
from numafit.show.records.agent import Health
from numafit.workload.api_server import subdomain_problem

FLEET = f"{BASE}/fleet"
NODES = "/nodes"


class FleetAgent:
    """`app` is what a server runs; `source` opens a node by its name. It has to be made where its event loop runs."""

    def __init__(self, access: Access, source: Callable[[str], NodeSource], rules: Rules | None = None) -> None:
        self.rules = rules or Rules()
        self.api = KubeApi(access)
        self.health = ApiHealth()
        self.live = LiveFleet(self.api, self.health)
        self.board = FleetBoard(self.live)
        self.nodes = OpenNodes(source, self.rules)
        self.app = Guard(None, self.rules, self.board.requests)
        self.app.app = Router(self._routes(), redirect_slashes=False, lifespan=self._lifespan)

    def _routes(self) -> list[BaseRoute]:
        files = assets()
        pages = {"/": index_for(files, shows="fleet"), "/index.html": index_for(files, shows="fleet")}
        found: list[BaseRoute] = [
            Route(FLEET, self.fleet),
            Route(f"{FLEET}/events", EventStream(self.board)),
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route(f"{NODES}/{{name}}/{{rest:path}}", _OfNode(self.nodes, files)),
        ]
        return [*found, *(asset_route(path, asset) for path, asset in {**files, **pages}.items())]

    async def fleet(self, request: Request) -> Response:
        if not self.board.ready:
            raise refused(503, "the cluster has not been read yet", cure="come again", headers={"Retry-After": "1"})
        return json_bytes(self.board.view())

    async def healthz(self, request: Request) -> Response:
        return json_bytes(b'{"status":"ok"}')

    async def readyz(self, request: Request) -> Response:
        if not self.board.ready:
            raise refused(503, self.board.problem or "the cluster has not been read yet")
        return json_of(Health("ok", self.board.problem))

    @asynccontextmanager
    async def _lifespan(self, _app: Any) -> AsyncIterator[None]:
        async with self.running():
            yield

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The cluster is followed."""
        parts = (self.live.run(), self.board.run(), self.board.watch(), self.nodes.tidy())
        tasks = [asyncio.create_task(own) for own in parts]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task
            self.api.close()

    def end(self) -> None:
        """All streams end, so that a server can stop."""
        self.board.broadcast.close()
        self.nodes.end()


class _OfNode:
    """An ASGI application: what is asked of one node is handed to its agent, by the path behind its name."""

    def __init__(self, nodes: OpenNodes, files: dict[str, Asset]) -> None:
        self.nodes, self.files = nodes, files

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        name, rest = scope["path_params"]["name"], scope["path_params"]["rest"]
        if subdomain_problem(name):
            raise refused(404, "no node can be called so")
        if rest in ("", "index.html"):
            page = index_for(self.files, shows="node", base=f"{NODES}/{name}")
            await asset_answer(Request(scope), page)(scope, receive, send)
            return
        node = await self.nodes.node(name)
        node.users += 1
        try:
            inner = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}
            await node.agent.app.app(inner, receive, send)
        finally:
            node.users -= 1
