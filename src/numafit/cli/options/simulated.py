"""A file of nodes to simulate, with what it names."""

from pathlib import Path

from numafit.cli.files import read_text
from numafit.cli.options.machine import resolve_machine
from numafit.cluster.sim.file import Readers, SimulatedGroup, read_groups


def simulated_groups(file: Path) -> tuple[SimulatedGroup, ...]:
    """Raises InputError with file, line and field."""
    return read_groups(read_text(file), str(file), Readers(lambda spec: resolve_machine((spec,)).machine, read_text))
