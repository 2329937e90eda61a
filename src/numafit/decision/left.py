"""What is left on each NUMA node: exclusive CPUs, bytes and devices that nobody holds."""

from collections.abc import Mapping

import msgspec

from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.managers.device.manager import free_devices


class NodeLeft(msgspec.Struct, frozen=True):
    numa: int
    cpus: int
    """CPUs that could still become exclusive: none without a static CPU manager."""
    memory: Mapping[str, int]
    """Memory type -> bytes, sorted; empty where the memory manager looks after none."""
    devices: Mapping[str, tuple[str, ...]]
    """Resource -> free ids, both sorted; a resource whose devices here are all held is there, and empty."""


def left_on_nodes(node: Node, ledger: Ledger) -> tuple[NodeLeft, ...]:
    """By NUMA node id."""
    free = node.cpu.available(ledger.cpu) if node.cpu.static else 0
    return tuple(
        NodeLeft(
            numa,
            free & node.cpu.topology.numa_nodes.get(numa, 0),
            _memory(ledger, numa),
            _devices(ledger, numa),
        )
        for numa in sorted(numa.id for numa in node.machine.numa_nodes)
    )


def _memory(ledger: Ledger, numa: int) -> dict[str, int]:
    nodes = ledger.memory.nodes
    return {name: table.free for name, table in sorted(nodes[numa].tables.items())} if numa in nodes else {}


def _devices(ledger: Ledger, numa: int) -> dict[str, tuple[str, ...]]:
    found = {}
    for resource, devices in sorted(ledger.device.devices.items()):
        here = {name for name, device in devices.items() if numa in (device.numa or ())}
        if here:
            found[resource] = tuple(sorted(here & free_devices(ledger.device, resource)))
    return found
