"""What is left of a node for large pods that must sit together, as one number, and what a pod would take of it.

A node is made of units: its NUMA nodes, its sockets, the sets of GPUs that links join, and the whole. Of each unit the
free part of every resource counts by its square, so that a whole free unit is worth more than two halves; and once more
the smallest of these parts, since a large pod wants all of them in one place: CPUs beside free GPUs are worth more than
CPUs beside none. A pod goes where the sum loses least: into units that are broken already, and rather where the
resources that it does not want are used up or missing.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from numafit.decision.node import Node
from numafit.fleet.state import NodeState
from numafit.machine.gpu_sets import groups_of, pairs_of
from numafit.machine.links import NVLINK_SCORE

MOST_KINDS = 512
"""Kinds of nodes whose units are remembered."""


Freedom = Mapping[str, float]
"""Resource -> the part of it that is free on the whole node."""


class Unit(msgspec.Struct, frozen=True):
    """A part of a node that a large pod may want as a whole."""

    cpus: int
    numa: frozenset[int]
    """NUMA nodes whose memory and devices belong to it."""
    devices: frozenset[str] | None = None
    """Those that links join: nothing else counts in it."""


def room_of(state: NodeState) -> float:
    """Larger is better. Numbers of nodes of different kinds cannot be compared; what a pod takes of them can."""
    sums = _summed(state)
    return sum(_value(unit, state, sums) for unit in _units(state))


def _summed(state: NodeState) -> Freedom:
    """What the node as a whole has left by sums: pods without CPUs or memory of their own are nowhere else."""
    found: dict[str, float] = {}
    for name in ("cpu", "memory"):
        offered = (state.allocatable or {}).get(name)
        whole = 0 if offered is None else offered.milli() if name == "cpu" else offered.value()
        if whole > 0:
            found[name] = max(1.0 - state.load.amounts.get(name, 0) / whole, 0.0)
    return found


def _units(state: NodeState) -> tuple[Unit, ...]:
    return _units_of(state.kind, _Hidden(state.node))


class _Hidden:
    """A node that is not looked at to find what is remembered: its kind tells all."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hidden)

    def __hash__(self) -> int:
        return 0


@lru_cache(MOST_KINDS)
def _units_of(kind: str, hidden: _Hidden) -> tuple[Unit, ...]:
    node = hidden.node
    topology = node.cpu.topology
    nodes = {own.id: topology.numa_nodes.get(own.id, 0) for own in node.machine.numa_nodes}
    found = [Unit(cpus, frozenset((numa,))) for numa, cpus in nodes.items()]
    for cpus in topology.sockets.values():
        inside = frozenset(numa for numa, own in nodes.items() if own & cpus)
        found.append(Unit(cpus, inside))
    found.append(Unit(topology.cpus, frozenset(nodes)))
    # A machine of one socket, or of one NUMA node for each, is not counted twice.
    unlike = {(unit.cpus, unit.numa): unit for unit in found}
    return (*unlike.values(), *_linked(node))


def _linked(node: Node) -> Iterator[Unit]:
    """Sets of GPUs that NVLinks join, where these are not simply all."""
    pairs = pairs_of(node.machine)
    for group in groups_of(pairs, NVLINK_SCORE):
        if 1 < len(group) < len(pairs.gpus):
            yield Unit(0, frozenset(), frozenset(pairs.gpus[own].id for own in group))


def freedom_of(state: NodeState) -> Freedom:
    node, device = state.node, state.ledger.device
    found: dict[str, float] = {}
    own = node.cpu.topology.cpus & ~node.cpu.reserved
    if node.cpu.static and own:
        found["cpu"] = (node.cpu.available(state.ledger.cpu) & own).bit_count() / own.bit_count()
    for resource, listed in device.devices.items():
        if listed:
            free = device.healthy.get(resource, frozenset()) - device.allocated.get(resource, frozenset())
            found[resource] = len(free) / len(listed)
    whole = Unit(0, frozenset(state.ledger.memory.nodes))
    parts = list(_memory_parts(whole, state))
    if parts:
        found["memory"] = min(parts)
    for name, part in _summed(state).items():
        found[name] = min(found.get(name, 1.0), part)
    return found


def _value(unit: Unit, state: NodeState, sums: Freedom) -> float:
    parts = list(_free_parts(unit, state))
    if unit.cpus == state.node.cpu.topology.cpus:
        parts += sums.values()
    return sum(part * part for part in parts) + min(parts) ** 2 if parts else 0.0


def _free_parts(unit: Unit, state: NodeState) -> Iterator[float]:
    """Of each resource that there is in the unit: the part that is free, from 0 to 1."""
    node, ledger = state.node, state.ledger
    if unit.devices is None and node.cpu.static:
        own = unit.cpus & ~node.cpu.reserved
        if own:
            yield (node.cpu.available(ledger.cpu) & own).bit_count() / own.bit_count()
    if unit.devices is None:
        yield from _memory_parts(unit, state)
    device = ledger.device
    for resource, listed in device.devices.items():
        there = [
            id
            for id, own in listed.items()
            if (id in unit.devices if unit.devices is not None else not unit.numa.isdisjoint(own.numa or ()))
        ]
        if there:
            taken = device.allocated.get(resource, frozenset())
            healthy = device.healthy.get(resource, frozenset())
            yield sum(id in healthy and id not in taken for id in there) / len(there)


def _memory_parts(unit: Unit, state: NodeState) -> Iterator[float]:
    """Huge pages by their sizes, and the rest: what nobody has reserved."""
    free: dict[str, int] = {}
    whole: dict[str, int] = {}
    nodes: Mapping[int, object] = state.ledger.memory.nodes
    for numa in unit.numa & nodes.keys():
        for name, table in state.ledger.memory.nodes[numa].tables.items():
            free[name] = free.get(name, 0) + table.free
            whole[name] = whole.get(name, 0) + table.allocatable
    for name, amount in whole.items():
        if amount > 0:
            yield min(free[name] / amount, 1.0)
