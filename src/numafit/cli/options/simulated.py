"""A file of nodes to simulate, with what it names."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from numafit.cli.files import read_text
from numafit.cli.options.machine import resolve_machine
from numafit.cluster.sim.dump import looks_like_dump, read_dumped_nodes
from numafit.cluster.sim.file import Readers, SimulatedGroup, read_groups
from numafit.cluster.sim.group import idle_situation, reconfigured
from numafit.cluster.sim.table import (
    NodeAssumptions,
    assumption_notes,
    groups_of_table,
    looks_like_table,
    read_node_table,
)
from numafit.fleet.state import NodeState, state_of
from numafit.notes import Note


class PlannedNodes(msgspec.Struct, frozen=True):
    """Kinds of nodes with the names of those of each kind."""

    kinds: tuple[tuple[SimulatedGroup, tuple[str, ...]], ...]
    notes: tuple[Note, ...] = ()
    """What is assumed."""
    skipped: tuple[str, ...] = ()
    """What is wrong with the rows that were left out."""

    @property
    def count(self) -> int:
        return sum(len(names) for _, names in self.kinds)


def simulated_groups(file: Path) -> tuple[SimulatedGroup, ...]:
    """Raises InputError with file, line and field."""
    return _groups(read_text(file), file)


def _groups(text: str, file: Path) -> tuple[SimulatedGroup, ...]:
    return read_groups(text, str(file), Readers(lambda spec: resolve_machine((spec,)).machine, read_text))


def planned_nodes(file: Path, assumed: NodeAssumptions) -> PlannedNodes:
    """From a file of kubelet-sim, a table, or what kubectl printed. Raises InputError with the place."""
    text = read_text(file)
    if looks_like_dump(text) or looks_like_table(text):
        table = read_dumped_nodes(text, str(file)) if looks_like_dump(text) else read_node_table(text, str(file))
        return PlannedNodes(tuple(groups_of_table(table, assumed)), tuple(assumption_notes(assumed)), table.skipped)
    return PlannedNodes(tuple((group, group.names) for group in _groups(text, file)))


def idle_states(planned: PlannedNodes, policy: str = "") -> dict[str, NodeState]:
    """Nodes by name, with nobody on them and without labels and taints. Those of a kind are one value. `policy`: of the
    Topology Manager, with its scope after a slash where wanted; empty: as each node has it."""
    found: dict[str, NodeState] = {}
    for group, names in planned.kinds:
        own = reconfigured(group, dict(_fields(policy))) if policy else group
        idle = idle_situation(own)
        state = state_of(group.name, idle.node, idle.ledger, idle.allocatable)
        found.update(dict.fromkeys(names, state))
    return found


def _fields(policy: str) -> Iterator[tuple[str, str]]:
    name, _, scope = policy.partition("/")
    yield "topologyManagerPolicy", name
    if scope:
        yield "topologyManagerScope", scope
