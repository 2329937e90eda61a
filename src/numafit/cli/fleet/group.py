"""`numafit fleet` and `kubectl numafit`: commands about all nodes of a cluster, each loaded only when it is called."""

import click

from numafit import __version__
from numafit.cli import LazyCommand, LazyGroup

COMMANDS: dict[str, LazyCommand] = {}


class FleetGroup(LazyGroup):
    table = COMMANDS


@click.group(
    cls=FleetGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  numafit fleet top
  kubectl numafit explain pod/train-0""",
)
@click.version_option(__version__, prog_name="numafit")
def fleet() -> None:
    """Ask a cluster which pods sit aligned, what fits where, and why pods wait."""
