"""A file of nodes to simulate, with what it names."""

from pathlib import Path

from numafit.cli.files import read_text
from numafit.cli.options.machine import resolve_machine
from numafit.cluster.plan.planned import PlannedNodes
from numafit.cluster.plan.source import nodes_in, objects_in
from numafit.cluster.sim.dump import looks_like_dump
from numafit.cluster.sim.file import Readers, SimulatedGroup, read_groups
from numafit.cluster.sim.table import (
    MOST_NODES,
    NodeAssumptions,
    assumption_notes,
    groups_of_table,
    looks_like_table,
    read_node_table,
)


def simulated_groups(file: Path) -> tuple[SimulatedGroup, ...]:
    """Raises InputError with file, line and field."""
    return read_groups(read_text(file), str(file), _READERS)


_READERS = Readers(lambda spec: resolve_machine((spec,)).machine, read_text)


def planned_nodes(file: Path, assumed: NodeAssumptions) -> PlannedNodes:
    """From a file of kubelet-sim, a table, or what kubectl printed. Raises InputError with the place."""
    text = read_text(file)
    if looks_like_dump(text):
        return nodes_in(objects_in(text, str(file)), assumed)
    if looks_like_table(text):
        table = read_node_table(text, str(file))
        return PlannedNodes(tuple(groups_of_table(table, assumed)), tuple(assumption_notes(assumed)), table.skipped)
    groups = read_groups(text, str(file), _READERS, MOST_NODES, more="")
    return PlannedNodes(tuple((group, group.names) for group in groups))
