"""Restarts of a node that is known by its ledger only, as recordings of the managers have them."""

from collections.abc import Sequence

from msgspec.structs import replace

from numafit.decision.history.event import Beginning
from numafit.decision.history.restart import Restart, restart
from numafit.decision.history.situation import situation_of
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Device


def restart_with(node: Node, ledger: Ledger, devices: Sequence[Device], *, plugins_first: bool) -> Restart:
    """Nobody knows what the node offers as a whole; every plugin lists those of the devices that are its."""
    plugins = {
        resource: tuple(device for device in devices if device.resource == resource) for resource in node.device.plugins
    }
    begin = replace(situation_of(node, ledger, None), plugins=plugins)
    return restart(begin, Beginning("first" if plugins_first else "late"))
