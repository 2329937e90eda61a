"""Whether a ledger can be one of its node: an agent with a fault must not bring down whoever reads what it wrote."""

from collections.abc import Iterator

from numafit.bits import cpuset_text, mask_of
from numafit.decision.node import Node
from numafit.errors import InputError
from numafit.ledger.ledger import Block, Ledger


def check_ledger(node: Node, ledger: Ledger, source: str) -> None:
    """Raises InputError where it tells of CPUs, NUMA nodes or types of memory that the machine does not have."""
    there = mask_of(cpu.id for cpu in node.machine.cpus)
    for field, cpus in _cpus(ledger):
        if cpus & ~there:
            message = f"is damaged: the machine has no CPU {cpuset_text(cpus & ~there)[:60]}"
            raise InputError(message, source=source, field=field)
    if node.memory is None or not node.memory.static:
        return
    told = {numa: frozenset(own.tables) for numa, own in ledger.memory.nodes.items()}
    if told != {numa: frozenset(own.tables) for numa, own in node.idle_memory.items()}:
        message = "is damaged: it does not tell of the NUMA nodes and the types of memory that the machine has"
        raise InputError(message, source=source, field="status.memory")
    for block in _blocks(ledger):
        if any(block.type not in told.get(numa, ()) for numa in block.numa) or not block.numa:
            message = f"is damaged: {block.type[:60]} is held on NUMA nodes that have none"
            raise InputError(message, source=source, field="status.holders")


def _cpus(ledger: Ledger) -> Iterator[tuple[str, int]]:
    yield "status.sharedPool", ledger.cpu.default
    for own in ledger.cpu.entries.values():
        yield from (("status.holders", cpus) for cpus in own.values())
    yield from (("status.holders", cpus) for cpus in ledger.cpu.pod_entries.values())


def _blocks(ledger: Ledger) -> Iterator[Block]:
    for own in ledger.memory.entries.values():
        for blocks in own.values():
            yield from blocks
    for blocks in ledger.memory.pod_entries.values():
        yield from blocks
