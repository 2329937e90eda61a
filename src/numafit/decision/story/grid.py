"""What a merge found on each NUMA node: what is needed, free, offered at all, and held by whom."""

from collections.abc import Callable, Mapping

import msgspec

from numafit.decision.decision import MergeStep
from numafit.decision.held import memory_blocks
from numafit.decision.node import Node
from numafit.decision.story.supply import Supply, supply_of
from numafit.ledger.ledger import Ledger
from numafit.managers.ask import Ask
from numafit.managers.cpu.manager import CPU
from numafit.managers.device.manager import free_devices, is_plugin_resource
from numafit.managers.topology.hint import HintFamily, HintList

Namer = Callable[[str], str]
"""Pod UID -> a name for it."""


class HeldAcrossNodes(msgspec.Struct, frozen=True):
    """Bytes that lie somewhere on these NUMA nodes; the kubelet does not tell how many on which."""

    pod: str
    amount: int
    nodes: tuple[int, ...]


class Cell(msgspec.Struct, frozen=True):
    """One resource on one NUMA node, in base units (CPUs, bytes, devices)."""

    numa: int
    free: int
    """Nobody holds it."""
    allocatable: int
    """What the node could give to containers with nobody on it."""
    held: Mapping[str, int] = {}
    """Who holds some of it: `namespace/name` of the pod (its UID when it is known from a state file only) -> amount."""
    across: tuple[HeldAcrossNodes, ...] = ()
    """Who holds memory of this node and others together."""
    fits: bool = False
    """The whole request could be had from this node alone, now and by the rules of its manager: memory not from one
    node of a group, CPUs with full-pcpus-only in whole cores."""


class Row(msgspec.Struct, frozen=True):
    resource: str
    needed: int
    cells: tuple[Cell, ...]


def grid_of(node: Node, ask: Ask, step: MergeStep, named: Namer | None = None) -> tuple[Row, ...]:
    """Rows for what the managers look after: a pod that they skip has none but its devices.

    `named` gives names to holders that are not active: they are gone, or their turn is still to come.
    """
    ledger = step.ledger
    supply = supply_of(node, ask, step)
    names = {uid: pod.known_name for uid, pod in ledger.active.items()}
    if named is not None:
        holders = {**ledger.cpu.entries, **ledger.cpu.pod_entries, **ledger.memory.entries, **ledger.device.held}
        names |= {uid: named(uid) for uid in holders if uid not in names}
    hints: dict[str, HintList] = {name: found for own in step.providers for name, found in (own or {}).items()}
    rows = []
    looked_at = ask.pod_level != "skipped"
    cpus = ask.cpus[step.container] if step.container else ask.pod_cpus
    if cpus and node.cpu.static and looked_at:
        rows.append(Row(CPU, cpus, _cpu_cells(supply, names, cpus, hints.get(CPU))))
    memory = (ask.memory[step.container] if step.container else ask.pod_memory) or {}
    if node.memory is not None and node.memory.static and ask.guaranteed and looked_at:
        rows += [Row(name, size, _memory_cells(supply, names, name, size)) for name, size in sorted(memory.items())]
    devices = ask.devices[step.container] if step.container else ask.pod_devices
    for resource, count in sorted(devices.items()):
        if is_plugin_resource(ledger.device, resource):
            rows.append(Row(resource, count, _device_cells(supply, names, resource, count, hints.get(resource))))
    return tuple(rows)


def _offers(hints: HintList, numa: int) -> bool:
    """Whether the node alone is among the hints."""
    if isinstance(hints, HintFamily):
        return hints.holds(1 << numa)
    return any(mask is None or mask == 1 << numa for mask, _ in hints or ())


def _cpu_cells(supply: Supply, names: Mapping[str, str], needed: int, hints: HintList) -> tuple[Cell, ...]:
    manager, ledger = supply.node.cpu, supply.ledger.cpu
    free = manager.available(ledger)
    cells = []
    for numa, cpus in sorted(manager.topology.numa_nodes.items()):
        held: dict[str, int] = {}
        for uid in sorted({*ledger.entries, *ledger.pod_entries}):
            taken = ledger.pod_entries.get(uid, 0)
            for own in ledger.entries.get(uid, {}).values():
                taken |= own
            if taken & cpus:
                held[names.get(uid, uid)] = (taken & cpus).bit_count()
        fits = _offers(hints, numa) and _in_whole_cores(supply, cpus, needed)
        allocatable = (cpus & ~manager.reserved).bit_count()
        cells.append(Cell(numa, (free & cpus).bit_count(), allocatable, held, fits=fits))
    return tuple(cells)


def _in_whole_cores(supply: Supply, cpus: int, needed: int) -> bool:
    """Always without full-pcpus-only, and for who has its CPUs already."""
    manager = supply.node.cpu
    if not manager.options.full_pcpus_only or supply.holds(CPU):
        return True
    per_core = manager.topology.cpus_per_core
    own = supply.cpus() & cpus
    whole = sum(core.bit_count() for core in manager.topology.cores.values() if core & own == core)
    if (
        manager.behaviour.physical_cpu_check
        and needed > (supply.ledger.cpu.default & ~manager.reserved_cores).bit_count()
    ):
        return False
    return needed % per_core == 0 and whole >= needed


def _memory_cells(supply: Supply, names: Mapping[str, str], memory_type: str, needed: int) -> tuple[Cell, ...]:
    ledger = supply.ledger
    cells = []
    for numa, state in sorted(ledger.memory.nodes.items()):
        table = state.tables.get(memory_type)
        if table is None:
            continue
        held: dict[str, int] = {}
        across = []
        for uid in sorted({*ledger.memory.entries, *ledger.memory.pod_entries}):
            for block in memory_blocks(ledger, uid):
                if block.type != memory_type or numa not in block.numa:
                    continue
                if len(block.numa) == 1:
                    held[names.get(uid, uid)] = block.size
                else:
                    across.append(HeldAcrossNodes(names.get(uid, uid), block.size, block.numa))
        fits = len(state.cells) < 2 and supply.bytes_on(memory_type, numa) >= needed
        cells.append(Cell(numa, table.free, table.allocatable, held, tuple(across), fits))
    return tuple(cells)


def _device_cells(
    supply: Supply, names: Mapping[str, str], resource: str, needed: int, hints: HintList
) -> tuple[Cell, ...]:
    ledger: Ledger = supply.ledger
    devices = ledger.device.devices.get(resource, {})
    free = free_devices(ledger.device, resource)
    healthy = ledger.device.healthy.get(resource, frozenset())
    cells = []
    for numa in supply.numa_nodes:
        here = {device_id for device_id, device in devices.items() if numa in (device.numa or ())}
        held: dict[str, int] = {}
        for uid, containers in sorted(ledger.device.held.items()):
            ids = {device for own in containers.values() if resource in own for device in own[resource].ids}
            if ids & here:
                held[names.get(uid, uid)] = len(ids & here)
        offered = _offers(hints, numa) if hints is not None else len(here & supply.devices(resource)) >= needed
        cells.append(Cell(numa, len(here & free), len(here & healthy), held, fits=offered or not needed))
    return tuple(cells)
