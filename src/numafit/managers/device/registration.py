"""Plugins come and go: what becomes of a resource whose plugin has ended, and of one that several plugins share.

A registration changes nothing by itself; the list that follows it does (`DeviceManager.listed`), and it replaces the
one before whoever sent it: lists of two plugins for one resource never add up. When a plugin has ended
(`DeviceManager.stopped`) its devices are unhealthy and still counted as capacity. After `GRACE_PERIOD` the resource is
given up: the next report of the node's status writes the state file without it, and the node object lists it with 0. A
plugin that registers within that time finds all as it was; one that comes later brings the resource back.

Two plugins for one resource: the newest is asked to allocate. What the end of one of them does is
`Behaviour.device_plugin_end`.
"""

from msgspec.structs import replace

from numafit.ledger.ledger import DeviceLedger
from numafit.managers.device.manager import DeviceManager, written

GRACE_PERIOD = 5 * 60
"""Seconds that a resource is kept after its plugin has ended, and after a start until it registers (all releases)."""


def forgotten(ledger: DeviceLedger, resource: str) -> DeviceLedger:
    """The grace period is over without a plugin: the state file is written without the resource (all releases).

    What a container holds stays, and the kubelet keeps the old list for the places of such devices. A resource that is
    held is still one of a plugin, and a pod that asks for it is refused; otherwise the manager passes it by.
    """
    if resource in ledger.connected or resource not in ledger.healthy:
        return ledger
    return written(replace(ledger, healthy={name: ids for name, ids in ledger.healthy.items() if name != resource}))


def ended(manager: DeviceManager, ledger: DeviceLedger, resource: str, *, newest: bool, last: bool) -> DeviceLedger:
    """One of several plugins of the resource ends. `newest`: it registered last; `last`: no other is left.

    Where another stays in charge the list that came last stays, even if it was sent by the one that left.
    """
    match manager.behaviour.device_plugin_end:
        case "newest":
            counts = newest
        case "last":
            counts = last
        case _:
            counts = True
    return manager.stopped(ledger, resource) if counts else ledger
