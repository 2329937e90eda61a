"""The node at the API server: closed and opened for pods, emptied, and asked whether its kubelet is well.

The rights that are needed: get and patch nodes, list pods, create pods/eviction.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar

import msgspec

from numafit.cluster.kube.api import MERGE, KubeApi
from numafit.cluster.kube.objects import NODES, PODS, ObjectMeta
from numafit.cluster.kube.pace import Backoff
from numafit.cluster.switch.drain import BoundPods, PodOnNode
from numafit.errors import ApiServerError, InputError

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds in which an API server that does not answer is asked again."""
BOOT_ID, MACHINE_ID = "proc/sys/kernel/random/boot_id", "etc/machine-id"


class NodeCondition(msgspec.Struct, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    lastHeartbeatTime: str = ""


class NodeConditions(msgspec.Struct, frozen=True):
    conditions: tuple[NodeCondition, ...] = ()


class NodeCordon(msgspec.Struct, frozen=True):
    unschedulable: bool = False


class WatchedNode(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: NodeCordon = NodeCordon()
    status: NodeConditions = NodeConditions()


class _NodeInfo(msgspec.Struct, frozen=True):
    bootID: str = ""
    machineID: str = ""


class _TellsInfo(msgspec.Struct, frozen=True):
    nodeInfo: _NodeInfo = _NodeInfo()


class _ToldNode(msgspec.Struct, frozen=True):
    status: _TellsInfo = _TellsInfo()


def refuse_another_machine(node: bytes, name: str, root: Path = Path("/")) -> None:
    """Raises InputError for a Node that is not that of this machine: one would be drained and another one changed.

    A kubelet that has not run since the machine was started tells an old boot id, and the same machine id.
    """
    info = msgspec.json.decode(node, type=_ToldNode).status.nodeInfo
    pairs = [(told, _id(root / path)) for told, path in ((info.bootID, BOOT_ID), (info.machineID, MACHINE_ID))]
    # What is shorter is no id of Linux, and tells nothing.
    known = [told == here for told, here in pairs if here and len(told) == len(here)]
    if known and not any(known):
        cure = "name that of this machine; of another one --dry-run with --machine shows a plan"
        raise InputError(f"{name} is another machine than this one: boot ids differ", source="--node", cure=cure)


def _id(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


class NodeAtServer:
    def __init__(self, api: KubeApi, name: str) -> None:
        self.api, self.name = api, name
        self.path = f"{NODES}/{name}"

    async def object(self) -> bytes:
        """The Node, as it is told."""
        return await self.api.get(self.path)

    async def node(self) -> WatchedNode:
        return msgspec.json.decode(await self.object(), type=WatchedNode)

    async def listed(self) -> bytes:
        """Its pods, as one list."""
        pages = self.api.pages(PODS, {"fieldSelector": f"spec.nodeName={self.name}"})
        items = [item async for page in pages for item in page.items or ()]
        return msgspec.json.encode({"apiVersion": "v1", "kind": "PodList", "items": items})

    async def pods(self) -> tuple[PodOnNode, ...]:
        return msgspec.json.decode(await self.listed(), type=BoundPods).items

    async def cordon(self, cordoned: bool) -> None:
        async def patched() -> bytes:
            content = {"spec": {"unschedulable": True if cordoned else None}}
            return await self.api.patch(self.path, msgspec.json.encode(content), MERGE)

        await persistently(patched)

    async def evict(self, pod: PodOnNode) -> None:
        """Raises DisruptionBudgetError where it may not go now. One that is gone is no error."""
        own = pod.metadata
        content = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": own.name, "namespace": own.namespace},
            "deleteOptions": {"preconditions": {"uid": own.uid}},
        }
        try:
            await self.api.create(
                f"/api/v1/namespaces/{own.namespace}/pods/{own.name}/eviction", msgspec.json.encode(content)
            )
        except ApiServerError as error:
            # Another one has its name by now.
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise

    async def ready_since(self, begin: str) -> str:
        """Empty where its kubelet has said since then, or ever, that it is ready; else what is the matter."""
        ready = next((each for each in (await self.node()).status.conditions if each.type == "Ready"), None)
        if ready is None or not ready.lastHeartbeatTime:
            return "its kubelet has not told its condition yet"
        # Heartbeats have whole seconds.
        if begin and _time(ready.lastHeartbeatTime) < _time(begin).replace(microsecond=0):
            return "nothing was heard of its kubelet since it was started"
        return "" if ready.status == "True" else f"it is not ready: {ready.message or ready.reason}"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def passes_by(error: ApiServerError) -> bool:
    """What may be better in a while: nobody answers, or somebody who is busy."""
    return error.status in (0, HTTPStatus.TOO_MANY_REQUESTS) or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR


async def persistently(ask: Callable[[], Awaitable[T]]) -> T:
    """Only for what can be done twice."""
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + PATIENCE, Backoff(longest=5.0)
    while True:
        try:
            return await ask()
        except ApiServerError as error:
            if not passes_by(error) or loop.time() > end:
                raise
        await asyncio.sleep(pause.seconds())
