"""Reads a NodeResourceTopology object (`kubectl get noderesourcetopologies NAME -o json` or `-o yaml`).

It has a zone for each NUMA node: how many CPUs, how much memory, how many devices of a resource, and the distances.
Which numbers the CPUs have, which are threads of one core, and the ids of devices it does not tell: CPUs are numbered
node by node, each as a core of its own and each NUMA node as a socket, and devices get made-up ids. Where a zone shows
only what pods may have, there may be more.
"""

import re
from collections.abc import Collection, Iterator, Mapping

from numafit.bits import LARGEST_ID
from numafit.document import Document, Path, read_documents
from numafit.errors import InputError
from numafit.machine.model import CPU_IDS, DEVICES, Cpu, Device, Machine, NumaNode
from numafit.machine.order import cpus_in_kubelet_order, in_kubelet_order
from numafit.machine.read.text import LARGEST_AMOUNT, text_of
from numafit.quantity import QuantityError, parse_quantity, quantity_of

KIND = "NodeResourceTopology"
ASSUMED = ("core", CPU_IDS, "socket", "uncore_cache")
"""Which NUMA node has how many CPUs is told, and so not among them."""
_ZONE_NAME = re.compile(r"node-(\d{1,5})", re.ASCII)
_HUGE_PAGES = "hugepages-"
_CURE = "it comes from `kubectl get noderesourcetopologies NAME -o yaml`"


class _Zone:
    """A NUMA node: what its zone tells of it."""

    def __init__(self, id: int) -> None:
        self.id = id
        self.resources: dict[str, int] = {}
        self.costs: dict[int, int] = {}
        self.partial: set[str] = set()
        """Resources whose capacity it does not tell."""


def read_nrt(data: str | bytes, source: str = KIND) -> Machine:
    found = [
        (document, value, path)
        for document in read_documents(text_of(data, source), source)
        for value, path in _objects(document.value, ())
    ]
    if not found:
        raise InputError(f"there is no {KIND} in it", source=source, cure=_CURE)
    if len(found) > 1:
        message = f"{len(found)} objects of the kind {KIND}, one is needed"
        raise InputError(message, source=source, cure="name the node whose object is meant")
    return _machine(*found[0])


def _objects(value: object, path: Path) -> Iterator[tuple[Mapping[str, object], Path]]:
    """`kind` of an item may be left out in a list of them."""
    if not isinstance(value, dict):
        return
    kind, items = value.get("kind"), value.get("items")
    if kind == KIND or (kind is None and isinstance(value.get("zones"), list)):
        yield value, path
    elif isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            yield from _objects(item, (*path, "items", index))


def _machine(document: Document, value: Mapping[str, object], path: Path) -> Machine:
    zones: dict[int, _Zone] = {}
    for index, item in enumerate(_list(document, value.get("zones"), (*path, "zones"))):
        here: Path = (*path, "zones", index)
        fields = _mapping(document, item, here)
        if fields.get("type", "Node") != "Node":
            continue
        zone = _zone(document, fields, here)
        if zone.id in zones:
            raise document.error(f"the zone node-{zone.id} comes twice", (*here, "name"), cure=_CURE)
        zones[zone.id] = zone
    if not zones:
        raise document.error("it has no zone of the type Node", (*path, "zones"), cure=_CURE)
    counts = {id: zone.resources.get("cpu", 0) for id, zone in zones.items()}
    if sum(counts.values()) > LARGEST_ID:
        raise document.error("more CPUs than any machine has", (*path, "zones"), cure=_CURE)
    metadata = _mapping(document, value.get("metadata"), (*path, "metadata"))
    return Machine(
        cpus=tuple(cpus_in_kubelet_order(_cpus(counts))),
        numa_nodes=in_kubelet_order(_numa_node(zone, zones) for zone in zones.values()),
        devices=tuple(_devices(document, zones, (*path, "zones"))),
        name=str(metadata.get("name") or ""),
        assumed=(*ASSUMED, *_also_assumed(zones.values())),
    )


def _also_assumed(zones: Collection[_Zone]) -> Iterator[str]:
    partial = {name for zone in zones for name in zone.partial}
    if "cpu" in partial:
        yield "cpus"
    if any("/" in name for zone in zones for name in zone.resources):
        yield DEVICES
    if any(name.startswith(_HUGE_PAGES) for name in partial):
        yield "hugepages"
    if "memory" in partial:
        yield "memory"


def _cpus(counts: Mapping[int, int]) -> Iterator[Cpu]:
    next_id = 0
    for node, count in sorted(counts.items()):
        for id in range(next_id, next_id + count):
            yield Cpu(id=id, core=id, socket=node, numa=node)
        next_id += count


def _numa_node(zone: _Zone, zones: Mapping[int, _Zone]) -> NumaNode:
    pages = {}
    for name, amount in zone.resources.items():
        if name.startswith(_HUGE_PAGES):
            size = _page_size(name)
            pages[size] = amount // size
    complete = zone.costs.keys() >= zones.keys()
    return NumaNode(
        id=zone.id,
        memory=zone.resources.get("memory", 0),
        hugepages=pages,
        distances=tuple(zone.costs[other] for other in sorted(zones)) if complete else None,
    )


def _devices(document: Document, zones: Mapping[int, _Zone], path: Path) -> Iterator[Device]:
    """`gpu-0`, `gpu-1` … by resource, node by node."""
    numbers: dict[str, int] = {}
    for id, zone in sorted(zones.items()):
        for resource, count in sorted(zone.resources.items()):
            if "/" not in resource:
                continue
            first = numbers.get(resource, 0)
            if first + count > LARGEST_ID:
                raise document.error(f"more devices of {resource} than any machine has", path, cure=_CURE)
            numbers[resource] = first + count
            for number in range(first, first + count):
                yield Device(resource, f"{resource.rpartition('/')[2]}-{number}", (id,))


def _zone(document: Document, fields: Mapping[str, object], path: Path) -> _Zone:
    zone = _Zone(_node_id(document, fields.get("name"), (*path, "name")))
    for index, item in enumerate(_list(document, fields.get("resources"), (*path, "resources"))):
        here: Path = (*path, "resources", index)
        resource = _mapping(document, item, here)
        name = resource.get("name")
        if not isinstance(name, str) or not name:
            raise document.error("a resource needs a name", here, cure=_CURE)
        if name.startswith(_HUGE_PAGES) and not _page_size(name):
            raise document.error(f'"{name}" names no size of huge pages', (*here, "name"), cure=_CURE)
        field = next((part for part in ("capacity", "allocatable", "available") if part in resource), "capacity")
        if field != "capacity":
            zone.partial.add(name)
        zone.resources[name] = _amount(document, resource.get(field), (*here, field))
    for index, item in enumerate(_list(document, fields.get("costs"), (*path, "costs"))):
        here = (*path, "costs", index)
        cost = _mapping(document, item, here)
        node = _node_id(document, cost.get("name"), (*here, "name"))
        zone.costs[node] = _amount(document, cost.get("value"), (*here, "value"))
    return zone


def _node_id(document: Document, name: object, path: Path) -> int:
    match = _ZONE_NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or int(match[1]) > LARGEST_ID:
        raise document.error(f'"{name}" does not name a NUMA node, such as node-0', path, cure=_CURE)
    return int(match[1])


def _amount(document: Document, value: object, path: Path) -> int:
    try:
        amount = quantity_of(value).value()
    except QuantityError as error:
        raise document.error(f'"{value}" is not a quantity: {error}', path, cure=_CURE) from None
    if not 0 <= amount < LARGEST_AMOUNT:
        raise document.error(f"{amount} is no amount that a machine has", path, cure=_CURE)
    return amount


def _page_size(name: str) -> int:
    """Bytes; 0 where it is no size."""
    try:
        return max(parse_quantity(name.removeprefix(_HUGE_PAGES)).value(), 0)
    except QuantityError:
        return 0


def _mapping(document: Document, value: object, path: Path) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.error("a mapping is expected here", path, cure=_CURE)
    return value


def _list(document: Document, value: object, path: Path) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise document.error("a list is expected here", path, cure=_CURE)
    return value
