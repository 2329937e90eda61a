"""`numafit cluster`: the group of commands about clusters of one's own, each loaded only when it is called."""

import click

from numafit.cli.commands import LazyCommand, LazyGroup

COMMANDS: dict[str, LazyCommand] = {
    "up": LazyCommand("numafit.cli.cluster.up:up", "Start a control plane on this host, for tests.", linux=True),
}


class ClusterGroup(LazyGroup):
    table = COMMANDS


@click.group(
    cls=ClusterGroup,
    epilog="""\b
Examples:
  numafit cluster up
  numafit cluster up --nodes nodes.yaml -- pytest""",
)
def cluster() -> None:
    """Start a cluster of one's own, for tests and for trying things out."""
