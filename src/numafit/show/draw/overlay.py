"""Who sits where: the owner of each exclusive CPU and each device, to be drawn over a machine."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from numafit.bits import members

if TYPE_CHECKING:
    # Drawing a machine alone must not load the ledger and the workload.
    from numafit.ledger.ledger import Ledger


class Overlay(msgspec.Struct, frozen=True):
    """Who sits where: CPU id -> owner, device id -> owner."""

    cpus: Mapping[int, str] = {}
    devices: Mapping[str, str] = {}

    def owners(self) -> list[str]:
        """In the order met: CPUs ascending, then devices."""
        cpus = (self.cpus[cpu] for cpu in sorted(self.cpus))
        return list(dict.fromkeys([*cpus, *self.devices.values()]))


def overlay_of(ledger: "Ledger") -> Overlay:
    """Owners are named `namespace/name`, or by their UID when they are known from a state file only."""
    names = {uid: pod.known_name for uid, pod in ledger.active.items()}
    cpus = {
        cpu: names.get(uid, uid)
        for uid, containers in sorted(ledger.cpu.entries.items())
        for own in containers.values()
        for cpu in members(own)
    }
    devices = {
        device: names.get(uid, uid)
        for uid, containers in sorted(ledger.device.held.items())
        for resources in containers.values()
        for held in resources.values()
        for device in sorted(held.ids)
    }
    return Overlay(cpus, devices)
