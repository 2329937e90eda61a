"""Nodes, NodeTopologies and pods of a cluster, listed from its API server."""

from collections.abc import Iterator

import msgspec

from numafit.cluster.kube.client import Client
from numafit.cluster.kube.objects import NODES, PODS, ObjectMeta
from numafit.cluster.plan.source import ClusterObjects
from numafit.cluster.topology.model import KIND, PATH
from numafit.cluster.view.reading import ListPages, items_of, listed
from numafit.errors import ApiServerError


class _Named(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


def read_objects(client: Client, source: str, *, nodes: bool, pods: bool) -> ClusterObjects:
    """Raises ApiServerError where the server does not answer, or nodes or pods may not be listed. A cluster that knows
    no NodeTopology, or does not show them, has none."""
    topologies = listed(client, PATH) if nodes else []
    return ClusterObjects(
        source,
        tuple(_placed(client, client.pages(NODES, {}) if nodes else [], "Node")),
        tuple(_placed(client, [] if isinstance(topologies, ApiServerError) else topologies, KIND)),
        tuple(_placed(client, client.pages(PODS, {}) if pods else [], "Pod")),
    )


def _placed(client: Client, pages: ListPages, kind: str) -> Iterator[tuple[str, msgspec.Raw]]:
    for item in items_of(client, pages):
        meta = msgspec.json.decode(item, type=_Named).metadata
        name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        yield f"{kind} {name}", item
