"""`numafit free`: what is left of this host."""

from pathlib import Path

import click

from numafit.cli.lease_options import state_option
from numafit.cli.lease_output import free_json, free_text
from numafit.cli.output import warn
from numafit.host.free import free_on
from numafit.host.session import here


@click.command(
    epilog="""\b
Examples:
  numafit free
  numafit free -o json"""
)
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@state_option
def free(output: str, folder: Path | None) -> int:
    """Show what nobody holds, per NUMA node, and the largest job that would still be aligned."""
    place = here(folder, warn)
    with place.book() as book:
        left = free_on(place.host, book.leases(place.host))
    labels = {device.id: device.label for device in place.host.machine.devices if device.label}
    click.echo(free_json(left) if output == "json" else free_text(left, labels))
    return 0
