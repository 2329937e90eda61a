"""`numafit node`: the group of commands about the nodes of a cluster, each loaded only when it is called."""

import click

from numafit.cli.commands import LazyCommand, LazyGroup

COMMANDS: dict[str, LazyCommand] = {
    "pull": LazyCommand("numafit.cli.node.pull:pull", "Keep a node, its kubelet and its pods as a folder."),
    "switch": LazyCommand("numafit.cli.node.switch:switch", "Give this node's kubelet another configuration, safely."),
}


class NodeGroup(LazyGroup):
    table = COMMANDS


@click.group(
    cls=NodeGroup,
    epilog="""\b
Examples:
  numafit node pull gpu-1
  numafit simulate gpu-1
  numafit node switch new.yaml --dry-run""",
)
def node() -> None:
    """Ask a cluster about one of its nodes, or change this one's kubelet."""
