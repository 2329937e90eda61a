"""A decision told: what was needed and free where, what each manager offered, what the merge made of it, and why.

All of it is read off the `Decision`; nothing is decided here a second time.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from numafit.bits import cpuset_text
from numafit.decision.decision import Decision, MergeStep
from numafit.decision.node import Node
from numafit.ledger.ledger import Hint, Ledger
from numafit.managers.ask import Ask, ask_of, is_memory
from numafit.managers.device.manager import free_devices, is_plugin_resource
from numafit.managers.protocol import SMT_ALIGNMENT, TOPOLOGY_AFFINITY
from numafit.managers.topology.hint import HintFamily, HintList, ProviderHints
from numafit.quantity import Quantity


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
    return Story(decision_sentence(node, decision, ask), chapters)


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
    return {uid: pod.known_name for uid, pod in ledger.active.items()}


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


MOST_LISTED = 6
"""Longer hint lists are cut: the preferred hints come first."""


def nodes_in_words(mask: int) -> str:
    word = "node" if mask.bit_count() == 1 else "nodes"
    return f"{word} {cpuset_text(mask)}"


def amount_in_words(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount} CPU" if amount == 1 else f"{amount} CPUs"
    if is_memory(resource):
        size = str(Quantity(amount, 0, "BinarySI"))
        return size if resource == "memory" else f"{size} of {resource}"
    return f"{amount} {resource}"


def hints_in_words(hints: HintList) -> str:
    if hints is None:
        return "no preference"
    if isinstance(hints, HintFamily):
        number = hints.count()
        return f"{'many' if number is None else number} masks of {hints.ground.bit_count()} nodes"
    if not hints:
        return "cannot be satisfied"
    ordered = sorted(hints, key=lambda hint: not hint[1])
    words = [
        f"{'any node' if mask is None else nodes_in_words(mask)}{' (preferred)' if preferred else ''}"
        for mask, preferred in ordered[:MOST_LISTED]
    ]
    if len(ordered) > MOST_LISTED:
        words.append(f"{len(ordered) - MOST_LISTED} more")
    return ", ".join(words)


def decision_sentence(node: Node, decision: Decision, ask: Ask, who: str = "") -> str:
    """Why, in one sentence that names the resources and the NUMA nodes.

    `who` is what a merge rejects, where its reader knows neither a pod nor a container.
    """
    if decision.panic:
        return f"The kubelet would crash here: {decision.panic}."
    if decision.admitted:
        return _admitted(decision)
    step = rejected_merge(decision)
    if step is not None:
        who = who or container_in_words(step.container)
        return no_common_node(node.topology.policy, who, step.providers, _needs(ask, step))
    merged, short = bool(decision.merges), bool(decision.shortage)
    return refusal_in_words(decision.reason, decision.message, merged=merged, short=short)


def rejected_merge(decision: Decision) -> MergeStep | None:
    """The merge that is to blame; the sentence of any other rejection quotes the kubelet's message."""
    return decision.merges[-1] if decision.reason == TOPOLOGY_AFFINITY and decision.merges else None


def container_in_words(container: str) -> str:
    """Empty in the pod scope."""
    return f"container {container}" if container else "the pod"


def refusal_in_words(reason: str, message: str, *, merged: bool, short: bool) -> str:
    """A rejection that the merge is not to blame for.

    `merged`: there was a merge, and it let the pod pass; `short`: the managers did, and the node as a whole did not.
    """
    if reason == SMT_ALIGNMENT:
        return f"full-pcpus-only gives whole cores only. {message}."
    if short:
        return f"The managers found a place, but the node as a whole is short of it: {message}."
    if merged:
        return f"The merge let the pod pass, then a manager could not allocate: {message}."
    return f"A manager could not allocate: {message}."


def _admitted(decision: Decision) -> str:
    nodes = 0
    for placement in decision.containers.values():
        nodes |= placement.affinity[0] or 0
    cpus = 0
    for placement in decision.containers.values():
        cpus |= placement.cpus or 0
    devices = {device for own in decision.containers.values() for ids in own.devices.values() for device in ids}
    return admission_in_words(nodes, cpus, devices, preferred=all(step.best[1] for step in decision.merges or ()))


def admission_in_words(nodes: int, cpus: int, devices: Collection[str], *, preferred: bool) -> str:
    parts = [f"CPUs {cpuset_text(cpus)}" if cpus else "the shared CPUs", *sorted(devices)]
    where = f" on {nodes_in_words(nodes)}" if nodes else ""
    crossing = "" if preferred else ", although not as near as an empty machine would allow"
    return f"Admitted{where} with {', '.join(parts)}{crossing}."


def no_common_node(policy: str, who: str, providers: Sequence[ProviderHints], needs: Mapping[str, int]) -> str:
    """Why a merge was rejected. `policy` is empty where it is not known; resources that `needs` does not name are told
    without their amount."""
    narrow = policy == "single-numa-node"
    clauses, blocked = [], []
    for own in providers:
        for resource, hints in (own or {}).items():
            if hints is None:
                continue
            amount = amount_in_words(resource, needs[resource]) if resource in needs else _unknown_amount(resource)
            clause, preferred = _offer(amount, hints, narrow)
            clauses.append(clause)
            if not preferred:
                blocked.append(clause)
    verdict = f"`{policy}` rejects {who}" if policy else f"the topology manager rejects {who}"
    if blocked:
        return _upper(f"{'; '.join(blocked)}: {verdict}.")
    return _upper(f"{', '.join(clauses)}: no common place, so {verdict}.")


def _unknown_amount(resource: str) -> str:
    if resource == "cpu":
        return "the CPUs"
    return f"the {resource} pages" if is_memory(resource) else f"the {resource} devices"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _needs(ask: Ask, step: MergeStep) -> Mapping[str, int]:
    if step.container:
        memory = ask.memory[step.container] or {}
        return {"cpu": ask.cpus[step.container], **memory, **ask.devices[step.container]}
    return {"cpu": ask.pod_cpus, **(ask.pod_memory or {}), **ask.pod_devices}


def _offer(amount: str, hints: HintList, narrow: bool) -> tuple[str, list[int]]:
    """What a resource can do in words, and the masks that the policy would take from it."""
    if isinstance(hints, HintFamily):
        return f"{amount} fit on {hints_in_words(hints)}", [0]
    if not hints:
        return f"{amount} are more than is free", []
    preferred = [mask for mask, good in hints if good and mask is not None and (not narrow or mask.bit_count() == 1)]
    if preferred:
        places = " or ".join(nodes_in_words(mask) for mask in preferred[:MOST_LISTED])
        return f"{amount} fit only on {places}", preferred
    masks = [mask for mask, _ in hints if mask is not None]
    least = min(masks, key=lambda mask: (mask.bit_count(), mask), default=0)
    if any(good for _, good in hints):
        return f"{amount} need {nodes_in_words(least)} together", []
    return f"{amount} would fit fewer nodes, but are free only across {nodes_in_words(least)}", []
