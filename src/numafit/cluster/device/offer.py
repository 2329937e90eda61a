"""What a device plugin offers: a resource, its devices, and what a container gets with each of them."""

import re
from collections.abc import Sequence

import msgspec

from numafit.errors import InputError
from numafit.machine.model import Device, Link

SHARE = "::"
"""Between the id of a device and the number of a share of it."""
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LONGEST_DOMAIN = 244
"""253, less the `requests.` that a quota puts in front."""


class GivenMount(msgspec.Struct, frozen=True):
    host_path: str
    container_path: str
    read_only: bool = False


class GivenNode(msgspec.Struct, frozen=True):
    """A device file; `permissions` are those of its cgroup, some of `rwm`."""

    host_path: str
    container_path: str
    permissions: str = "rw"


class Handout(msgspec.Struct, frozen=True):
    """What one device brings into a container. An environment variable that several devices bring lists their values
    with commas between them, and so does an annotation."""

    envs: dict[str, str] = {}
    mounts: tuple[GivenMount, ...] = ()
    nodes: tuple[GivenNode, ...] = ()
    annotations: dict[str, str] = {}
    cdi: tuple[str, ...] = ()


class OfferedDevice(msgspec.Struct, frozen=True):
    device: Device
    given: Handout = Handout()


class ResourceOffer(msgspec.Struct, frozen=True):
    resource: str
    devices: tuple[OfferedDevice, ...]
    links: tuple[Link, ...] = ()
    replicas: int = 1
    """More than one: each device is listed so often, and its shares go to different containers."""
    sockets: dict[int, int] = {}
    """NUMA node -> socket, where it is known: sets of devices stay on few sockets."""
    pre_start: tuple[str, ...] = ()
    """A command that runs before a container starts, with the ids of its devices behind it."""

    @property
    def shared(self) -> bool:
        return self.replicas > 1

    def units(self) -> dict[str, OfferedDevice]:
        """By the ids that the kubelet knows: one for each share, device by device."""
        if not self.shared:
            return {offered.device.id: offered for offered in self.devices}
        return {
            f"{offered.device.id}{SHARE}{number}": offered
            for offered in self.devices
            for number in range(self.replicas)
        }


def require_resource_name(name: str) -> None:
    """Raises InputError for one that the kubelet does not let in."""
    domain, _, last = name.partition("/")
    fits = bool(_DOMAIN.fullmatch(domain) and _NAME.fullmatch(last)) and len(domain) <= _LONGEST_DOMAIN
    if not fits or domain.startswith("requests.") or domain.endswith("kubernetes.io"):
        raise InputError(
            f'"{name[:80]}" is not a name of a resource that devices may have', cure="write it like example.com/fpga"
        )


def with_lost(before: Sequence[ResourceOffer], now: Sequence[ResourceOffer]) -> tuple[ResourceOffer, ...]:
    """`now`, and what was there `before` and is not any more, as sick: the kubelet shall count it, not forget it."""
    found = {offer.resource: offer for offer in now}
    for old in before:
        new = found.get(old.resource, msgspec.structs.replace(old, devices=()))
        there = {offered.device.id: offered for offered in new.devices}
        lost = [offered for offered in old.devices if offered.device.id not in there]
        sick = tuple(msgspec.structs.replace(each, device=_sick(each.device)) for each in lost)
        found[old.resource] = msgspec.structs.replace(new, devices=(*new.devices, *sick))
    return tuple(found.values())


def _sick(device: Device) -> Device:
    return msgspec.structs.replace(device, healthy=False)
