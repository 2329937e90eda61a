"""A decision told: what was needed and free where, what each manager offered, what the merge made of it, and why.

All of it is read off the `Decision`; nothing is decided here a second time.
"""

from collections.abc import Mapping

import msgspec

from numafit.decision.decision import Decision, MergeStep
from numafit.decision.node import Node
from numafit.decision.story_words import hints_in_words, nodes_in_words, sentence_of
from numafit.ledger.ledger import Hint, Ledger
from numafit.managers.ask import Ask, ask_of
from numafit.managers.device import free_devices, is_plugin_resource


class Cell(msgspec.Struct, frozen=True):
    """One resource on one NUMA node, in base units (CPUs, bytes, devices)."""

    numa: int
    free: int
    allocatable: int
    """What a node with nobody on it would offer to containers."""
    held: Mapping[str, int] = {}
    """Who holds the rest: `namespace/name` of the pod (its UID when it is known from a state file only) -> amount."""


class Row(msgspec.Struct, frozen=True):
    resource: str
    needed: int
    cells: tuple[Cell, ...]


class Chapter(msgspec.Struct, frozen=True):
    """One merge of the decision."""

    container: str
    """Empty in the pod scope, where there is one merge for all containers."""
    grid: tuple[Row, ...]
    hints: Mapping[str, str]
    """Resource -> its hints in words; a manager without preference stands under its own name."""
    best: Hint
    outcome: str


class Story(msgspec.Struct, frozen=True):
    sentence: str
    chapters: tuple[Chapter, ...]


def story_of(node: Node, decision: Decision) -> Story:
    ask = ask_of(decision.pod, node.settings)
    chapters = tuple(_chapter(node, decision, ask, step) for step in decision.merges or ())
    return Story(sentence_of(node, decision, ask), chapters)


def story_record(decision: Decision, story: Story) -> dict[str, object]:
    """The decision with its story, as JSON that msgspec encodes."""
    return {
        "pod": f"{decision.pod.namespace}/{decision.pod.name}",
        "admitted": decision.admitted,
        "reason": decision.reason,
        "message": decision.message,
        "story": story,
    }


def _chapter(node: Node, decision: Decision, ask: Ask, step: MergeStep) -> Chapter:
    hints: dict[str, str] = {}
    for manager, own in zip(("devices", "cpu", "memory"), step.providers, strict=False):
        if not own:
            hints[manager] = "no preference"
        for resource, listed in (own or {}).items():
            hints[resource] = hints_in_words(listed)
    mask, preferred = step.best
    where = "any NUMA node" if mask is None else nodes_in_words(mask)
    verdict = "accepts" if step.admit else "rejects"
    word = "preferred" if preferred else "not preferred"
    outcome = f"merged to {where}, {word}: {node.topology.policy} {verdict}"
    return Chapter(step.container, _grid(node, ask, step), hints, step.best, outcome)


def _grid(node: Node, ask: Ask, step: MergeStep) -> tuple[Row, ...]:
    ledger = step.ledger
    names = _pod_names(ledger)
    rows = []
    cpus = ask.cpus[step.container] if step.container else ask.pod_cpus
    if cpus and node.cpu.static:
        rows.append(Row("cpu", cpus, _cpu_cells(node, ledger, names)))
    memory = (ask.memory[step.container] if step.container else ask.pod_memory) or {}
    if node.memory is not None and node.memory.static and ask.guaranteed:
        rows += [Row(name, size, _memory_cells(node, ledger, names, name)) for name, size in sorted(memory.items())]
    devices = ask.devices[step.container] if step.container else ask.pod_devices
    for resource, count in sorted(devices.items()):
        if is_plugin_resource(ledger.device, resource):
            rows.append(Row(resource, count, _device_cells(node, ledger, names, resource)))
    return tuple(rows)


def _pod_names(ledger: Ledger) -> dict[str, str]:
    return {uid: uid if pod.name == uid else f"{pod.namespace}/{pod.name}" for uid, pod in ledger.active.items()}


def _cpu_cells(node: Node, ledger: Ledger, names: Mapping[str, str]) -> tuple[Cell, ...]:
    free = node.cpu.available(ledger.cpu)
    cells = []
    for numa, cpus in sorted(node.cpu.topology.numa_nodes.items()):
        held: dict[str, int] = {}
        for uid, containers in sorted(ledger.cpu.entries.items()):
            taken = 0
            for own in containers.values():
                taken |= own & cpus
            if taken:
                held[names.get(uid, uid)] = taken.bit_count()
        cells.append(Cell(numa, (free & cpus).bit_count(), (cpus & ~node.cpu.reserved).bit_count(), held))
    return tuple(cells)


def _memory_cells(node: Node, ledger: Ledger, names: Mapping[str, str], memory_type: str) -> tuple[Cell, ...]:
    cells = []
    for numa, state in sorted(ledger.memory.nodes.items()):
        table = state.tables.get(memory_type)
        if table is None:
            continue
        held: dict[str, int] = {}
        for uid, containers in sorted(ledger.memory.entries.items()):
            size = sum(
                block.size
                for blocks in containers.values()
                for block in blocks
                if block.type == memory_type and numa in block.numa
            )
            if size:
                held[names.get(uid, uid)] = size
        cells.append(Cell(numa, table.free, table.allocatable, held))
    return tuple(cells)


def _device_cells(node: Node, ledger: Ledger, names: Mapping[str, str], resource: str) -> tuple[Cell, ...]:
    devices = ledger.device.devices.get(resource, {})
    free = free_devices(ledger.device, resource)
    cells = []
    for numa in sorted(numa.id for numa in node.machine.numa_nodes):
        here = {device_id for device_id, device in devices.items() if numa in (device.numa or ())}
        held: dict[str, int] = {}
        for uid, containers in sorted(ledger.device.held.items()):
            ids = {device for own in containers.values() if resource in own for device in own[resource].ids}
            if ids & here:
                held[names.get(uid, uid)] = len(ids & here)
        cells.append(Cell(numa, len(here & free), len(here), held))
    return tuple(cells)
