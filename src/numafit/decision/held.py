"""Who holds what: the CPUs, bytes and devices of each pod, and the NUMA nodes they lie on."""

from collections.abc import Mapping

import msgspec

from numafit.bits import mask_of, members
from numafit.decision.node import Node
from numafit.ledger.ledger import Block, Ledger


class Holding(msgspec.Struct, frozen=True):
    """What the containers of one pod hold together."""

    cpus: int
    memory: tuple[Block, ...]
    """One block per set of nodes and type, sorted by both."""
    devices: Mapping[str, tuple[str, ...]]
    """Resource -> ids, both sorted."""
    nodes: tuple[int, ...]

    @property
    def empty(self) -> bool:
        return not (self.cpus or self.memory or self.devices)


def holdings(node: Node, ledger: Ledger) -> dict[str, Holding]:
    """By pod UID: active pods, whatever they hold, and others that still hold something."""
    numa_of = _numa_of(ledger)
    found: dict[str, Holding] = {}
    for uid in {**ledger.active, **ledger.cpu.entries, **ledger.memory.entries, **ledger.device.held}:
        holding = _holding(node, ledger, uid, numa_of)
        if uid in ledger.active or not holding.empty:
            found[uid] = holding
    return found


def stale_holdings(node: Node, ledger: Ledger) -> dict[str, Holding]:
    """By pod UID: what is counted of pods that are gone, or were rejected. CPUs go at the next tick of the CPU manager,
    the rest when a pod comes that asks for some."""
    return {uid: own for uid, own in holdings(node, ledger).items() if uid not in ledger.active}


def holding_of(node: Node, ledger: Ledger, uid: str) -> Holding:
    """Of one pod; an empty one where the ledger does not know it."""
    return _holding(node, ledger, uid, _numa_of(ledger))


def _numa_of(ledger: Ledger) -> dict[str, tuple[int, ...]]:
    """Device -> its NUMA nodes."""
    return {device.id: device.numa or () for own in ledger.device.devices.values() for device in own.values()}


def _holding(node: Node, ledger: Ledger, uid: str, numa_of: Mapping[str, tuple[int, ...]]) -> Holding:
    cpus = ledger.cpu.pod_entries.get(uid, 0)
    for own in ledger.cpu.entries.get(uid, {}).values():
        cpus |= own
    memory = memory_blocks(ledger, uid)
    devices = _devices(ledger, uid)
    nodes = mask_of(numa for block in memory for numa in block.numa)
    nodes |= mask_of(numa for ids in devices.values() for device in ids for numa in numa_of.get(device, ()))
    nodes |= mask_of(numa for numa, own in node.cpu.topology.numa_nodes.items() if own & cpus)
    return Holding(cpus, memory, devices, tuple(members(nodes)))


def memory_blocks(ledger: Ledger, uid: str) -> tuple[Block, ...]:
    """What a pod holds: one block per set of nodes and type, sorted by both."""
    blocks: list[Block] = list(ledger.memory.pod_entries.get(uid, ()))
    if not blocks:
        blocks = [block for own in ledger.memory.entries.get(uid, {}).values() for block in own]
    sums: dict[tuple[tuple[int, ...], str], int] = {}
    for block in blocks:
        key = (tuple(sorted(block.numa)), block.type)
        sums[key] = sums.get(key, 0) + block.size
    return tuple(Block(nodes, kind, size) for (nodes, kind), size in sorted(sums.items()) if size)


CountedBytes = tuple[int, str, int]
"""NUMA node, memory type, bytes."""


def memory_parts(ledger: Ledger, held: Mapping[str, Holding]) -> dict[str, tuple[CountedBytes, ...]]:
    """Pod UID -> where its bytes are counted, node by node, so that each node has as many as the ledger says.

    A block on several nodes says only how large it is; the kubelet takes from the first of them what is free there, and
    the rest from the next, and counts it so. Of several blocks on the same nodes the one that came first is laid first.
    Bytes that no node counts stand on the first node of their block.
    """
    counted = {
        (numa, kind): table.reserved for numa, own in ledger.memory.nodes.items() for kind, table in own.tables.items()
    }
    sums: dict[str, dict[tuple[int, str], int]] = {}
    blocks = [(uid, block) for uid, own in held.items() for block in own.memory]
    # Those of one node first: there is no choice in them.
    for uid, block in sorted(blocks, key=lambda one: len(one[1].numa) > 1):
        rest = block.size
        own = sums.setdefault(uid, {})
        for numa in block.numa:
            key = (numa, block.type)
            here = min(rest, counted.get(key, 0))
            counted[key] = counted.get(key, 0) - here
            own[key] = own.get(key, 0) + here
            rest -= here
        first = (block.numa[0], block.type)
        own[first] += rest
    return {
        uid: tuple((numa, kind, size) for (numa, kind), size in sorted(own.items()) if size)
        for uid, own in sums.items()
    }


def _devices(ledger: Ledger, uid: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for resources in ledger.device.held.get(uid, {}).values():
        for resource, held in resources.items():
            found.setdefault(resource, set()).update(held.ids)
    return {resource: tuple(sorted(ids)) for resource, ids in sorted(found.items())}
