"""What would be offered, as a record for programs and as a table for people."""

from collections.abc import Sequence

import msgspec

from numafit.cluster.device.offer import GivenMount, GivenNode, OfferedDevice, ResourceOffer
from numafit.show.table import PLAIN, Screen, aligned


class PathsGiven(msgspec.Struct, frozen=True, rename="camel"):
    """A mount has no permissions, a device file is never `readOnly`."""

    host_path: str
    container_path: str
    read_only: bool
    permissions: str


class DeviceToOffer(msgspec.Struct, frozen=True, rename="camel"):
    id: str
    healthy: bool
    numa: tuple[int, ...] | None
    envs: dict[str, str]
    mounts: tuple[PathsGiven, ...]
    nodes: tuple[PathsGiven, ...]
    annotations: dict[str, str]
    cdi: tuple[str, ...]


class ResourceToOffer(msgspec.Struct, frozen=True, rename="camel"):
    resource: str
    replicas: int
    pre_start: tuple[str, ...]
    devices: tuple[DeviceToOffer, ...]


class OffersAnswer(msgspec.Struct, frozen=True):
    resources: tuple[ResourceToOffer, ...]


def offers_record(offers: Sequence[ResourceOffer]) -> OffersAnswer:
    return OffersAnswer(
        tuple(
            ResourceToOffer(offer.resource, offer.replicas, offer.pre_start, tuple(map(_device, offer.devices)))
            for offer in offers
        )
    )


def offers_text(offers: Sequence[ResourceOffer], screen: Screen = PLAIN) -> str:
    rows = [("RESOURCE", "DEVICE", "HEALTH", "NUMA", "A CONTAINER GETS")]
    for offer in offers:
        for offered in offer.devices:
            device = offered.device
            numa = "unknown" if device.numa is None else ",".join(map(str, device.numa)) or "none"
            name = f"{device.id} (x{offer.replicas})" if offer.shared else device.id
            health = "healthy" if device.healthy else "unhealthy"
            rows.append((offer.resource, name, health, numa, _given_text(offered)))
    return aligned(rows, screen=screen)


def _given_text(offered: OfferedDevice) -> str:
    given = offered.given
    parts = [f"{name}={value}" for name, value in given.envs.items()]
    parts += [node.host_path for node in given.nodes]
    parts += [mount.container_path for mount in given.mounts]
    parts += [*given.annotations.values(), *given.cdi]
    return ", ".join(parts) or "nothing"


def _device(offered: OfferedDevice) -> DeviceToOffer:
    given = offered.given
    return DeviceToOffer(
        offered.device.id,
        offered.device.healthy,
        offered.device.numa,
        given.envs,
        tuple(map(_mount, given.mounts)),
        tuple(map(_node, given.nodes)),
        given.annotations,
        given.cdi,
    )


def _mount(mount: GivenMount) -> PathsGiven:
    return PathsGiven(mount.host_path, mount.container_path, mount.read_only, "")


def _node(node: GivenNode) -> PathsGiven:
    return PathsGiven(node.host_path, node.container_path, False, node.permissions)
