"""`numafit machine list`: the machines of the catalogue."""

import click

from numafit.cli.terminal import answer, this_screen
from numafit.machine.catalogue.names import catalogue
from numafit.show.table import listed


@click.command(
    "list",
    epilog="""\b
Examples:
  numafit machine list
  numafit machine show --machine gpu8-128cpu""",
)
def list_machines() -> None:
    """List the machines that numafit knows by name; `--machine NAME` takes each of them."""
    screen = this_screen()
    answer(listed(list(catalogue().items()), screen), screen)
