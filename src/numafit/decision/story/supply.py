"""What there is of each resource for whoever a merge is about: now, and with nobody on the machine.

What a container may have is what is free, and what init containers of its pod leave to it; a container from before a
restart may have just what it holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import comb

import msgspec

from numafit.bits import mask_of
from numafit.decision.decision import MergeStep
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger, MemoryNode
from numafit.machine.model import Device
from numafit.managers.ask import Ask, is_memory
from numafit.managers.cpu.manager import CPU
from numafit.managers.device.manager import free_devices
from numafit.managers.topology.demand import Demand, fewest_nodes

Needs = Mapping[str, int | None]

_MOST_TRIED = 2_000


def needs_of(ask: Ask, container: str) -> dict[str, int]:
    """Resource -> amount, of a container or, where it is empty, of the pod."""
    if container:
        return {CPU: ask.cpus[container], **(ask.memory[container] or {}), **ask.devices[container]}
    return {CPU: ask.pod_cpus, **(ask.pod_memory or {}), **ask.pod_devices}


class Supply(msgspec.Struct, frozen=True):
    node: Node
    ask: Ask
    container: str
    """Empty in the pod scope."""
    ledger: Ledger
    """What the hints were made from."""

    @property
    def numa_nodes(self) -> tuple[int, ...]:
        return tuple(sorted(numa.id for numa in self.node.machine.numa_nodes))

    # --- now ---------------------------------------------------------------------------------------------------------

    def cpus(self) -> int:
        """Those that it may have."""
        ledger, uid = self.ledger.cpu, self.ask.pod.uid
        own = ledger.entries.get(uid, {})
        reuse = ledger.reuse if ledger.reuse_pod == uid else 0
        if self.container:
            return own.get(self.container, self.node.cpu.available(ledger) | reuse)
        held = 0
        for cpus in own.values():
            held |= cpus
        return held if held.bit_count() == self.ask.pod_cpus else self.node.cpu.available(ledger) | reuse | held

    def devices(self, resource: str) -> frozenset[str]:
        """Those that it may have."""
        ledger, uid = self.ledger.device, self.ask.pod.uid
        owned: set[str] = set()
        for name, resources in ledger.held.get(uid, {}).items():
            if resource in resources and self.container in ("", name):
                owned.update(resources[resource].ids)
        if owned:
            return frozenset(owned)
        reuse = ledger.reuse.get(resource, frozenset()) if self.container and ledger.reuse_pod == uid else frozenset()
        return free_devices(ledger, resource) | reuse

    def bytes_on(self, memory_type: str, numa: int) -> int:
        """Free, or left by an init container on just this node."""
        memory = self.ledger.memory
        table = memory.nodes[numa].tables.get(memory_type)
        reuse = memory.reuse if memory.reuse_pod == self.ask.pod.uid else {}
        return (table.free if table else 0) + reuse.get((1 << numa, memory_type), 0)

    def free_on(self, needs: Iterable[str], numa: int) -> dict[str, int]:
        return {resource: self._amount_on(resource, numa) for resource in needs}

    def _amount_on(self, resource: str, numa: int) -> int:
        if resource == CPU:
            return (self.cpus() & self.node.cpu.topology.numa_nodes.get(numa, 0)).bit_count()
        if is_memory(resource):
            return self.bytes_on(resource, numa) if numa in self.ledger.memory.nodes else 0
        return sum(1 for numas in self._numas_of(resource) if numa in numas)

    def free_in_all(self, resource: str) -> int:
        if resource == CPU:
            return self.cpus().bit_count()
        if is_memory(resource):
            return sum(self.bytes_on(resource, numa) for numa in self.ledger.memory.nodes)
        return len(self.devices(resource))

    def placed(self, resource: str) -> int:
        """Devices that it may have and that name a NUMA node of this machine."""
        there = set(self.numa_nodes)
        return sum(1 for numas in self._numas_of(resource) if there.intersection(numas))

    def health(self, resource: str) -> tuple[int | None, int, bool]:
        """How many of its devices are healthy and how many are not, and whether their plugin is there."""
        device = self.ledger.device
        if resource == CPU or is_memory(resource):
            return None, 0, True
        healthy = device.healthy.get(resource, frozenset())
        listed = device.devices.get(resource, {})
        return len(healthy), len(listed.keys() - healthy), resource in device.connected

    def left_nowhere(self, resource: str) -> tuple[str, ...]:
        """Devices that an init container leaves, whose list of NUMA nodes names none of this machine."""
        ledger, there = self.ledger.device, set(self.numa_nodes)
        listed = ledger.devices.get(resource, {})
        left = ledger.reuse.get(resource, frozenset()) if ledger.reuse_pod == self.ask.pod.uid else frozenset()
        numas = {name: listed[name].numa for name in sorted(left) if name in listed}
        return tuple(name for name, numa in numas.items() if numa is not None and not there.intersection(numa))

    def holds(self, resource: str) -> bool:
        """It has it from before a restart, so nothing else is offered."""
        uid = self.ask.pod.uid
        if resource == CPU:
            held = self.ledger.cpu.entries.get(uid, {})
        elif is_memory(resource):
            return any(name in self.ledger.memory.entries.get(uid, {}) for name in self._containers())
        else:
            own = self.ledger.device.held.get(uid, {})
            return any(resource in own.get(name, {}) for name in self._containers())
        if self.container:
            return self.container in held
        return bool(held) and self.cpus() & self.node.cpu.available(self.ledger.cpu) == 0

    def changed(self, resource: str) -> tuple[str, int, int] | None:
        """(container, asked, held) of one that holds another number than it asks for."""
        uid, ask = self.ask.pod.uid, self.ask
        if resource == CPU:
            for name, cpus in self.ledger.cpu.entries.get(uid, {}).items():
                if name in self._containers() and cpus.bit_count() != ask.cpus[name]:
                    return name, ask.cpus[name], cpus.bit_count()
        elif not is_memory(resource) and self.holds(resource):
            asked, held = needs_of(ask, self.container).get(resource, 0), len(self.devices(resource))
            return (self.container, asked, held) if asked != held else None
        return None

    def grouped(self, needs: Needs) -> int:
        """NUMA nodes with enough free bytes of all these types, on which nothing may be put alone."""
        if not all(is_memory(resource) for resource in needs):
            return 0
        return mask_of(
            numa
            for numa, state in self.ledger.memory.nodes.items()
            if len(state.cells) > 1 and all(self.bytes_on(name, numa) >= (size or 0) for name, size in needs.items())
        )

    def most_free(self, needs: Iterable[str], width: int) -> dict[str, int]:
        """Resource -> the most on `width` nodes; a resource for which that is not worked out is missing."""
        found: dict[str, int] = {}
        for resource in needs:
            if is_memory(resource):
                if width == 1:
                    nodes = self.ledger.memory.nodes.items()
                    alone = [self.bytes_on(resource, numa) for numa, state in nodes if len(state.cells) < 2]
                    found[resource] = max(alone, default=0)
            elif resource == CPU:
                amounts = sorted([self._amount_on(CPU, numa) for numa in self.numa_nodes], reverse=True)
                found[resource] = sum(amounts[:width])
            elif comb(len(self.numa_nodes), width) <= _MOST_TRIED:
                places = [mask_of(numas) for numas in self._numas_of(resource)]
                masks = [mask_of(chosen) for chosen in combinations(self.numa_nodes, width)]
                found[resource] = max([sum(1 for place in places if place & mask) for mask in masks], default=0)
        return found

    # --- with nobody on the machine ----------------------------------------------------------------------------------

    def fewest_when_empty(self, needs: Needs) -> int | None:
        """How many NUMA nodes it would take; None: the machine has not so much."""
        demands = [self._empty(resource, amount or 0) for resource, amount in needs.items()]
        return fewest_nodes(mask_of(self.numa_nodes), demands)

    def _empty(self, resource: str, amount: int) -> Demand:
        if resource == CPU:
            nodes = self.node.cpu.topology.numa_nodes.items()
            return Demand(amount, {numa: (own & ~self.node.cpu.reserved).bit_count() for numa, own in nodes})
        if is_memory(resource):
            return Demand(amount, _allocatable(self.node.idle_memory, resource))
        healthy = self.ledger.device.healthy.get(resource, frozenset())
        free: dict[int, int] = {}
        shared = []
        for numas in _numas(self.ledger.device.devices.get(resource, {}), healthy):
            if len(numas) == 1:
                free[numas[0]] = free.get(numas[0], 0) + 1
            elif numas:
                shared.append(mask_of(numas))
        return Demand(amount, free, tuple(shared))

    def _numas_of(self, resource: str) -> Sequence[tuple[int, ...]]:
        return _numas(self.ledger.device.devices.get(resource, {}), self.devices(resource))

    def _containers(self) -> tuple[str, ...]:
        return (self.container,) if self.container else tuple(own.name for own in self.ask.pod.all_containers)


def supply_of(node: Node, ask: Ask, step: MergeStep) -> Supply:
    return Supply(node, ask, step.container, step.ledger)


def _allocatable(nodes: Mapping[int, MemoryNode], memory_type: str) -> dict[int, int]:
    return {i: table.allocatable for i, state in nodes.items() if (table := state.tables.get(memory_type))}


def _numas(devices: Mapping[str, Device], ids: Iterable[str]) -> list[tuple[int, ...]]:
    return [tuple(sorted(set(devices[name].numa or ()))) for name in sorted(ids) if name in devices]
