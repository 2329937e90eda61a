"""Who sits where: the owner of each exclusive CPU and each device, for drawings."""

from numafit.ledger.ledger import Ledger
from numafit.machine.bits import members
from numafit.machine.draw.plan import Overlay


def overlay_of(ledger: Ledger) -> Overlay:
    """Owners are named `namespace/name`, or by their UID when they are known from a state file only."""
    names = {uid: uid if pod.name == uid else f"{pod.namespace}/{pod.name}" for uid, pod in ledger.active.items()}
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
