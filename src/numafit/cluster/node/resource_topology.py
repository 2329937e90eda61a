"""The NodeResourceTopology of a node (`topology.node.k8s.io/v1alpha2`), which other schedulers read.

It is a courtesy: where another publisher has written it, it is left alone. Amounts are those of the managers' own
ledger: what pods hold exclusively is not available, what they share is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from http import HTTPStatus

import msgspec

from numafit.amounts import amount_text
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import node_owner
from numafit.cluster.node.fingerprint import ALL, ATTRIBUTE, GROUP, METHOD, fingerprint
from numafit.cluster.node.fingerprint import ANNOTATION as FINGERPRINT
from numafit.cluster.node.learn import KnownNode
from numafit.cluster.topology.model import AGENT
from numafit.decision.stage import Stage
from numafit.errors import ApiServerError, InputError
from numafit.machine.model import NumaNode

API_VERSION = f"{GROUP}/v1alpha2"
PATH = f"/apis/{API_VERSION}/noderesourcetopologies"
PACE_SECONDS = 1.0
"""Between two writings."""
REFUSED_SECONDS = 60.0


class ZoneCost(msgspec.Struct, frozen=True):
    name: str
    value: int


class ZoneAttribute(msgspec.Struct, frozen=True):
    name: str
    value: str


class ZoneResource(msgspec.Struct, frozen=True):
    name: str
    capacity: str
    allocatable: str
    available: str


class TopologyZone(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    type: str
    costs: tuple[ZoneCost, ...] = ()
    resources: tuple[ZoneResource, ...] = ()


class _Manager(msgspec.Struct, frozen=True):
    manager: str = ""


class _Meta(msgspec.Struct, frozen=True):
    managedFields: tuple[_Manager, ...] = ()
    annotations: dict[str, str] = {}


class _There(msgspec.Struct, frozen=True):
    metadata: _Meta = _Meta()


class ResourceTopologyPublisher:
    """`offer` says how the node stands; `run` writes that when it has changed. `refused` is told once why it cannot."""

    def __init__(self, api: KubeApi, name: str, health: ApiHealth, refused: Callable[[str], Awaitable[None]]) -> None:
        self.api, self.name, self.health = api, name, health
        self._refused = refused
        self._offered = self._written = b""
        self._why = ""
        self._wake = asyncio.Event()

    def offer(self, stage: Stage, node: KnownNode, pods: Iterable[tuple[str, str]]) -> None:
        """`pods`: (namespace, name) of all that are there."""
        self._offered = resource_topology(self.name, stage, node, pods)
        if self._offered != self._written:
            self._wake.set()

    async def run(self) -> None:
        """Until it is cancelled. Where somebody else publishes it, it is looked at again later: he may be gone."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            why = ""
            try:
                content = self._offered
                why = await self._other()
                if not why:
                    await self.api.apply(f"{PATH}/{self.name}", content, AGENT)
                    self._written = content
            except InputError as error:
                self.health.failed(error)
                self._wake.set()
            if why and why != self._why:
                await self._refused(why)
            self._why = why
            await asyncio.sleep(REFUSED_SECONDS if why else PACE_SECONDS)

    async def _other(self) -> str:
        """Who publishes it in our place, or why nobody can."""
        try:
            data = await self.api.get(f"{PATH}/{self.name}")
        except ApiServerError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return "" if await self._is_defined() else f"the cluster has no {API_VERSION} NodeResourceTopology"
        managers = sorted({own.manager for own in msgspec.json.decode(data, type=_There).metadata.managedFields})
        others = [manager for manager in managers if manager != AGENT]
        return f"NodeResourceTopology {self.name} is published by {', '.join(others)}" if others else ""

    async def _is_defined(self) -> bool:
        try:
            await self.api.get(PATH, {"limit": "1", "fieldSelector": f"metadata.name={self.name}"})
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False
            raise
        return True


def resource_topology(name: str, stage: Stage, node: KnownNode, pods: Iterable[tuple[str, str]]) -> bytes:
    settings = stage.node.settings
    sign = fingerprint(pods)
    attributes = {
        "topologyManagerPolicy": settings.topology_policy,
        "topologyManagerScope": settings.topology_scope,
        ATTRIBUTE: sign,
        METHOD: ALL,
    }
    content = {
        "apiVersion": API_VERSION,
        "kind": "NodeResourceTopology",
        "metadata": {"name": name, "annotations": {FINGERPRINT: sign}, "ownerReferences": [node_owner(name, node.uid)]},
        "zones": zones(stage),
        "attributes": [ZoneAttribute(*item) for item in attributes.items()],
    }
    return msgspec.json.encode(content)


def zones(stage: Stage) -> tuple[TopologyZone, ...]:
    """One for each NUMA node, by their numbers."""
    nodes = sorted(stage.node.machine.numa_nodes, key=lambda own: own.id)
    return tuple(TopologyZone(f"node-{own.id}", "Node", _costs(own, nodes), _resources(stage, own)) for own in nodes)


def _costs(own: NumaNode, nodes: Sequence[NumaNode]) -> tuple[ZoneCost, ...]:
    if own.distances is None or len(own.distances) != len(nodes):
        return ()
    return tuple(ZoneCost(f"node-{other.id}", cost) for other, cost in zip(nodes, own.distances, strict=True))


def _resources(stage: Stage, own: NumaNode) -> tuple[ZoneResource, ...]:
    node, ledger = stage.node, stage.ledger
    cpus = node.cpu.topology.numa_nodes.get(own.id, 0)
    reserved = node.cpu.reserved if node.cpu.static else 0
    free = cpus & ledger.cpu.default if node.cpu.static else cpus
    found = [_resource("cpu", *((mask & cpus).bit_count() for mask in (cpus, cpus & ~reserved, free & ~reserved)))]
    tables = ledger.memory.nodes[own.id].tables if own.id in ledger.memory.nodes else {}
    for name, total in (
        ("memory", own.memory),
        *((f"hugepages-{amount_text(size)}", size * pages) for size, pages in sorted(own.hugepages.items())),
    ):
        table = tables.get(name)
        amounts = (total, total, total) if table is None else (table.total, table.allocatable, table.free)
        found.append(_resource(name, *amounts))
    devices = ledger.device
    for resource, listed in sorted(devices.devices.items()):
        here = frozenset(id for id, device in listed.items() if device.numa == (own.id,))
        healthy = here & devices.healthy.get(resource, frozenset())
        if here:
            left = healthy - devices.allocated.get(resource, frozenset())
            found.append(_resource(resource, len(here), len(healthy), len(left)))
    return tuple(found)


def _resource(name: str, capacity: int, allocatable: int, available: int) -> ZoneResource:
    return ZoneResource(name, str(capacity), str(allocatable), str(available))
