"""Nodes that are registered and stay ready: their Node objects, their leases, and what changes in them."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from http import HTTPStatus

import msgspec

from numafit.cluster.kube.api import MERGE, STRATEGIC, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import NODES, ObjectJson, node_owner
from numafit.cluster.sim.group import SimulatedNode
from numafit.cluster.sim.node_object import SIMULATED, new_node, node_labels, node_status
from numafit.errors import ApiServerError, InputError, some_of
from numafit.show.records.time import time_text

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS = 40
RENEW_SECONDS, LONGEST_RENEW = 10.0, 25.0
"""Between two renewals of a lease. A kubelet takes ten; for more than 400 nodes it is longer, so that 40 leases at most
are renewed in a second, and still shorter than the 40 seconds after which a node counts as lost."""
MOST_RENEWALS = 40.0
STATUS_SECONDS = 300.0
"""After which a status is written that has not changed."""
BEAT = 0.25
MOST_AT_ONCE = 16
MOST_BEATS_AT_ONCE = 6
"""Renewals on their way: what is to be told of pods is never kept waiting by them."""


ForNode = Callable[[SimulatedNode], Awaitable[None]]


class _Meta(msgspec.Struct):
    name: str
    uid: str = ""
    labels: dict[str, str] | None = None


class _Node(msgspec.Struct):
    metadata: _Meta


class Heartbeat:
    def __init__(self, api: KubeApi, nodes: Sequence[SimulatedNode], health: ApiHealth) -> None:
        self._api, self._nodes, self._health = api, nodes, health
        self._uids: dict[str, str] = {}
        self._since: dict[str, float] = {}
        """When a node became ready."""
        self._status: dict[str, float] = {}
        """When its status was written last."""
        self._dirty: dict[str, SimulatedNode] = {}
        self._wake = asyncio.Event()

    async def register(self) -> None:
        """All at once. Raises InputError before anything is written where one is not ours."""
        there = await self._there()
        names = [node.kubelet.name for node in self._nodes]
        foreign = [name for name in names if name in there and (there[name].labels or {}).get(SIMULATED) != "true"]
        if foreign:
            server = self._api.access.cluster.server
            cure = "give the simulated nodes other names"
            many = "node that no simulation has made" if len(foreign) == 1 else "nodes that no simulation has made"
            raise InputError(
                f"there {'is a' if len(foreign) == 1 else 'are'} {many}: {some_of(foreign, 5)}",
                source=server,
                cure=cure,
            )
        await self._each(self._nodes, lambda node: self._registered(node, there.get(node.kubelet.name)))
        await self._each(self._nodes, self._renewed)

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._beats())
            group.create_task(self._changes())

    def changed(self, node: SimulatedNode) -> None:
        """Its status is to be written."""
        self._dirty[node.kubelet.name] = node
        self._wake.set()

    async def remove(self) -> None:
        await self._each(self._nodes, self._removed)

    # --- registration -------------------------------------------------------------------------------------------------

    async def _there(self) -> Mapping[str, _Meta]:
        pages = [page async for page in self._api.pages(NODES)]
        try:
            nodes = [msgspec.json.decode(raw, type=_Node).metadata for page in pages for raw in page.items or ()]
        except msgspec.MsgspecError as error:
            why = f"this is no list of nodes: {error}"
            raise ApiServerError(why, source=self._api.access.cluster.server) from None
        return {node.name: node for node in nodes}

    async def _registered(self, node: SimulatedNode, there: _Meta | None) -> None:
        name, now = node.kubelet.name, time.time()
        if there is None:
            content = msgspec.json.encode(new_node(node.kubelet, node.mark, now))
            made = msgspec.json.decode(await self._api.create(NODES, content), type=_Node)
            self._uids[name] = made.metadata.uid
        else:
            labels = {"metadata": {"labels": node_labels(name, node.mark.labels)}}
            await self._api.patch(f"{NODES}/{name}", msgspec.json.encode(labels), MERGE)
            self._uids[name] = there.uid
            await self._written(node)
        self._since.setdefault(name, now)
        self._status[name] = now
        node.kubelet.node_changed = False

    async def _removed(self, node: SimulatedNode) -> None:
        for path in (f"{NODES}/{node.kubelet.name}", f"{LEASES}/{node.kubelet.name}"):
            try:
                await self._api.delete(path)
            except ApiServerError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise

    # --- as time goes by ----------------------------------------------------------------------------------------------

    async def _beats(self) -> None:
        """A few nodes at each beat, so that the server never gets all of them at once."""
        many = len(self._nodes)
        period = min(max(RENEW_SECONDS, many / MOST_RENEWALS), LONGEST_RENEW)
        now, number, owed = time.time(), 0, 0.0
        last = time.monotonic()
        for index, node in enumerate(self._nodes):
            self._status[node.kubelet.name] = now - STATUS_SECONDS * index / many
        while True:
            await asyncio.sleep(BEAT)
            # A server that takes its time makes the next turn larger.
            beat, last = time.monotonic() - last, time.monotonic()
            owed = min(owed + many * beat / period, many)
            turn = [self._nodes[(number + step) % many] for step in range(min(int(owed), many))]
            owed -= len(turn)
            number += len(turn)
            alive = [node for node in turn if not node.kubelet.situation.down]
            await self._tried(alive, self._beat, MOST_BEATS_AT_ONCE)

    async def _beat(self, node: SimulatedNode) -> None:
        await self._renewed(node)
        if time.time() - self._status[node.kubelet.name] >= STATUS_SECONDS:
            await self._written(node)

    async def _changes(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            turn, self._dirty = list(self._dirty.values()), {}
            failed = await self._tried(turn, self._written)
            if failed:
                await asyncio.sleep(1.0)
                for node in failed:
                    self.changed(node)

    async def _renewed(self, node: SimulatedNode) -> None:
        name = node.kubelet.name
        now = time.time()
        renewed = f"{time_text(now)[:-1]}.{int(now % 1 * 1_000_000):06d}Z"
        try:
            await self._api.patch(f"{LEASES}/{name}", msgspec.json.encode({"spec": {"renewTime": renewed}}), MERGE)
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            await self._api.create(LEASES, msgspec.json.encode(self._lease(name, renewed)))

    def _lease(self, name: str, renewed: str) -> ObjectJson:
        uid = self._uids.get(name, "")
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, **({"ownerReferences": [node_owner(name, uid)]} if uid else {})},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": renewed},
        }

    async def _written(self, node: SimulatedNode) -> None:
        name, now = node.kubelet.name, time.time()
        node.kubelet.node_changed = False
        status = node_status(node.kubelet, node.mark, now, self._since.setdefault(name, now))
        try:
            await self._api.patch(f"{NODES}/{name}/status", msgspec.json.encode({"status": status}), STRATEGIC)
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            # Somebody has deleted it: a kubelet registers once more.
            await self._registered(node, None)
        self._status[name] = now

    # --- many at once -------------------------------------------------------------------------------------------------

    async def _tried(
        self, nodes: Iterable[SimulatedNode], do: ForNode, at_once: int = MOST_AT_ONCE
    ) -> list[SimulatedNode]:
        """Those with whom it failed, which is counted."""
        failed: list[SimulatedNode] = []

        async def one(node: SimulatedNode) -> None:
            try:
                await do(node)
            except InputError as error:
                self._health.failed(error)
                failed.append(node)

        await self._each(nodes, one, at_once)
        return failed

    async def _each(self, nodes: Iterable[SimulatedNode], do: ForNode, at_once: int = MOST_AT_ONCE) -> None:
        """Some at a time; raises the first error."""
        waiting = iter(nodes)

        async def worker() -> None:
            for node in waiting:
                await do(node)

        await asyncio.gather(*(worker() for _ in range(at_once)))
