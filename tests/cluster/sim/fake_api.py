"""An API server that is no server: what is asked is kept, and answered as a test says."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, NamedTuple

from numafit.cluster.kube.access import Access, ClusterEntry, UserEntry
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.clock import ServerClock
from numafit.errors import ApiServerError


class Asked(NamedTuple):
    method: str
    path: str
    content: Any


class FakeApi(KubeApi):
    def __init__(self) -> None:
        self.access = Access("fake", ClusterEntry(server="https://fake"), UserEntry())
        self.clock = ServerClock()
        self.asked: list[Asked] = []
        self.failures: list[tuple[str, int]] = []
        """(how the path ends, status): each fails one request."""
        self.lists: dict[str, list[Any]] = {}
        self.told: asyncio.Queue[bytes] = asyncio.Queue()
        self.nodes_told: asyncio.Queue[bytes] = asyncio.Queue()
        self.topologies_told: asyncio.Queue[bytes] = asyncio.Queue()
        self.hold = asyncio.Event()
        """While it is not set, changes wait."""
        self.hold.set()

    def close(self) -> None:
        pass

    def paths(self, method: str) -> list[str]:
        return [own.path for own in self.asked if own.method == method]

    def tell(self, kind: str, item: Any) -> None:
        self.told.put_nowait(json.dumps({"type": kind, "object": item}).encode())

    async def _asked(
        self, method: str, path: str, parameters: Mapping[str, str], content: bytes = b"", kind: str = ""
    ) -> bytes:
        if method != "GET":
            await self.hold.wait()
        await asyncio.sleep(0)
        for failure in self.failures:
            if path.endswith(failure[0]):
                self.failures.remove(failure)
                raise ApiServerError("no", status=failure[1])
        self.asked.append(Asked(method, path, json.loads(content) if content else None))
        if method == "GET":
            found = {"metadata": {"resourceVersion": "1"}, "items": self.lists.get(path, [])}
            return json.dumps(found).encode()
        if method == "POST" and path.endswith("/nodes"):
            return json.dumps({"metadata": {"name": json.loads(content)["metadata"]["name"], "uid": "u"}}).encode()
        return b"{}"

    async def lines(
        self, path: str, parameters: Mapping[str, str], rest: float = 0.0, begun: Callable[[], None] | None = None
    ) -> AsyncGenerator[bytes, None]:
        while True:
            queues = {"nodes": self.nodes_told, "nodetopologies": self.topologies_told}
            yield await queues.get(path.rpartition("/")[2], self.told).get()
