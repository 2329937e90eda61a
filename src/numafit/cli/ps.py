"""`numafit ps`: who holds what of this host."""

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from numafit.cli.lease_options import state_option
from numafit.cli.lease_output import leases_json, leases_text, time_text
from numafit.cli.output import warn, write_whole
from numafit.host.book import Place
from numafit.host.lease import Lease
from numafit.host.session import Here, here


@click.command(
    epilog="""\b
Examples:
  numafit ps
  numafit ps -o json
  numafit ps --picture box.svg
  numafit ps --write-state /tmp/state"""
)
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--picture", type=click.Path(path_type=Path), help="Draw the machine with who sits where (SVG).")
@click.option(
    "--write-state", type=click.Path(path_type=Path), help="Write the leases as a kubelet's state files into a folder."
)
@state_option
def ps(output: str, picture: Path | None, write_state: Path | None, folder: Path | None) -> int:
    """Show the leases of this host: who holds which CPUs, memory and devices, since when, and how they are bound.

    Leases of jobs that are gone are freed on the way, and shared work is moved to where the pool is now.
    """
    place = here(folder, warn)
    with place.book() as book:
        leases = book.leases(place.host)
        waiting = book.waiting()
    if picture is not None:
        _draw(place, leases, picture)
    if write_state is not None:
        _write_state(place, leases, write_state)
    if output == "json":
        click.echo(leases_json(leases, [_waiting_record(one) for one in waiting]))
        return 0
    labels = {device.id: device.label for device in place.host.machine.devices if device.label}
    click.echo(leases_text(leases, labels, shutil.get_terminal_size().columns if sys.stdout.isatty() else 0))
    for one in waiting:
        click.echo(f"waits since {time_text(one.since)}: {one.owner.user} for {one.request.words()}")
    return 0


def _waiting_record(one: Place) -> dict[str, object]:
    return {"user": one.owner.user, "command": one.owner.command, "since": time_text(one.since), "request": one.request}


def _draw(place: Here, leases: Sequence[Lease], path: Path) -> None:
    from numafit.machine.bits import members
    from numafit.machine.draw.plan import Overlay
    from numafit.machine.draw.svg import draw_svg

    cpus = {cpu: lease.label for lease in leases for cpu in members(lease.exclusive)}
    devices = {device: lease.label for lease in leases for ids in lease.devices.values() for device in ids}
    write_whole(path, draw_svg(place.host.machine, overlay=Overlay(cpus, devices)).encode())


def _write_state(place: Here, leases: Sequence[Lease], folder: Path) -> None:
    from numafit.decision.files import state_files
    from numafit.decision.node import DEVICE_FILE
    from numafit.host.place import ledger_of, node_of
    from numafit.host.request import Request

    node = node_of(place.host, Request(memory=1))
    for name, text in state_files(node, ledger_of(place.host, node, leases)).items():
        path = folder / "device-plugins" / name if name == DEVICE_FILE else folder / name
        write_whole(path, text.encode())
