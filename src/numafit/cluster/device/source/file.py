"""Devices that a file lists, of whatever kind: their NUMA nodes, their health, and what a container gets with each.

The file is read again and again: who changes `healthy`, adds a device or takes one away tells the kubelet. A device
whose device file is not on the host counts as unhealthy.
"""

import os
from collections.abc import Callable, Container
from pathlib import Path

from msgspec.structs import replace

from numafit.cluster.device.offer import (
    GivenMount,
    GivenNode,
    Handout,
    OfferedDevice,
    ResourceOffer,
    require_resource_name,
)
from numafit.document import read_document
from numafit.errors import InputError
from numafit.machine.file.fields import Fields
from numafit.machine.model import Device, Link

FORMAT = "numafit/devices/v1"
_RESOURCE = ("name", "devices", "links", "replicas", "preStart")
_DEVICE = ("id", "numa", "healthy", "switch", "rootPort", "envs", "mounts", "nodes", "annotations", "cdi")
_MOUNT = ("hostPath", "containerPath", "readOnly")
_NODE = ("hostPath", "containerPath", "permissions")
_LINK = ("a", "b", "kind")
MOST_REPLICAS = 1000


class ListedDevices:
    lost_is_sick = False
    waits = False

    def __init__(self, path: Path, text: Callable[[Path], str], exists: Callable[[str], bool] = os.path.exists) -> None:
        self.path = path
        self._text = text
        self._exists = exists

    def read(self) -> tuple[ResourceOffer, ...]:
        offers = read_offers(self._text(self.path), str(self.path))
        return tuple(replace(offer, devices=tuple(map(self._seen, offer.devices))) for offer in offers)

    def _seen(self, offered: OfferedDevice) -> OfferedDevice:
        if all(self._exists(node.host_path) for node in offered.given.nodes):
            return offered
        return replace(offered, device=replace(offered.device, healthy=False))


def read_offers(text: str, source: str) -> tuple[ResourceOffer, ...]:
    """Raises InputError with file, line and field."""
    document = read_document(text, source)
    root = Fields(document, (), document.value, ("format", "resources"))
    root.need("format")
    if root.text("format") != FORMAT:
        raise root.error(f'"{root.text("format")[:60]}" is not a format of this file', "format", cure=f"write {FORMAT}")
    offers: dict[str, ResourceOffer] = {}
    for index in range(len(root.items("resources"))):
        fields = root.within("resources", _RESOURCE, index)
        offer = _offer(fields)
        if offer.resource in offers:
            raise fields.error(f"{offer.resource} is listed twice", "name")
        offers[offer.resource] = offer
    if not offers:
        raise root.error("no resource is listed", "resources")
    return tuple(offers.values())


def _offer(fields: Fields) -> ResourceOffer:
    fields.need("name")
    name = fields.text("name")
    try:
        require_resource_name(name)
    except InputError as error:
        raise fields.error(error.message, "name", cure=error.cure) from None
    replicas = 1 if "replicas" not in fields else fields.integer("replicas") or 0
    if not 1 <= replicas <= MOST_REPLICAS:
        raise fields.error(f"{replicas} is out of range", "replicas", cure=f"1 to {MOST_REPLICAS}")
    devices: dict[str, OfferedDevice] = {}
    for index in range(len(fields.items("devices"))):
        inner = fields.within("devices", _DEVICE, index)
        offered = _device(inner, name)
        if offered.device.id in devices:
            raise inner.error(f'the device "{offered.device.id[:60]}" is listed twice', "id")
        devices[offered.device.id] = offered
    return ResourceOffer(
        name,
        tuple(devices.values()),
        _links(fields, devices.keys()),
        replicas,
        pre_start=_texts(fields, "preStart"),
    )


def _device(fields: Fields, resource: str) -> OfferedDevice:
    fields.need("id")
    device = Device(
        resource=resource,
        id=fields.text("id"),
        numa=fields.integers("numa"),
        healthy=fields.flag("healthy", True),
        switch=fields.text("switch"),
        root_port=fields.text("rootPort"),
    )
    if not device.id:
        raise fields.error("an id cannot be empty", "id")
    mounts = [fields.within("mounts", _MOUNT, index) for index in range(len(fields.items("mounts")))]
    nodes = [fields.within("nodes", _NODE, index) for index in range(len(fields.items("nodes")))]
    given = Handout(
        _mapping(fields, "envs"),
        tuple(GivenMount(*_paths(one), one.flag("readOnly", False)) for one in mounts),
        tuple(GivenNode(*_paths(one), _permissions(one)) for one in nodes),
        _mapping(fields, "annotations"),
        _texts(fields, "cdi"),
    )
    for step, qualified in enumerate(given.cdi):
        kind, _, own = qualified.partition("=")
        if "/" not in kind or not own:
            raise fields.error(f'"{qualified[:60]}" is no CDI name', "cdi", step, cure="like vendor.com/class=name")
    return OfferedDevice(device, given)


def _paths(fields: Fields) -> tuple[str, str]:
    """On the host and in the container, which is the same if it is not said."""
    fields.need("hostPath")
    host = fields.text("hostPath")
    inside = fields.text("containerPath", host)
    for name, path in (("hostPath", host), ("containerPath", inside)):
        if not path.startswith("/"):
            raise fields.error(f'"{path[:60]}" is not a whole path', name, cure="begin it with /")
    return host, inside


def _permissions(fields: Fields) -> str:
    text = fields.text("permissions", "rw")
    if not text or set(text) - set("rwm") or len(set(text)) < len(text):
        raise fields.error(f'"{text[:20]}" are no permissions', "permissions", cure="some of r, w and m")
    return text


def _mapping(fields: Fields, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in fields.mapping(name).items():
        if not isinstance(value, str):
            raise fields.error("a text is needed here", name, key, cure="put it in quotes")
        found[key] = value
    return found


def _texts(fields: Fields, name: str) -> tuple[str, ...]:
    found: list[str] = []
    for step, value in enumerate(fields.items(name)):
        if not isinstance(value, str) or not value:
            raise fields.error("a text is needed here", name, step, cure="put it in quotes")
        found.append(value)
    return tuple(found)


def _links(fields: Fields, known: Container[str]) -> tuple[Link, ...]:
    links: dict[frozenset[str], Link] = {}
    for index in range(len(fields.items("links"))):
        inner = fields.within("links", _LINK, index)
        a, b = inner.text("a"), inner.text("b")
        for name, end in (("a", a), ("b", b)):
            if end not in known:
                raise inner.error(f'there is no device "{end[:60]}"', name)
        if a == b or frozenset((a, b)) in links:
            raise inner.error("each pair of two devices has one link", "b")
        links[frozenset((a, b))] = Link(a, b, inner.text("kind"))
    return tuple(links.values())
