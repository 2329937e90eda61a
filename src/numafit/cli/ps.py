"""`numafit ps`: who holds what of a host."""

import shutil
import sys
from pathlib import Path

import click

from numafit.cli.held import Held, agent_address_option, held
from numafit.cli.lease_options import state_option
from numafit.cli.lease_output import leases_json, leases_text
from numafit.cli.output import write_whole
from numafit.host.lease_record import time_text


@click.command(
    epilog="""\b
Examples:
  numafit ps
  numafit ps -o json
  numafit ps --picture box.svg
  numafit ps --write-state /tmp/state
  numafit ps --agent http://127.0.0.1:8470"""
)
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--picture", type=click.Path(path_type=Path), help="Draw the machine with who sits where (SVG).")
@click.option(
    "--write-state", type=click.Path(path_type=Path), help="Write the leases as a kubelet's state files into a folder."
)
@state_option
@agent_address_option
def ps(output: str, picture: Path | None, write_state: Path | None, folder: Path | None, agent: str | None) -> int:
    """Show the leases of this host: who holds which CPUs, memory and devices, since when, and how they are bound.

    Leases of jobs that are gone are freed on the way, and shared work is moved to where the pool is now.
    """
    found = held(folder, agent)
    if agent is None:
        from numafit.host.binding import tidy

        tidy([lease.id for lease in found.leases])
    if picture is not None:
        _draw(found, picture)
    if write_state is not None:
        _write_state(found, write_state)
    if output == "json":
        click.echo(leases_json(found.leases, found.waiting))
        return 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    click.echo(leases_text(found.leases, found.labels, width))
    for one in found.waiting:
        click.echo(f"waits since {time_text(one.since)}: {one.owner.user} for {one.request.words()}")
    return 0


def _draw(found: Held, path: Path) -> None:
    from numafit.machine.bits import members
    from numafit.machine.draw.plan import Overlay
    from numafit.machine.draw.svg import draw_svg

    cpus = {cpu: lease.label for lease in found.leases for cpu in members(lease.exclusive)}
    devices = {device: lease.label for lease in found.leases for ids in lease.devices.values() for device in ids}
    write_whole(path, draw_svg(found.host.machine, overlay=Overlay(cpus, devices)).encode())


def _write_state(found: Held, folder: Path) -> None:
    from numafit.decision.files import state_files
    from numafit.decision.node import DEVICE_FILE
    from numafit.host.place import ledger_of, node_of
    from numafit.host.request import Request

    node = node_of(found.host, Request(memory=1))
    for name, text in state_files(node, ledger_of(found.host, node, found.leases)).items():
        path = folder / "device-plugins" / name if name == DEVICE_FILE else folder / name
        write_whole(path, text.encode())
