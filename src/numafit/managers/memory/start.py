"""The memory manager when the kubelet starts: its policy, the reserved memory, and the state it finds on disk."""

from collections.abc import Mapping

from numafit.bits import cpuset_text, mask_of
from numafit.errors import KubeletError, KubeletPanic, StartError
from numafit.golang.text import quoted
from numafit.ledger.ledger import Block, MemoryFile, MemoryLedger, MemoryNode, MemoryTable
from numafit.machine.model import Machine
from numafit.managers.ask import MEMORY, is_memory
from numafit.managers.memory.manager import MemoryManager
from numafit.managers.memory.nodes import WRAP, MemoryNodes, fill, table_of
from numafit.managers.protocol import Choices
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.allocatable import capacity_of
from numafit.settings.settings import Settings

NEW = "memorymanager.NewManager"
START = "memorymanager.Start"

ZERO = parse_quantity("0")

RESERVED_MEMORY = ("reservedMemory",)

ReservedBytes = Mapping[int, Mapping[str, int]]


def new_memory_manager(machine: Machine, settings: Settings) -> tuple[MemoryManager, dict[int, MemoryNode]]:
    """The manager, and the state of an idle machine."""
    policy = settings.memory_policy
    behaviour = settings.behaviour
    pod_entries = settings.gate("PodLevelResourceManagers")
    if policy == "None":
        return MemoryManager(False, behaviour, pod_entries), {}
    if policy == "BestEffort" and behaviour.memory_platform_text:
        text = 'policy "BestEffort" is not available for platform "linux"'
        raise StartError(NEW, text, code="memory-policy", field=("memoryManagerPolicy",))
    if policy != "Static":
        text = f"unknown policy: {quoted(policy)}"
        raise StartError(NEW, text, code="memory-policy", field=("memoryManagerPolicy",))
    _check_totals(machine, settings)
    reserved = _reserved_bytes(settings)
    if not sum(types.get(MEMORY, 0) for types in reserved.values()) & WRAP:
        text = "[memorymanager] you should specify the system reserved memory"
        raise StartError(NEW, text, code="memory-none", field=("memoryManagerPolicy",))
    return MemoryManager(True, behaviour, pod_entries), idle_nodes(machine, reserved)


def _check_totals(machine: Machine, settings: Settings) -> None:
    """Per type the reservations must add up to what Node Allocatable reserves."""
    known = {node.id for node in machine.numa_nodes}
    totals: dict[str, Quantity] = {}
    for index, reservation in enumerate(settings.reserved_memory):
        if reservation.numa_node not in known:
            raise StartError(
                NEW,
                f"the reserved memory configuration references a NUMA node {reservation.numa_node} "
                "that does not exist on this machine",
                code="memory-node",
                field=(*RESERVED_MEMORY, index, "numaNode"),
                facts={"nodes": cpuset_text(mask_of(known))},
            )
        for memory_type, quantity in reservation.limits.items():
            # The newer quantity comes first: the sum prints in its format.
            totals[memory_type] = quantity + totals[memory_type] if memory_type in totals else quantity
    types = set(totals) | {name for name in settings.reservation if is_memory(name)}
    for memory_type in sorted(types):
        listed = ZERO + totals.get(memory_type, ZERO)
        wanted = ZERO + settings.reservation.get(memory_type, ZERO)
        if listed != wanted:
            raise StartError(
                NEW,
                f'the total amount "{listed}" of type "{memory_type}" is not equal to the value "{wanted}" '
                "determined by Node Allocatable feature",
                code="memory-total" if memory_type == MEMORY else "pages-total",
                field=RESERVED_MEMORY,
                facts={
                    "resource": memory_type,
                    "listed": str(listed),
                    "wanted": str(wanted),
                    "capacity": str(capacity_of(machine)[MEMORY]),
                },
            )


def _reserved_bytes(settings: Settings) -> dict[int, dict[str, int]]:
    reserved: dict[int, dict[str, int]] = {}
    for index, reservation in enumerate(settings.reserved_memory):
        for memory_type, quantity in reservation.limits.items():
            size = quantity.as_int64()
            if size is None:
                text = "could not covert a variable of type Quantity to int64"
                field = (*RESERVED_MEMORY, index, "limits", memory_type)
                raise StartError(NEW, text, code="memory-amount", field=field, facts={"amount": str(quantity)})
            reserved.setdefault(reservation.numa_node, {})[memory_type] = size & WRAP
    return reserved


def hugepage_resource(page_size: int) -> str:
    """`hugepages-2Mi` for 2097152 bytes."""
    for suffix, factor in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if page_size % factor == 0:
            return f"hugepages-{page_size // factor}{suffix}"
    return f"hugepages-{page_size}"


def idle_nodes(machine: Machine, reserved: ReservedBytes) -> dict[int, MemoryNode]:
    """No sanity check: reservations above what a node has wrap around, and the node looks endless (1.21 to 1.36)."""
    nodes = {}
    for node in machine.numa_nodes:
        own = reserved.get(node.id, {})
        tables = {}
        hugepages = 0
        for page_size, pages in node.hugepages.items():
            memory_type = hugepage_resource(page_size)
            total = pages * page_size
            hugepages += total
            tables[memory_type] = _idle_table(total, own.get(memory_type, 0), 0)
        tables[MEMORY] = _idle_table(node.memory, own.get(MEMORY, 0), hugepages)
        nodes[node.id] = MemoryNode(0, tables, (node.id,))
    return nodes


def _idle_table(total: int, reserved: int, hugepages: int) -> MemoryTable:
    allocatable = total - reserved - hugepages & WRAP
    return MemoryTable(total, reserved, allocatable, 0, allocatable)


def start_memory_manager(
    manager: MemoryManager, idle: MemoryNodes, settings: Settings, text: str | None, choices: Choices
) -> MemoryLedger:
    restored = MemoryFile(settings.memory_policy)
    if text is not None:
        # A node that starts empty needs no reader, and a command starts quicker without it.
        from numafit.ledger.files.memory import read_memory

        try:
            restored = read_memory(
                text,
                policy=settings.memory_policy,
                behaviour=settings.behaviour,
                gate=manager.pod_entries,
                state_dir=settings.state_dir,
            )
        except KubeletError as error:
            raise StartError(START, str(error), cause=error) from error
    ledger = MemoryLedger(nodes=restored.nodes, entries=restored.entries, pod_entries=restored.pod_entries, file=text)
    if not manager.static:
        return ledger
    if not ledger.nodes:
        if ledger.entries:
            problem = "[memorymanager] machine state can not be empty when it has memory assignments"
            raise StartError(START, problem, code="memory-state-empty")
        return MemoryLedger(nodes=idle, pod_entries=ledger.pod_entries)
    expected = _expected(manager, idle, ledger, choices)
    try:
        same = _same_state(ledger.nodes, expected, manager.behaviour.memory_group_sums)
    except KubeletPanic as error:
        raise StartError(START, f"PANIC: {error}", code="memory-state-panic") from error
    if not same:
        problem = "[memorymanager] the expected machine state is different from the real one"
        raise StartError(START, problem, code="memory-state-differs")
    return ledger


def _expected(manager: MemoryManager, idle: MemoryNodes, ledger: MemoryLedger, choices: Choices) -> MemoryNodes:
    """The idle machine with all stored blocks charged again."""
    nodes: MemoryNodes = idle
    pods = ledger.pod_entries if manager.pod_entries else {}
    refs = [
        (uid, container)
        for uid, containers in ledger.entries.items()
        for container in (("",) if pods.get(uid) else containers)
    ]
    for uid, container in choices.stale(refs):
        blocks = ledger.entries[uid][container] if container else pods[uid]
        for block in blocks:
            _check_block(nodes, uid, container, block)
            nodes = fill(nodes, block.numa, block.type, block.size)
    return nodes


def _check_block(nodes: MemoryNodes, uid: str, container: str, block: Block) -> None:
    for node_id in block.numa:
        place = f"[memorymanager] (pod: {uid}, container: {container}) the memory assignment uses"
        if node_id not in nodes:
            raise StartError(START, f"{place} the NUMA that does not exist", code="memory-state-gone")
        if block.type not in nodes[node_id].tables:
            raise StartError(START, f"{place} memory resource that does not exist", code="memory-state-gone")


def _same_state(real: MemoryNodes, expected: MemoryNodes, group_sums: bool) -> bool:
    if real.keys() != expected.keys():
        return False
    for node_id, node in real.items():
        other = expected[node_id]
        if node.assignments != other.assignments or mask_of(node.cells) != mask_of(other.cells):
            return False
        if node.tables.keys() != other.tables.keys():
            return False
        if not group_sums:
            if node.tables != other.tables:
                return False
            continue
        for memory_type, table in node.tables.items():
            expected_table = other.tables[memory_type]
            if (table.total, table.system_reserved, table.allocatable) != (
                expected_table.total,
                expected_table.system_reserved,
                expected_table.allocatable,
            ):
                return False
            if _group_sums(real, node, memory_type) != _group_sums(expected, node, memory_type):
                return False
    return True


def _group_sums(nodes: MemoryNodes, node: MemoryNode, memory_type: str) -> tuple[int, int]:
    tables = [table_of(nodes[i], memory_type) for i in node.cells]
    return sum(table.free for table in tables) & WRAP, sum(table.reserved for table in tables) & WRAP
