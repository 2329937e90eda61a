"""ConfigMaps in memory, with a watch; whoever takes part may be told of each change."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.clock import ServerClock
from numafit.errors import ApiServerError
from tests.cluster.kube.scripted_server import NOWHERE

Json = dict[str, Any]
FOLDER = "/api/v1/namespaces/numafit/configmaps"
NODE = "gpu-1"
NAME = f"numafit-switch-{NODE}"


class OrderServer(KubeApi):
    def __init__(self) -> None:
        self.access, self.clock = NOWHERE, ServerClock()
        self.maps: dict[str, Json] = {}
        self.refusals: list[int] = []
        """Statuses, one for each patch to come."""
        self.react: Callable[[Json], None] = lambda _: None
        """An agent of few words: it is told the data of an order that was written."""
        self.removed = 0
        self._version = 0
        self._watches: list[asyncio.Queue[bytes]] = []

    @property
    def data(self) -> Json:
        """Of the order; empty where there is none."""
        found: Json = self.maps.get(NAME, {}).get("data", {})
        return found

    def order(self, **data: str) -> None:
        """As somebody with kubectl does it."""
        self._add({"metadata": {"name": NAME}, "data": data})

    def say(self, **data: str | None) -> None:
        self._merge(NAME, data)

    # --- the API ------------------------------------------------------------------------------------------------------

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        if path == FOLDER:
            listed = {"metadata": {"resourceVersion": str(self._version)}, "items": list(self.maps.values())}
            return json.dumps(listed).encode()
        return json.dumps(self.maps[self._name(path)]).encode()

    async def create(self, path: str, content: bytes) -> bytes:
        self._add(json.loads(content))
        self.react(self.data)
        return b"{}"

    async def patch(
        self, path: str, content: bytes, kind: str = "", parameters: Mapping[str, str] | None = None
    ) -> bytes:
        if self.refusals:
            raise ApiServerError("refused", status=self.refusals.pop(0))
        name, words = self._name(path), json.loads(content)
        uid = words.get("metadata", {}).get("uid")
        if uid and uid != self.maps[name]["metadata"]["uid"]:
            raise ApiServerError("another UID", status=409)
        self._merge(name, words["data"])
        if not uid:
            self.react(self.data)
        return b"{}"

    async def delete(self, path: str, content: bytes = b"", parameters: Mapping[str, str] | None = None) -> bytes:
        self.removed += 1
        self._tell("DELETED", self.maps.pop(self._name(path)))
        return b"{}"

    async def lines(
        self, path: str, parameters: Mapping[str, str], rest: float = 0.0, begun: Callable[[], None] | None = None
    ) -> AsyncGenerator[bytes, None]:
        changes: asyncio.Queue[bytes] = asyncio.Queue()
        self._watches.append(changes)
        while True:
            yield await changes.get()

    def close(self) -> None:
        pass

    # --- what is behind it --------------------------------------------------------------------------------------------

    def _name(self, path: str) -> str:
        name = path.removeprefix(f"{FOLDER}/")
        if name not in self.maps:
            raise ApiServerError("is not there", status=404)
        return name

    def _add(self, own: Json) -> None:
        name = own["metadata"]["name"]
        assert name not in self.maps
        own["metadata"] |= {"namespace": "numafit", "uid": f"uid-{self._version}"}
        self.maps[name] = own
        self._tell("ADDED", own)

    def _merge(self, name: str, words: Mapping[str, str | None]) -> None:
        own = self.maps[name]
        data = {**own.get("data", {}), **words}
        own["data"] = {key: text for key, text in data.items() if text is not None}
        self._tell("MODIFIED", own)

    def _tell(self, kind: str, own: Json) -> None:
        self._version += 1
        own["metadata"]["resourceVersion"] = str(self._version)
        for watch in self._watches:
            watch.put_nowait(json.dumps({"type": kind, "object": own}).encode())


async def eventually(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.01)
