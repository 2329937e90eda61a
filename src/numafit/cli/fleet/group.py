"""`numafit fleet` and `kubectl numafit`: commands about all nodes of a cluster, each loaded only when it is called."""

import click

from numafit import __version__
from numafit.cli.commands import LazyCommand, LazyGroup

COMMANDS: dict[str, LazyCommand] = {
    "doctor": LazyCommand("numafit.cli.fleet.doctor:doctor", "Check configuration and release of every node."),
    "explain": LazyCommand("numafit.cli.fleet.explain:explain", "Tell how a pod stands, and why."),
    "fit": LazyCommand("numafit.cli.fleet.fit:fit", "Count how many more pods fit, and where."),
    "node": LazyCommand("numafit.cli.fleet.node:node", "Draw a node, with who sits where."),
    "simulate": LazyCommand("numafit.cli.fleet.simulate:simulate", "Play pods in time, placed by several rules."),
    "top": LazyCommand("numafit.cli.fleet.top:top", "Show what is free, what is stranded, and who is split."),
    "what-if": LazyCommand("numafit.cli.fleet.what_if:what_if", "Say which change of a fleet gains most."),
    "why-pending": LazyCommand("numafit.cli.fleet.why_pending:why_pending", "Say why pods wait, one sentence each."),
}


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
