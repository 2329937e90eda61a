"""`numafit free`: what is left of a host."""

from pathlib import Path

import click

from numafit.cli.held import agent_address_option, held
from numafit.cli.lease_options import state_option
from numafit.cli.lease_output import free_json, free_text
from numafit.host.free import free_on


@click.command(
    epilog="""\b
Examples:
  numafit free
  numafit free -o json
  numafit free --agent /run/numafit.sock"""
)
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@state_option
@agent_address_option
def free(output: str, folder: Path | None, agent: str | None) -> int:
    """Show what nobody holds, per NUMA node, and the largest job that would still be aligned."""
    found = held(folder, agent)
    left = free_on(found.host, found.leases)
    click.echo(free_json(left) if output == "json" else free_text(left, found.labels))
    return 0
