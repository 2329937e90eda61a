"""A cluster that is played: a book, and an API server that is no server and does what a test says."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.clock import ServerClock
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.fleet import LiveChange
from numafit.cluster.live.pods import NOTHING, ClusterPod
from numafit.cluster.live.spec import PodShapes
from numafit.cluster.place.counts import PlaceCounts
from numafit.cluster.place.placer import Placer, PlacerOptions
from numafit.errors import ApiServerError
from tests.cluster.kube.scripted_server import NOWHERE, eventually

SHAPES = PodShapes()
AFFINITY = ("add", "/spec/affinity")


class PlayedFleet(FleetBook):
    """A book that tells of changes, as LiveFleet does."""

    def __init__(self) -> None:
        super().__init__()
        self.synced = asyncio.Event()
        self.synced.set()
        self.heard: list[Callable[[LiveChange], None]] = []
        self.values: dict[str, dict[str, Any]] = {}
        """UID -> the pod as an API server would send it."""

    def listen(self, heard: Callable[[LiveChange], None]) -> None:
        self.heard.append(heard)

    def say(self, change: LiveChange) -> None:
        for heard in self.heard:
            heard(change)

    def tell(self, pod: ClusterPod) -> None:
        self.pod_told(pod)
        self.say(LiveChange("pod", pod.uid, pod))

    def bind(self, uid: str, node: str) -> None:
        self.tell(replace(self.pods[uid], node=node, gates=(), spec=NOTHING))

    def end(self, uid: str) -> None:
        pod = self.pod_gone(uid, 0.0)
        self.say(LiveChange("gone", uid, pod))

    def node(self, name: str) -> None:
        self.say(LiveChange("node", name))

    def reject(self, uid: str, node: str, reason: str = "TopologyAffinityError") -> None:
        pod = replace(self.pods[uid], node=node, phase="Failed", reason=reason, message="no", gates=())
        self.rejected(pod)
        self.say(LiveChange("failed", uid, pod))


class PlayedRequest(NamedTuple):
    method: str
    path: str
    content: Any
    kind: str


class PlayedApi(KubeApi):
    """Releases are seen by the fleet at once; `refuse` says which request fails, and how."""

    def __init__(self, fleet: PlayedFleet) -> None:
        self.access, self.clock = NOWHERE, ServerClock()
        self.fleet = fleet
        self.requests: list[PlayedRequest] = []
        self.refuse: Callable[[PlayedRequest], int | None] = lambda _: None
        self.hold = asyncio.Event()
        """While it is not set, releases wait."""
        self.hold.set()
        self.lost_answers = 0
        """So many releases are done, and nobody hears of it."""
        self.objects: dict[str, Any] = {}
        """How a path ends -> what is there."""
        self.unseen = False
        """Nobody has heard of releases yet."""
        self.binds = False
        """The scheduler takes the first name at once."""

    def close(self) -> None:
        pass

    async def _asked(
        self, method: str, path: str, parameters: Mapping[str, str], content: bytes = b"", kind: str = ""
    ) -> bytes:
        asked = PlayedRequest(method, path, json.loads(content) if content else None, kind)
        self.requests.append(asked)
        await asyncio.sleep(0)
        release = method == "PATCH" and "json-patch" in kind
        if release:
            await self.hold.wait()
        status = self.refuse(asked)
        if status is not None:
            raise ApiServerError("no", status=status)
        if release:
            self._released(asked)
            if self.lost_answers:
                self.lost_answers -= 1
                raise ApiServerError("nobody answers", status=0)
        if path.endswith("/status") and method == "PATCH":
            return self._present(path)
        if method == "GET":
            for end, value in self.objects.items():
                if path.endswith(end):
                    return json.dumps(value).encode()
            return self._present(path)
        if method == "DELETE":
            self._deleted(asked)
        return b"{}"

    def _pod(self, path: str) -> ClusterPod:
        name = path.removesuffix("/status").rpartition("/")[2]
        for pod in self.fleet.pods.values():
            if pod.metadata.name == name:
                return pod
        raise ApiServerError("not found", status=HTTPStatus.NOT_FOUND)

    def _present(self, path: str) -> bytes:
        pod = self._pod(path)
        meta = {"name": pod.metadata.name, "uid": pod.uid, "resourceVersion": pod.metadata.resourceVersion}
        spec = {"schedulingGates": [{"name": gate} for gate in pod.gates], "nodeName": pod.node}
        return json.dumps({"metadata": meta, "spec": spec}).encode()

    def _released(self, asked: PlayedRequest) -> None:
        pod = self._pod(asked.path)
        tests = {own["path"]: own["value"] for own in asked.content if own["op"] == "test"}
        if tests["/metadata/uid"] != pod.uid or [own["name"] for own in tests["/spec/schedulingGates"]] != list(
            pod.gates
        ):
            raise ApiServerError("the test failed", status=HTTPStatus.UNPROCESSABLE_ENTITY)
        if self.unseen:
            return
        added = {}
        for own in asked.content:
            if own["path"] == "/metadata/annotations" and own["op"] == "add":
                added = own["value"]
            elif own["path"].startswith("/metadata/annotations/"):
                added = {own["path"].rpartition("/")[2].replace("~1", "/"): own["value"]}
        annotations = {**pod.metadata.annotations, **added}
        spec = json.loads(bytes(pod.spec))
        for own in asked.content:
            if (own["op"], own["path"]) == AFFINITY:
                spec["affinity"] = own["value"]
        raw = msgspec.Raw(json.dumps(spec).encode())
        narrowed = SHAPES.pod(raw, pod.metadata.name, pod.metadata.namespace, pod.uid)
        meta = replace(pod.metadata, annotations=annotations)
        self.fleet.tell(replace(pod, gates=(), metadata=meta, spec=raw, pod=narrowed))
        if self.binds and annotations.get("numafit.io/nodes"):
            self.fleet.bind(pod.uid, annotations["numafit.io/nodes"].split(",")[0])

    def _deleted(self, asked: PlayedRequest) -> None:
        pod = self._pod(asked.path)
        wanted = asked.content["preconditions"]
        if wanted != {"uid": pod.uid, "resourceVersion": pod.metadata.resourceVersion}:
            raise ApiServerError("conflict", status=HTTPStatus.CONFLICT)
        self.fleet.end(pod.uid)

    # --- what was asked ---

    @property
    def releases(self) -> list[str]:
        """Names of the pods whose release was tried, in order."""
        return [
            own.path.rpartition("/")[2] for own in self.requests if own.method == "PATCH" and "json-patch" in own.kind
        ]

    @property
    def conditions(self) -> list[tuple[str, dict[str, str]]]:
        return [
            (own.path.split("/")[-2], own.content["status"]["conditions"][0])
            for own in self.requests
            if own.path.endswith("/status")
        ]

    def excluded(self, name: str) -> list[str]:
        """Nodes that a pod without terms of its own was released without."""
        (release,) = [own for own in self.requests if "json-patch" in own.kind and own.path.endswith(f"/{name}")]
        (affinity,) = [own["value"] for own in release.content if (own["op"], own["path"]) == AFFINITY]
        (term,) = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        ((rule,),) = term.values()
        assert (rule["key"], rule["operator"]) == ("kubernetes.io/hostname", "NotIn")
        return list(rule["values"])

    @property
    def events(self) -> list[tuple[str, str, str]]:
        return [
            (own.content["involvedObject"]["name"], own.content["reason"], own.content["message"])
            for own in self.requests
            if own.method == "POST" and own.path.endswith("/events")
        ]


class Play:
    """A placer that leads."""

    def __init__(self, fleet: PlayedFleet, options: PlacerOptions | None = None) -> None:
        self.fleet, self.api, self.counts, self.said = fleet, PlayedApi(fleet), PlaceCounts(), list[str]()
        options = options or PlacerOptions()
        self.placer = Placer(self.api, fleet, options, ApiHealth(), self.counts, self.said.append)
        self.task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Play":
        self.task = asyncio.create_task(self.placer.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self.task is not None
        self.task.cancel()
        done = await asyncio.gather(self.task, return_exceptions=True)
        for error in done:
            if isinstance(error, Exception):
                raise error

    def names(self, uid: str) -> tuple[str, ...]:
        """That the pod was offered, as its annotation tells it."""
        return self.fleet.pods[uid].offered

    async def until(self, holds: Callable[[], bool]) -> None:
        await eventually(lambda: self.ended() or holds())

    def ended(self) -> bool:
        assert self.task is not None
        if self.task.done():
            self.task.result()
        return False


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 60))
