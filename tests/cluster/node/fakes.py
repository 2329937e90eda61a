"""An API server in memory, and pods as one tells of them."""

import json
import zlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.clock import ServerClock
from numafit.cluster.node.pods import NodePod
from numafit.errors import ApiServerError
from tests.cluster.kube.scripted_server import NOWHERE

Json = dict[str, Any]


class FakeApi(KubeApi):
    """`objects`: path -> what is there. `refusals`: statuses, one for each request to come."""

    def __init__(self) -> None:
        self.access, self.clock = NOWHERE, ServerClock()
        self.objects: dict[str, Json] = {}
        self.refusals: list[int] = []
        self.forbidden: set[str] = set()
        self.asked: Counter[str] = Counter()
        self.created: list[Json] = []

    def _ask(self, method: str, path: str) -> None:
        self.asked[f"{method} {path}"] += 1
        if path in self.forbidden:
            raise ApiServerError("is forbidden", status=403)
        if self.refusals:
            raise ApiServerError("refused", status=self.refusals.pop(0))

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> bytes:
        self._ask("GET", path)
        if path not in self.objects:
            raise ApiServerError("is not there", status=404)
        return json.dumps(self.objects[path]).encode()

    async def apply(self, path: str, content: bytes, manager: str, *, force: bool = False) -> bytes:
        self._ask("APPLY", path)
        self.objects[path] = json.loads(content)
        # The same once more changes nothing.
        version = str(zlib.crc32(content))
        self.objects[path]["metadata"] |= {"managedFields": [{"manager": manager}], "resourceVersion": version}
        return json.dumps(self.objects[path]).encode()

    async def patch(
        self, path: str, content: bytes, kind: str = "", parameters: Mapping[str, str] | None = None
    ) -> bytes:
        self._ask("PATCH", path)
        own = self.objects.setdefault(path, {"metadata": {}})
        own["metadata"].setdefault("annotations", {}).update(json.loads(content)["metadata"]["annotations"])
        return content

    async def create(self, path: str, content: bytes) -> bytes:
        self._ask("POST", path)
        self.created.append(json.loads(content))
        return content

    async def lines(
        self, path: str, parameters: Mapping[str, str], rest: float = 0.0, begun: Callable[[], None] | None = None
    ) -> AsyncGenerator[bytes, None]:
        raise ApiServerError("nothing is watched here")
        yield b""


def pod_object(name: str, uid: str, *, status: Json | None = None, created: str = "", **meta: Any) -> Json:
    limits = {"cpu": "1", "memory": "1Gi"}
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "uid": uid,
            "resourceVersion": json.dumps([uid, status, meta]),
            "creationTimestamp": created,
            **meta,
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "resources": {"limits": limits}}]},
        "status": status or {},
    }


def node_pod(name: str, uid: str, **more: Any) -> NodePod:
    return msgspec.json.decode(json.dumps(pod_object(name, uid, **more)), type=NodePod)


RUNNING: Json = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "containerStatuses": [{"name": "main"}]}
ENDED: Json = {**RUNNING, "phase": "Succeeded"}
REFUSED: Json = {
    "phase": "Failed",
    "reason": "TopologyAffinityError",
    "message": "Pod was rejected: Resources cannot be allocated with Topology locality",
    "startTime": "2026-01-01T00:00:00Z",
}
