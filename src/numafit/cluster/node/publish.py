"""The NodeTopology of a node, kept as it is: written when something has changed, at most once a second, and again when
somebody deletes or changes it. Each change is told on the Node, too, so that a scheduler tries pods again."""

import asyncio
import time
from collections.abc import Callable
from http import HTTPStatus

import msgspec

from numafit.cluster.kube.api import MERGE, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import NODES, ObjectJson, ObjectMeta, node_owner
from numafit.cluster.kube.pace import Backoff
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.node.learn import KnownNode
from numafit.cluster.topology.model import AGENT, GROUP, PATH, NodeTopology
from numafit.errors import ApiServerError, InputError
from numafit.notes import Note

ANNOTATION = f"{GROUP}/state"
"""On the Node: the digest of the state that was published last."""
PACE_SECONDS = 1.0
"""Between two writings."""


class PublishedState(msgspec.Struct, frozen=True):
    digest: str = ""
    notes: tuple[Note, ...] = ()
    numafit: str = ""


class PublishedTopology(msgspec.Struct, frozen=True):
    """As much of it as tells whether it has to be written."""

    metadata: ObjectMeta
    status: PublishedState = PublishedState()


class Publisher:
    """`offer` says how the node stands now; `run` writes the newest."""

    def __init__(self, api: KubeApi, name: str, health: ApiHealth, say: Callable[[str], None]) -> None:
        self.api, self.name, self.say = api, name, say
        self.health = health
        self.written = 0
        self.failed = 0
        self.digest = ""
        """Of what was published last."""
        self._version = ""
        """Of the object as it was when it was written last: another one was written by others."""
        self._wake = asyncio.Event()
        self._offered: tuple[NodeTopology, KnownNode] | None = None
        self._annotated = ""
        self._trouble = ""
        self.seen = Reflector(
            api,
            PATH,
            PublishedTopology,
            self._changed,
            parameters={"fieldSelector": f"metadata.name={name}"},
            health=health,
        )

    def offer(self, topology: NodeTopology, node: KnownNode | None) -> None:
        """Nothing is written for a node that is not there: its object would be cleared away with it."""
        if node is None:
            self._offered = None
            return
        if self._offered is None or self._offered[1] is not node:
            # It was asked for anew: what it says counts, also where somebody has taken the annotation away.
            self._annotated = node.annotations.get(ANNOTATION, "")
        self._offered = topology, node
        self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled."""
        backoff = Backoff()
        while True:
            await self._wake.wait()
            self._wake.clear()
            began = time.monotonic()
            try:
                await self._write()
                self._say("")
                backoff.succeeded()
            except InputError as error:
                self.failed += 1
                self.health.failed(error)
                self._say(f"the state of the node cannot be published: {error}")
                self._wake.set()
                await asyncio.sleep(backoff.seconds())
            await asyncio.sleep(max(0.0, PACE_SECONDS - (time.monotonic() - began)))

    async def _write(self) -> None:
        if self._offered is None:
            return
        topology, node = self._offered
        status = topology.status
        there = self.seen.items.get(self.name)
        wanted = PublishedState(status.digest, status.notes, status.numafit)
        others = there is not None and self._version not in ("", there.metadata.resourceVersion)
        if there is None or there.status != wanted or others:
            # What is seen may be older than what was written: the same is written again at worst, and changes nothing.
            answer = await self.api.apply(f"{PATH}/{self.name}", _content(topology, node), AGENT, force=True)
            self._version = _version_of(answer)
            self.written += 1
        self.digest = status.digest
        if self._annotated != status.digest:
            content = {"metadata": {"annotations": {ANNOTATION: status.digest}}}
            try:
                await self.api.patch(f"{NODES}/{self.name}", msgspec.json.encode(content), MERGE)
            except ApiServerError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
        self._annotated = status.digest

    def _changed(self, change: ObjectChange[PublishedTopology]) -> None:
        """Somebody wrote or deleted the object: we, most often."""
        self._wake.set()

    def _say(self, trouble: str) -> None:
        if trouble != self._trouble:
            self.say(trouble or "the state of the node is published again")
        self._trouble = trouble


class _Written(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def _version_of(answer: bytes) -> str:
    """Empty where the answer does not tell."""
    try:
        return msgspec.json.decode(answer, type=_Written).metadata.resourceVersion
    except msgspec.MsgspecError:
        return ""


def _content(topology: NodeTopology, node: KnownNode) -> bytes:
    content: ObjectJson = msgspec.to_builtins(topology)
    content["metadata"] = {"name": topology.name, "ownerReferences": [node_owner(node.object.name, node.uid)]}
    return msgspec.json.encode(content)
