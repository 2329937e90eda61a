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


def memory_parts(ledger: Ledger) -> dict[tuple[str, tuple[int, ...], str], tuple[int, ...]]:
    """(pod UID, nodes, type) of each block -> its bytes on each of these nodes, in their order.

    The kubelet writes down how much of each node is taken, not whose it is. Of one block over several nodes that tells
    all; of several over the same nodes the first in the ledger lies on the lowest, as the kubelet fills them, and
    together they are what is taken there.
    """
    blocks = [(uid, block) for uid in _memory_holders(ledger) for block in memory_blocks(ledger, uid)]
    taken: dict[tuple[int, str], int] = {
        (numa, kind): table.reserved
        for numa, node in ledger.memory.nodes.items()
        for kind, table in node.tables.items()
    }
    for _, block in blocks:
        if len(block.numa) == 1:
            key = (block.numa[0], block.type)
            taken[key] = taken.get(key, 0) - block.size
    return {
        (uid, block.numa, block.type): (block.size,) if len(block.numa) == 1 else _parts(block, taken)
        for uid, block in blocks
    }


def _memory_holders(ledger: Ledger) -> dict[str, object]:
    return {**ledger.memory.pod_entries, **ledger.memory.entries}


def _parts(block: Block, taken: dict[tuple[int, str], int]) -> tuple[int, ...]:
    parts, left = [], block.size
    for place, numa in enumerate(block.numa, 1):
        here = min(left, max(0, taken.get((numa, block.type), 0)))
        # What a ledger that was written by hand takes nowhere lies on the last.
        parts.append(left if place == len(block.numa) else here)
        taken[numa, block.type] = taken.get((numa, block.type), 0) - parts[-1]
        left -= parts[-1]
    return tuple(parts)


def _devices(ledger: Ledger, uid: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for resources in ledger.device.held.get(uid, {}).values():
        for resource, held in resources.items():
            found.setdefault(resource, set()).update(held.ids)
    return {resource: tuple(sorted(ids)) for resource, ids in sorted(found.items())}
