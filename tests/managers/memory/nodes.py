"""Nodes with a memory manager, and what is held there."""

from numafit.decision.node import Node
from numafit.ledger.ledger import Hint, Ledger
from numafit.managers.memory.manager import MemoryManager
from numafit.workload.pod import Pod
from tests.decision.strategies import GI, MI, box, call_for, running, settings

BOTH_GATES = {"PodLevelResources": True, "PodLevelResourceManagers": True}
PAGES = "hugepages-1Gi"


def two_nodes(
    version: str = "1.36", pages: int = 0, gates: dict[str, bool] | None = None
) -> tuple[Node, MemoryManager, Ledger]:
    """10Gi allocatable memory on each of two NUMA nodes, and `pages` huge pages of 1Gi beside them."""
    hugepages = {GI: pages} if pages else {}
    machine = box(2, 4, memory=(11 + pages) * GI, hugepages=hugepages)
    reserved = {0: {"memory": "1Gi"}, 1: {"memory": "1Gi"}}
    ordered = settings(
        version, memory="Static", reserved_memory=reserved, gates={"MemoryManager": True, **(gates or {})}
    )
    node, ledger = running(machine, ordered)
    assert node.memory is not None
    return node, node.memory, ledger


def placed(node: Node, ledger: Ledger, wanted: Pod, hint: Hint = (None, False)) -> Ledger:
    """After all containers of `wanted` were allocated."""
    assert node.memory is not None
    call = call_for(node, ledger, wanted, hint)
    assert [node.memory.allocate(call, each) for each in wanted.all_containers] == [None] * len(wanted.all_containers)
    return call.ledger


def usage(ledger: Ledger, name: str = "memory") -> list[tuple[int, int, tuple[int, ...]]]:
    """Per node: gibibytes reserved, assignments, group."""
    nodes = ledger.memory.nodes.values()
    return [(node.tables[name].reserved // GI, node.assignments, node.cells) for node in nodes]


def sizes(ledger: Ledger, uid: str) -> dict[str, list[int]]:
    return {name: [block.size // MI for block in own] for name, own in ledger.memory.entries[uid].items()}
