"""Small clusters for tests of the placer: a book that nobody watches, filled by hand."""

from typing import Any, TypeVar

import msgspec

from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.nodes import SentNode, node_of
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import PLACE_GATE
from numafit.cluster.topology.read import read_topology
from tests.cluster.live.cluster_objects import kept, lenient_stage, node_object, pod_object, topology_object
from tests.cluster.topology.nodes import with_pods_on


def told_node(book: FleetBook, name: str, labels: dict[str, str] | None = None, **spec: Any) -> None:
    value = node_object(name, **spec)
    value["metadata"]["labels"].update(labels or {})
    book.node_told(node_of(msgspec.convert(value, SentNode)))


def report(book: FleetBook, name: str, *pods: ClusterPod) -> None:
    """The node says that it has these, and nobody else."""
    stage = with_pods_on(lenient_stage(), *(own.pod for own in pods))
    book.reported(name, book.read(read_topology(msgspec.json.encode(topology_object(name, stage)))))


Book = TypeVar("Book", bound=FleetBook)


def cluster_of(*names: str, zones: bool = False) -> FleetBook:
    return filled(FleetBook(), *names, zones=zones)


def filled(book: Book, *names: str, zones: bool = False) -> Book:
    """128 CPUs and 8 GPUs on two NUMA nodes each, and nobody there; the zone is the first letter of the name."""
    for name in names:
        told_node(book, name, {"zone": name[0]} if zones else {})
        report(book, name)
    return book


def waiting(
    name: str,
    cpus: int = 2,
    gpus: int = 0,
    *,
    gates: tuple[str, ...] = (PLACE_GATE,),
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    owner: str = "",
    made: str = "2026-01-01T00:00:00Z",
    conditions: tuple[dict[str, str], ...] = (),
    node: str = "",
    **spec: Any,
) -> ClusterPod:
    value = pod_object(name, cpus, gpus, node, gates)
    value["spec"].update(spec)
    value["metadata"].update(labels=labels or {}, annotations=annotations or {}, creationTimestamp=made)
    value["metadata"]["resourceVersion"] = "1"
    value["status"]["conditions"] = list(conditions)
    if owner:
        value["metadata"]["ownerReferences"] = [
            {"kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}", "apiVersion": "apps/v1", "controller": True}
        ]
    return kept(value)
