"""Whether what a pod was given lies together: on as few NUMA nodes as the empty machine would need for it.

The unit is the container, or in the pod scope the pod. Only what is pinned counts: exclusive CPUs, memory blocks and
devices that name a NUMA node.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import comb

import msgspec

from numafit.decision.decision import Decision, Placement
from numafit.decision.node import Node
from numafit.machine.bits import mask_of

MOST_MASKS = 100_000
"""Sets of NUMA nodes that are looked at; beyond that a placement counts as good."""


class Given(msgspec.Struct, frozen=True):
    """What one unit holds. The amounts are CPUs, bytes and devices."""

    unit: str
    """The container; empty for the pod as a whole."""
    nodes: int
    """The NUMA nodes it lies on, as a mask."""
    amounts: Mapping[str, int]


def given_to(node: Node, decision: Decision) -> tuple[Given, ...]:
    """Units that hold nothing pinned are left out."""
    if node.topology.policy != "none" and node.topology.scope == "pod":
        units = [_given(node, decision, "", decision.containers.values())]
    else:
        units = [_given(node, decision, name, (placement,)) for name, placement in decision.containers.items()]
    return tuple(unit for unit in units if unit.nodes)


def crossing(node: Node, decision: Decision) -> tuple[Given, ...]:
    """The units that lie on more NUMA nodes than they need."""
    return tuple(unit for unit in given_to(node, decision) if _fits_fewer(node, decision, unit))


def is_aligned(node: Node, decision: Decision) -> bool:
    return decision.admitted and not crossing(node, decision)


def floating(node: Node, decision: Decision) -> tuple[str, ...]:
    """Containers that ask for a whole CPU or more, and yet run in the shared pool of a static CPU manager."""
    if not node.cpu.static or not decision.admitted:
        return ()
    found = []
    for container in decision.pod.containers:
        asked = container.requests.get("cpu")
        if asked is not None and asked.milli() >= 1000 and decision.containers[container.name].cpus is None:
            found.append(container.name)
    return tuple(found)


def _given(node: Node, decision: Decision, unit: str, placements: Iterable[Placement]) -> Given:
    cpus = nodes = 0
    amounts: dict[str, int] = {}
    devices: dict[str, set[str]] = {}
    for placement in placements:
        cpus |= placement.cpus or 0
        for block in placement.memory or ():
            nodes |= mask_of(block.numa)
            amounts[block.type] = amounts.get(block.type, 0) + block.size
        for resource, own in placement.devices.items():
            devices.setdefault(resource, set()).update(own)
    if cpus:
        amounts["cpu"] = cpus.bit_count()
    nodes |= mask_of(numa for numa, own in node.cpu.topology.numa_nodes.items() if own & cpus)
    shared = []
    for resource, ids in devices.items():
        places = _places(decision, resource)
        placed = [places[each] for each in ids if places.get(each)]
        if placed:
            amounts[resource] = len(placed)
        nodes |= sum({mask for mask in placed if mask.bit_count() == 1})
        shared += [mask for mask in placed if mask.bit_count() > 1]
    for mask in sorted(shared):
        # A device on several nodes is near to each of them.
        nodes |= 0 if mask & nodes else mask & -mask
    return Given(unit, nodes, amounts)


def _places(decision: Decision, resource: str) -> dict[str, int]:
    listed = decision.ledger.device.devices.get(resource, {})
    return {name: mask_of(device.numa or ()) for name, device in listed.items()}


def _fits_fewer(node: Node, decision: Decision, unit: Given) -> bool:
    """Whether the empty machine has a smaller set of NUMA nodes with room for all of it."""
    room = {resource: _room(node, decision, resource) for resource in unit.amounts}
    ids = sorted(numa.id for numa in node.machine.numa_nodes)
    looked_at = 0
    for size in range(1, unit.nodes.bit_count()):
        looked_at += comb(len(ids), size)
        if looked_at > MOST_MASKS:
            return False
        for chosen in combinations(ids, size):
            mask = mask_of(chosen)
            if all(_amount_on(room[resource], mask) >= amount for resource, amount in unit.amounts.items()):
                return True
    return False


def _room(node: Node, decision: Decision, resource: str) -> list[tuple[int, int]]:
    """(nodes, amount) parts of a resource on the empty machine."""
    if resource == "cpu":
        topology = node.cpu.topology
        return [(1 << numa, (own & ~node.cpu.reserved).bit_count()) for numa, own in topology.numa_nodes.items()]
    tables = [(1 << numa, own.tables[resource]) for numa, own in node.idle_memory.items() if resource in own.tables]
    if tables:
        return [(mask, table.allocatable) for mask, table in tables]
    return [(mask, 1) for mask in _places(decision, resource).values() if mask]


def _amount_on(parts: list[tuple[int, int]], mask: int) -> int:
    return sum(amount for nodes, amount in parts if nodes & mask)
