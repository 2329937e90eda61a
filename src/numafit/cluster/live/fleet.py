"""The cluster's Nodes, NodeTopologies and pods, kept up to date, and the fleet that follows from them.

Objects are read as they come, and no more of them is kept than somebody asks for. One that cannot be read does not stop
the others: a pod is left out, a node is as one that has not reported.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import NODES, PODS, ObjectMeta
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.nodes import ClusterNode, SentNode, node_of
from numafit.cluster.live.pods import ClusterPod, PodKeeper, SentPod
from numafit.cluster.topology.model import PATH
from numafit.cluster.topology.read import read_topology
from numafit.errors import InputError
from numafit.fleet.fleet import Fleet
from numafit.fleet.places import Placing
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory
from numafit.workload.pod import Pod

LIVING = {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
FAILED = {"fieldSelector": "status.phase=Failed"}
SWEEP_SECONDS = 1.0
NOTHING = msgspec.Raw(b"{}")


class LiveChange(msgspec.Struct, frozen=True):
    kind: Literal["node", "pod", "gone", "failed"]
    """`node`: it, its report or what may come to it has changed, or a promise to it has ended. `gone`: the pod was
    deleted, or has ended. `failed`: the pod failed, whether somebody rejected it or not."""
    name: str
    """Of the node, or the UID of the pod."""
    pod: ClusterPod | None = None


class SentTopology(msgspec.Struct, rename={"api_version": "apiVersion"}):
    """A NodeTopology; its status is given up when it has been read."""

    metadata: ObjectMeta
    api_version: str = ""
    kind: str = ""
    status: msgspec.Raw = NOTHING


class LiveFleet:
    """`rest`: seconds after a change of a pod in which others may wait, for who knows what it has promised."""

    def __init__(self, api: KubeApi, health: ApiHealth, *, rest: float = 0.0) -> None:
        self.book = FleetBook()
        self.synced = asyncio.Event()
        """Everything was listed once."""
        self.failed: dict[str, ClusterPod] = {}
        """By UID: pods that failed and are still there, whoever failed them."""
        self._health, self._keeper = health, PodKeeper()
        self._listeners: list[Callable[[LiveChange], None]] = []
        self._read_pods: dict[str, ClusterPod] = {}
        self._read_failed: dict[str, ClusterPod] = {}
        self._read_states: dict[str, NodeState | InputError] = {}
        self._nodes = Reflector(api, NODES, SentNode, self._node_changed, health=health)
        self._pods = Reflector(
            api, PODS, SentPod, self._pod_changed, parameters=LIVING, health=health, keep=self._keep_pod, rest=rest
        )
        self._failed = Reflector(
            api, PODS, SentPod, self._failed_changed, parameters=FAILED, health=health, keep=self._keep_failed
        )
        self._topologies = Reflector(
            api, PATH, SentTopology, self._topology_changed, health=health, keep=self._keep_topology
        )

    @property
    def fleet(self) -> Fleet:
        return self.book.fleet

    @property
    def memory(self) -> VerdictMemory:
        return self.book.memory

    @property
    def pods(self) -> dict[str, ClusterPod]:
        return self.book.pods

    @property
    def nodes(self) -> dict[str, ClusterNode]:
        return self.book.nodes

    @property
    def troubles(self) -> dict[str, str]:
        return self.book.troubles

    @property
    def problem(self) -> str:
        """Why this is not how the cluster stands now; empty: it is."""
        copies = (self._nodes, self._pods, self._failed, self._topologies)
        trouble = next((own.trouble for own in copies if own.trouble), "")
        return f"the API server cannot be followed: {trouble}" if trouble else ""

    def listen(self, heard: Callable[[LiveChange], None]) -> None:
        """It is called after each change, once everything has been listed; what was there before tells nobody."""
        self._listeners.append(heard)

    def places(self, pod: Pod, most: int | None = None) -> Placing:
        return self.book.places(pod, most)

    def offer(self, pod: ClusterPod, names: Sequence[str]) -> None:
        self.book.offer(pod, names)

    def withdraw(self, uid: str) -> None:
        before = self.fleet.offers.get(uid, ())
        self.book.withdraw(uid)
        self._tell_freed(uid, before)

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            for first in (self._nodes, self._pods, self._failed):
                group.create_task(first.run())
            for first in (self._nodes, self._pods, self._failed):
                await first.synced.wait()
            # A report is read once, so what it tells of is known before.
            group.create_task(self._topologies.run())
            await self._topologies.synced.wait()
            self.synced.set()
            while True:
                await asyncio.sleep(SWEEP_SECONDS)
                for name in self.book.sweep(time.monotonic()):
                    self._tell(LiveChange("node", name))

    def _tell(self, change: LiveChange) -> None:
        if self.synced.is_set():
            for heard in self._listeners:
                heard(change)

    def _tell_freed(self, uid: str, before: Sequence[str]) -> None:
        """Nodes that the pod counted on, and counts on no longer."""
        now = self.fleet.offers.get(uid, ())
        for name in before:
            if name not in now:
                self._tell(LiveChange("node", name))

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _node_changed(self, change: ObjectChange[SentNode]) -> None:
        if change.after is None:
            self.book.node_gone(change.key)
        else:
            node = node_of(change.after)
            if node == self.book.nodes.get(node.name):
                # A heartbeat.
                return
            self.book.node_told(node)
        self._tell(LiveChange("node", change.key))

    def _keep_topology(self, sent: SentTopology) -> SentTopology:
        meta = sent.metadata
        known = self._topologies.items.get(meta.name)
        if known is None or known.metadata.resourceVersion != meta.resourceVersion:
            try:
                self._read_states[meta.name] = self.book.read(read_topology(msgspec.json.encode(sent)))
            except InputError as error:
                self._health.unreadable["nodetopologies"] += 1
                self._read_states[meta.name] = error
            # Whatever somebody wrote there, the other nodes stand as they are.
            except Exception as error:
                self._health.unreadable["nodetopologies"] += 1
                self._read_states[meta.name] = InputError(f"cannot be read: {type(error).__name__}: {error}")
        sent.status = NOTHING
        return sent

    def _topology_changed(self, change: ObjectChange[SentTopology]) -> None:
        found = self._read_states.pop(change.key, None) if change.after is not None else None
        if change.after is None:
            self.book.unreported(change.key)
        elif isinstance(found, NodeState):
            self.book.reported(change.key, found)
        elif found is not None:
            self.book.unreported(change.key, str(found))
        self._tell(LiveChange("node", change.key))

    # --- pods ---------------------------------------------------------------------------------------------------------

    def _keep_pod(self, sent: SentPod) -> SentPod | None:
        return self._kept(sent, self._pods, self._read_pods)

    def _keep_failed(self, sent: SentPod) -> SentPod | None:
        return self._kept(sent, self._failed, self._read_failed)

    def _kept(self, sent: SentPod, copies: Reflector[SentPod], read: dict[str, ClusterPod]) -> SentPod | None:
        meta = sent.metadata
        known = copies.items.get(f"{meta.namespace}/{meta.name}")
        if known is None or known.metadata.resourceVersion != meta.resourceVersion:
            try:
                read[meta.uid] = self._keeper.kept(sent)
            # Whatever it is, the other pods count.
            except Exception:
                self._health.unreadable["pods"] += 1
                return None
        sent.emptied()
        return sent

    def _pod_changed(self, change: ObjectChange[SentPod]) -> None:
        if change.after is None:
            if change.before is not None:
                offers = self.fleet.offers
                pod = self.book.pod_gone(change.before.metadata.uid, time.monotonic())
                if pod is not None:
                    self._tell(LiveChange("gone", pod.uid, pod))
                    self._tell_freed(pod.uid, offers.get(pod.uid, ()))
            return
        found = self._read_pods.pop(change.after.metadata.uid, None)
        if found is not None:
            offers = self.fleet.offers
            pod = self.book.pod_told(found)
            self._tell(LiveChange("pod", pod.uid, pod))
            self._tell_freed(pod.uid, offers.get(pod.uid, ()))

    def _failed_changed(self, change: ObjectChange[SentPod]) -> None:
        if change.after is None:
            if change.before is not None:
                self.failed.pop(change.before.metadata.uid, None)
            return
        found = self._read_failed.pop(change.after.metadata.uid, None)
        if found is None:
            return
        self.failed[change.after.metadata.uid] = found
        # What failed before anybody looked says nothing of how the node stands now.
        if found.rejected and found.node and self.synced.is_set() and change.before is None:
            offers = self.fleet.offers
            self.book.rejected(found)
            self._tell_freed(found.uid, offers.get(found.uid, ()))
        self._tell(LiveChange("failed", found.uid, found))
