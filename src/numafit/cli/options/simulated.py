"""A file of nodes to simulate, with what it names."""

from pathlib import Path

from numafit.cli.files import read_text
from numafit.cli.options.machine import resolve_machine
from numafit.cluster.sim.file import Readers, SimulatedGroup, read_groups
from numafit.cluster.sim.group import idle_situation
from numafit.fleet.state import NodeState, state_of


def simulated_groups(file: Path) -> tuple[SimulatedGroup, ...]:
    """Raises InputError with file, line and field."""
    return read_groups(read_text(file), str(file), Readers(lambda spec: resolve_machine((spec,)).machine, read_text))


def idle_states(file: Path) -> dict[str, NodeState]:
    """Its nodes by name, with nobody on them and without labels and taints. Those of a group are one value."""
    found: dict[str, NodeState] = {}
    for group in simulated_groups(file):
        idle = idle_situation(group)
        state = state_of(group.name, idle.node, idle.ledger, idle.allocatable)
        found.update(dict.fromkeys(group.names, state))
    return found
