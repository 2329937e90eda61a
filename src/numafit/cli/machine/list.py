"""`numafit machine list`: the machines of the catalogue."""

import click

from numafit.machine.catalogue.names import catalogue


@click.command(
    "list",
    epilog="""\b
Examples:
  numafit machine list
  numafit machine show --machine gpu8-128cpu""",
)
def list_machines() -> None:
    """List the machines that numafit knows by name; `--machine NAME` takes each of them."""
    entries = dict(catalogue())
    width = max(map(len, entries))
    for name, line in entries.items():
        click.echo(f"{name.ljust(width)}  {line}")
