"""What of a node is held, free and stranded.

Stranded is what is free and cannot be used together with the rest. It is looked for on each NUMA node by itself, among
three kinds: CPUs that can become exclusive, GPUs, and memory that the memory manager gives away. A kind is used up on a
NUMA node that has some of it where less is free than one pod could take: no GPU; no CPU, or with `full-pcpus-only` no
whole core; less memory than one CPU's share of it. Where a kind is used up, what is free there of the other kinds is
stranded. With `full-pcpus-only` a free CPU of a core that is held in part is stranded, too.
"""

from collections.abc import Iterator, Mapping

import msgspec

from numafit.fleet.state import NodeState
from numafit.machine.model import Device
from numafit.managers.device.manager import free_devices

MEMORY = "memory"
GPU_KINDS = ("gpu", "mig")


class KindUsage(msgspec.Struct, frozen=True):
    """CPUs, GPUs, or bytes."""

    total: int = 0
    free: int = 0
    stranded: int = 0

    @property
    def held(self) -> int:
        return self.total - self.free

    def plus(self, other: "KindUsage") -> "KindUsage":
        return KindUsage(self.total + other.total, self.free + other.free, self.stranded + other.stranded)


class NodeUsage(msgspec.Struct, frozen=True):
    cpus: KindUsage
    """Those that can be exclusive; none without a static CPU manager."""
    gpus: KindUsage
    memory: KindUsage
    """What the memory manager gives away; none where it does not pin."""
    largest: int
    """The most CPUs that are free on one NUMA node."""
    pods: int
    largest_gpus: int = 0
    """The most GPUs that are free on one NUMA node, each with its share of the CPUs of that NUMA node."""


class _Kind(msgspec.Struct, frozen=True):
    """One kind on one NUMA node."""

    whole: int
    free: int
    least: int
    """Less than this is of no use."""
    scraps: int = 0
    """Free, and of no use whatever else is free."""


def usage_of(state: NodeState) -> NodeUsage:
    node, ledger = state.node, state.ledger
    gpus = {name: listed for name, listed in ledger.device.devices.items() if _are_gpus(name, listed)}
    free_gpus = {(name, id) for name in gpus for id in free_devices(ledger.device, name)}
    numa_nodes = {own.id: dict(_kinds(state, own.id, gpus, free_gpus)) for own in node.machine.numa_nodes}
    lost = {numa: _stranded(kinds) for numa, kinds in numa_nodes.items()}
    own_cpus = node.cpu.topology.cpus & ~node.cpu.reserved if node.cpu.static else 0
    free_cpus = node.cpu.available(ledger.cpu).bit_count() if node.cpu.static else 0
    return NodeUsage(
        KindUsage(own_cpus.bit_count(), free_cpus, sum(own.get("cpu", 0) for own in lost.values())),
        KindUsage(
            sum(map(len, gpus.values())),
            len(free_gpus),
            sum(_is_lost(gpus[name][id], lost) for name, id in free_gpus),
        ),
        _memory(state, sum(own.get(MEMORY, 0) for own in lost.values())),
        max((kinds["cpu"].free for kinds in numa_nodes.values() if "cpu" in kinds), default=0),
        len(ledger.active),
        max(map(_gpus_with_cpus, numa_nodes.values()), default=0),
    )


def _gpus_with_cpus(kinds: Mapping[str, _Kind]) -> int:
    """Where CPUs cannot be exclusive, GPUs alone."""
    gpus, cpus = kinds.get("gpu"), kinds.get("cpu")
    if gpus is None:
        return 0
    return gpus.free if cpus is None else min(gpus.free, cpus.free * gpus.whole // cpus.whole)


class NumaUsage(msgspec.Struct, frozen=True):
    """What of one NUMA node; a kind that there is not has a total of 0."""

    numa: int
    cpus: KindUsage
    gpus: KindUsage
    memory: KindUsage


def numa_usage(state: NodeState) -> tuple[NumaUsage, ...]:
    """Of each NUMA node, by its number; a device on several of them counts on each."""
    device = state.ledger.device
    gpus = {name: listed for name, listed in device.devices.items() if _are_gpus(name, listed)}
    free_gpus = {(name, id) for name in gpus for id in free_devices(device, name)}
    found = []
    for own in state.node.machine.numa_nodes:
        kinds = dict(_kinds(state, own.id, gpus, free_gpus))
        lost = _stranded(kinds)
        usages = {name: KindUsage(kind.whole, kind.free, lost[name]) for name, kind in kinds.items()}
        none = KindUsage()
        found.append(NumaUsage(own.id, *(usages.get(name, none) for name in ("cpu", "gpu", MEMORY))))
    return tuple(sorted(found, key=lambda own: own.numa))


def _kinds(
    state: NodeState, numa: int, gpus: Mapping[str, Mapping[str, Device]], free_gpus: set[tuple[str, str]]
) -> Iterator[tuple[str, _Kind]]:
    node, ledger = state.node, state.ledger
    whole = (node.cpu.topology.numa_nodes.get(numa, 0) & ~node.cpu.reserved).bit_count()
    if node.cpu.static and whole:
        free = node.cpu.available(ledger.cpu) & node.cpu.topology.numa_nodes[numa]
        if node.cpu.options.full_pcpus_only:
            cores = [own for own in node.cpu.topology.numa_cores.get(numa, ()) if own & free == own]
            scraps = free.bit_count() - sum(own.bit_count() for own in cores)
            yield "cpu", _Kind(whole, free.bit_count(), node.cpu.topology.cpus_per_core, scraps)
        else:
            yield "cpu", _Kind(whole, free.bit_count(), 1)
    here = [(name, id) for name, listed in gpus.items() for id, own in listed.items() if numa in (own.numa or ())]
    if here:
        yield "gpu", _Kind(len(here), sum(own in free_gpus for own in here), 1)
    table = ledger.memory.nodes[numa].tables.get(MEMORY) if numa in ledger.memory.nodes else None
    if table is not None and table.allocatable > 0:
        yield MEMORY, _Kind(table.allocatable, table.free, max(table.allocatable // max(whole, 1), 1))


def _stranded(kinds: Mapping[str, _Kind]) -> dict[str, int]:
    used_up = {name for name, own in kinds.items() if own.free - own.scraps < own.least}
    return {name: own.free if used_up - {name} else own.scraps for name, own in kinds.items()}


def _is_lost(gpu: Device, lost: Mapping[int, Mapping[str, int]]) -> bool:
    """On each of its NUMA nodes; one without any can go with whatever is free."""
    return bool(gpu.numa) and all(lost.get(numa, {}).get("gpu", 0) for numa in gpu.numa or ())


def _memory(state: NodeState, stranded: int) -> KindUsage:
    tables = [own.tables[MEMORY] for own in state.ledger.memory.nodes.values() if MEMORY in own.tables]
    return KindUsage(sum(own.allocatable for own in tables), sum(own.free for own in tables), stranded)


def _are_gpus(resource: str, listed: Mapping[str, Device]) -> bool:
    """By what the machine says of them; where it says nothing, by the name of the resource."""
    kinds = {own.kind for own in listed.values()} - {""}
    return bool(kinds & {*GPU_KINDS}) if kinds else "gpu" in resource.rpartition("/")[2]
