"""`kubectl numafit node`: the machine of a node, with who sits where."""

import shutil

import click

from numafit.cli.fleet.view import Look, look_options
from numafit.cli.options.answer import ANSWERED
from numafit.cli.terminal import draws_boxes
from numafit.errors import InputError
from numafit.fleet.fleet import FleetNode
from numafit.fleet.look.rows import row_of
from numafit.fleet.look.seats import seats_of
from numafit.show.draw.overlay import overlay_of
from numafit.show.draw.terminal import draw_text
from numafit.show.records.fleet import node_record
from numafit.show.table import Screen
from numafit.show.text.fleet.node import node_head, seats_text


@click.command(
    epilog="""\b
Examples:
  kubectl numafit node gpu-1
  kubectl numafit node gpu-1 --ascii
  kubectl numafit node gpu-1 -o json"""
)
@click.argument("name")
@look_options
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with plain characters only.")
def node(look: Look, name: str, ascii_only: bool) -> int:
    """Draw the machine of the node NAME as its agent publishes it, and list who holds which CPUs, memory and devices.

    Exit status: 0 answered; 2 there is no such node, or nobody tells how it stands.
    """
    with look.client() as client:
        # Loaded with the client, on which it stands.
        from numafit.cluster.view.reading import read_node

        view = read_node(client, name, namespace=look.namespace_of(client))
    found = view.book.fleet.nodes.get(name)
    if found is None:
        raise InputError("nobody tells how it stands", source=f"node {name}")
    row, release = row_of(found), view.topologies[name].status.release
    seats = seats_of(found.state)
    coming = tuple(own.pod.full_name for own in found.promised)
    look.say(
        view,
        lambda screen: "\n\n".join(
            (node_head(row, release), _drawn(found, screen, ascii_only=ascii_only), seats_text(seats, coming, screen))
        ),
        lambda: node_record(row, release, seats, coming, view.notes),
    )
    return ANSWERED


def _drawn(found: FleetNode, screen: Screen, *, ascii_only: bool) -> str:
    width = screen.width or shutil.get_terminal_size().columns
    plain = ascii_only or not draws_boxes()
    state = found.state
    return draw_text(state.node.machine, width, ascii_only=plain, overlay=overlay_of(state.ledger)).rstrip("\n")
