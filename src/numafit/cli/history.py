"""`numafit history`: what happened to the leases of this host."""

from pathlib import Path

import click

from numafit.cli.lease_options import state_option
from numafit.cli.lease_output import history_json, history_text
from numafit.cli.output import warn
from numafit.host.folder import ledger_folder
from numafit.host.session import open_book


@click.command(
    epilog="""\b
Examples:
  numafit history
  numafit history -n 200 -o json"""
)
@click.option("-n", "count", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many entries.")
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@state_option
def history(count: int, output: str, folder: Path | None) -> int:
    """Show what was taken, refused and freed, newest first."""
    with open_book(ledger_folder(folder), warn) as book:
        entries = book.history(count)
    click.echo(history_json(entries) if output == "json" else history_text(entries))
    return 0
