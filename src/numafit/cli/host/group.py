"""The group of commands about this host as a whole, each loaded only when it is called."""

import click

from numafit.cli.commands import LazyCommand, LazyGroup

COMMANDS: dict[str, LazyCommand] = {
    "setup": LazyCommand("numafit.cli.host.setup:setup", "Make one ledger for all users; by root, once."),
    "sweep": LazyCommand("numafit.cli.host.setup:sweep", "Free what is left of jobs that are gone; for a timer."),
}


class HostGroup(LazyGroup):
    table = COMMANDS


@click.group(
    cls=HostGroup,
    epilog="""\b
Examples:
  numafit host setup --dry-run
  numafit host setup --user ann --user bob
  numafit host setup --undo""",
)
def host() -> None:
    """Make this host ready for many users, and look after it."""
