"""Offers for tests, and a source that tests change while it is read."""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.cluster.device.offer import Handout, OfferedDevice, ResourceOffer
from numafit.errors import InputError
from numafit.machine.model import Device, Link

FPGA = "example.com/fpga"


def device(name: str, numa: int | None = 0, *, healthy: bool = True) -> OfferedDevice:
    nodes = None if numa is None else (numa,)
    return OfferedDevice(Device(FPGA, name, nodes, healthy), Handout(envs={"FPGAS": name}))


def offer(*devices: OfferedDevice, links: Sequence[Link] = (), replicas: int = 1) -> ResourceOffer:
    return ResourceOffer(FPGA, devices, tuple(links), replicas)


def sick(found: ResourceOffer, *names: str) -> ResourceOffer:
    """With just these devices unhealthy."""
    return replace(
        found,
        devices=tuple(
            replace(each, device=replace(each.device, healthy=each.device.id not in names)) for each in found.devices
        ),
    )


class ChangingDevices:
    waits = False

    def __init__(self, *offers: ResourceOffer, lost_is_sick: bool = False) -> None:
        self.offers = offers
        self.lost_is_sick = lost_is_sick
        self.trouble = ""

    def read(self) -> tuple[ResourceOffer, ...]:
        if self.trouble:
            raise InputError(self.trouble)
        return self.offers
