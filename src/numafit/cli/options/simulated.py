"""A file of nodes to simulate, with what it names."""

from pathlib import Path

from numafit.cli.files import read_text
from numafit.cli.options.machine import resolve_machine
from numafit.cluster.plan.planned import PlannedNodes
from numafit.cluster.plan.source import nodes_in, objects_in
from numafit.cluster.sim.dump import looks_like_dump
from numafit.cluster.sim.file import Readers, SimulatedGroup, read_groups
from numafit.cluster.sim.table import (
    NodeAssumptions,
    assumption_notes,
    groups_of_table,
    looks_like_table,
    read_node_table,
)


def simulated_groups(file: Path) -> tuple[SimulatedGroup, ...]:
    """Raises InputError with file, line and field."""
    return _groups(read_text(file), file)


def _groups(text: str, file: Path) -> tuple[SimulatedGroup, ...]:
    return read_groups(text, str(file), Readers(lambda spec: resolve_machine((spec,)).machine, read_text))


def planned_nodes(file: Path, assumed: NodeAssumptions) -> PlannedNodes:
    """From a file of kubelet-sim, a table, or what kubectl printed. Raises InputError with the place."""
    text = read_text(file)
    if looks_like_dump(text):
        return nodes_in(objects_in(text, str(file)), assumed)
    if looks_like_table(text):
        table = read_node_table(text, str(file))
        return PlannedNodes(tuple(groups_of_table(table, assumed)), tuple(assumption_notes(assumed)), table.skipped)
    return PlannedNodes(tuple((group, group.names) for group in _groups(text, file)))
