"""Many simulated kubelets in one process: pods of the API server in, their statuses out."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.events import Events
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import NODES, PODS, ObjectMeta, ObjectReference
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.node.publish import ANNOTATION
from numafit.cluster.sim.bound import BoundPod
from numafit.cluster.sim.group import SimulatedNode
from numafit.cluster.sim.heartbeat import Heartbeat
from numafit.cluster.sim.kubelet import DecisionInterrupted, SimulatedKubelet
from numafit.cluster.sim.life import PlayedPod
from numafit.cluster.sim.node_object import SIMULATED
from numafit.cluster.sim.served import PodReader, ServedPod
from numafit.cluster.sim.topologies import TopologyWriter
from numafit.cluster.sim.writer import StatusWriter
from numafit.errors import InputError
from numafit.settings.facts import Taint

BOUND = {"fieldSelector": "spec.nodeName!="}
LONGEST_TURN = 0.01
"""Seconds of deciding, after which others come first: what was decided is to be told."""
MOST_EVENTS = 500
"""That wait to be told; more of them are left out."""

T = TypeVar("T")
ServeSockets = Callable[[SimulatedKubelet, Path, Callable[[Callable[[float], Any]], Awaitable[Any]]], Awaitable[None]]
"""Serves the sockets of a kubelet in its folder until it is cancelled. What it does to the kubelet goes through the
function that it gets, which waits for its turn and tells what came of it. `Any`: whatever comes of it."""


class _MarkedMeta(ObjectMeta, frozen=True):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _MarkedTaint(msgspec.Struct, frozen=True):
    key: str
    effect: str
    value: str = ""


class _MarkedSpec(msgspec.Struct, frozen=True):
    taints: tuple[_MarkedTaint, ...] | None = None


class MarkedNode(msgspec.Struct, frozen=True):
    """A Node, as far as anybody but its kubelet may change it."""

    metadata: _MarkedMeta
    spec: _MarkedSpec = _MarkedSpec()


class _Place:
    """A node with what only the fleet keeps of it."""

    def __init__(self, node: SimulatedNode) -> None:
        self.node = node
        self.lock = asyncio.Lock()
        self.thread = ThreadPoolExecutor(1, f"kubelet-{node.kubelet.name}") if node.sockets else None
        """Its own: a plugin that hangs keeps it for ever, as it would keep a kubelet."""
        self.timer: asyncio.TimerHandle | None = None
        self.at = 0.0
        self.crash = ""


class SimulatedFleet:
    """`warn` gets sentences about what went wrong with one node or pod and does not stop the others."""

    def __init__(
        self,
        api: KubeApi,
        nodes: Sequence[SimulatedNode],
        health: ApiHealth,
        warn: Callable[[str], None],
        sockets: ServeSockets | None = None,
    ) -> None:
        self._api, self._health, self._warn, self._sockets = api, health, warn, sockets
        self._places = {node.kubelet.name: _Place(node) for node in nodes}
        self._reader = PodReader()
        self._inbox: deque[ObjectChange[ServedPod]] = deque()
        self._arrived = asyncio.Event()
        self._tasks: set[asyncio.Task[object]] = set()
        self._untold: deque[tuple[SimulatedNode, PlayedPod]] = deque(maxlen=MOST_EVENTS)
        self._event = asyncio.Event()
        self.writer = StatusWriter(api, health, self._status_told)
        self.heartbeat = Heartbeat(api, nodes, health)
        self.topologies = TopologyWriter(api, nodes, health, warn)
        self.reflector: Reflector[ServedPod] = Reflector(
            api, PODS, ServedPod, self._changed, parameters=BOUND, health=health, keep=self._kept
        )

        self.marks: Reflector[MarkedNode] = Reflector(
            api,
            NODES,
            MarkedNode,
            self._marked,
            parameters={"labelSelector": f"{SIMULATED}=true"},
            health=health,
            keep=lambda node: node if node.metadata.name in self._places else None,
        )

    async def run(self, ready: Callable[[], None]) -> None:
        """Until it is cancelled; `ready` is called once all nodes are."""
        await self._api.get(PODS, {"limit": "1", **BOUND})
        await self.topologies.check()
        await self.heartbeat.register()
        async with asyncio.TaskGroup() as group:
            group.create_task(self.marks.run())
            # A pod that is bound for the sake of a label comes after it.
            await self.marks.synced.wait()
            group.create_task(self.reflector.run())
            await self.reflector.synced.wait()
            await self._begin()
            await self.topologies.begin(group)
            group.create_task(self._decide())
            group.create_task(self.writer.run())
            group.create_task(self.heartbeat.run())
            group.create_task(self._tell_events())
            for place in self._places.values():
                if place.node.sockets:
                    group.create_task(self._serve_sockets(place.node))
            ready()

    async def _serve_sockets(self, node: SimulatedNode) -> None:
        if self._sockets is not None and node.state is not None:
            await self._sockets(node.kubelet, node.state.folder, partial(self.turn, node))

    async def turn(self, node: SimulatedNode, work: Callable[[float], T]) -> T:
        """For a kubelet whose plugins are real: what asks them may take its time, so it is done in a thread."""
        place = self._places[node.kubelet.name]
        async with place.lock:
            try:
                return await asyncio.get_running_loop().run_in_executor(place.thread, work, time.time())
            finally:
                self._touched(place)

    # --- pods ---------------------------------------------------------------------------------------------------------

    def _kept(self, pod: ServedPod) -> ServedPod | None:
        return pod if pod.node in self._places else None

    def _changed(self, change: ObjectChange[ServedPod]) -> None:
        self._inbox.append(change)
        self._arrived.set()

    async def _begin(self) -> None:
        """Those that are there already, all of a node at once."""
        first: dict[str, list[BoundPod]] = {name: [] for name in self._places}
        while self._inbox:
            pod = self._inbox.popleft().after
            bound = None if pod is None else self._bound(pod, begins=True)
            if pod is not None and bound is not None:
                first[pod.node].append(bound)
                pod.emptied()
        for name, pods in first.items():
            place = self._places[name]
            self._do(place, partial(place.node.kubelet.begin, pods))
            await asyncio.sleep(0)

    async def _decide(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            began = time.monotonic()
            while self._inbox:
                self._take(self._inbox.popleft())
                if time.monotonic() - began > LONGEST_TURN:
                    await asyncio.sleep(0)
                    began = time.monotonic()

    def _take(self, change: ObjectChange[ServedPod]) -> None:
        before, after = change.before, change.after
        if after is None:
            if before is not None:
                gone = self._places[before.node]
                self._do(gone, lambda now: gone.node.kubelet.forget(before.metadata.uid, now))
            return
        place = self._places[after.node]
        known = place.node.kubelet.pods.get(after.metadata.uid)
        if known is None or not _is_as_known(after, known):
            bound = self._bound(after, begins=known is None)
            if bound is not None:
                self._do(place, lambda now: place.node.kubelet.update(bound, now))
        after.emptied()

    def _bound(self, pod: ServedPod, *, begins: bool) -> BoundPod | None:
        try:
            return self._reader.bound(pod, begins=begins)
        except InputError as error:
            self._health.unreadable["pods"] += 1
            self._warn(str(error))
            return None

    def _marked(self, change: ObjectChange[MarkedNode]) -> None:
        """As a kubelet, which asks the API server for its Node: labels and taints that somebody gave it count."""
        if change.after is None:
            self.topologies.owner(change.key, "", "")
            return
        meta = change.after.metadata
        self.topologies.owner(change.key, meta.uid, (meta.annotations or {}).get(ANNOTATION, ""))
        place = self._places[change.key]
        labels = meta.labels or {}
        taints = tuple(Taint(own.key, own.value, own.effect) for own in change.after.spec.taints or ())
        facts = place.node.kubelet.situation.node.facts
        if (facts.labels, facts.taints) != (labels, taints):
            self._do(place, lambda now: place.node.kubelet.mark(labels, taints))

    # --- kubelets -----------------------------------------------------------------------------------------------------

    def _do(self, place: _Place, work: Callable[[float], object]) -> None:
        if place.node.sockets:
            # Locks are given in the order in which they are asked for, so events keep theirs.
            task = asyncio.create_task(self._later(place.node, work))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        work(time.time())
        self._touched(place)

    async def _later(self, node: SimulatedNode, work: Callable[[float], object]) -> None:
        # Who was to be decided when the sockets were closed is decided at the next start.
        with suppress(DecisionInterrupted):
            await self.turn(node, work)

    def _touched(self, place: _Place) -> None:
        node, kubelet = place.node, place.node.kubelet
        if node.state is not None:
            try:
                node.state.write(kubelet.situation)
            except InputError as error:
                self._warn(str(error))
        while kubelet.changed:
            self.writer.put(node, kubelet.changed.pop())
        if kubelet.node_changed and not kubelet.situation.down:
            self.heartbeat.changed(node)
        self.topologies.put(node)
        if kubelet.crash and kubelet.crash != place.crash:
            self._warn(f"the kubelet of {kubelet.name} has crashed: {kubelet.crash}")
        place.crash = kubelet.crash
        due = kubelet.due
        if due is None or (place.timer is not None and place.at <= due):
            return
        if place.timer is not None:
            place.timer.cancel()
        place.at = due
        loop = asyncio.get_running_loop()
        place.timer = loop.call_later(max(0.0, due - time.time()), self._due, place)

    def _due(self, place: _Place) -> None:
        place.timer = None
        self._do(place, place.node.kubelet.advance)

    # --- events -------------------------------------------------------------------------------------------------------

    def _status_told(self, node: SimulatedNode, pod: PlayedPod) -> None:
        if pod.rejected or pod.preempted:
            self._untold.append((node, pod))
            self._event.set()

    async def _tell_events(self) -> None:
        """As a kubelet tells of those that it does not take in. Those that cannot be told are left out."""
        while True:
            await self._event.wait()
            self._event.clear()
            while self._untold:
                node, pod = self._untold.popleft()
                events = Events(self._api, "kubelet", self._health, instance=node.kubelet.name)
                about = ObjectReference("Pod", pod.pod.name, pod.uid, pod.pod.namespace)
                message = pod.message.removeprefix("Pod was rejected: ")
                await events.tell(about, "Warning", pod.reason, message)


def _is_as_known(pod: ServedPod, known: PlayedPod) -> bool:
    """Nothing in it is new to its kubelet, so that it need not be read: most changes are those that we wrote."""
    meta = pod.metadata
    return (
        meta.generation == known.generation != 0
        and (meta.deletionTimestamp is not None) == known.deleting
        and not known.manner.readiness_gates
    )
