"""`numafit machine links`: how the GPUs reach each other, and which sets of them belong together."""

import shutil
from collections.abc import Sequence

import click

from numafit.cli.options.machine import disagreement_lines, machine_option, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.show.draw.links import SIZES, draw_links
from numafit.show.json import json_text
from numafit.show.records.gpu_links import links_record


@click.command(
    epilog="""\b
Examples:
  numafit machine links
  numafit machine links --machine topo.txt
  numafit machine links --machine dgx-h100 --gpus 3 --gpus 6
  nvidia-smi topo -m | numafit machine links --machine -"""
)
@machine_option
@click.option("--gpus", "sizes", multiple=True, type=click.IntRange(1, 1024), help="Sizes of sets to propose.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
@click.option("--width", type=click.IntRange(40, 1000), help="Columns; default those of the terminal.")
def links(specs: Sequence[str], sizes: Sequence[int], output: str, width: int | None) -> None:
    """Show the links between the GPUs: their kinds with meaning and typical bandwidth, the groups that they imply, and
    the best set of 1, 2, 4, 5 and 8 GPUs with the reason."""
    combined = resolve_machine(specs)
    machine = combined.machine
    for line in disagreement_lines(combined.disagreements, 100):
        click.echo(line, err=True)
    if output == "json":
        click.echo(json_text(links_record(machine, sizes or SIZES)))
        return
    click.echo(draw_links(machine, sizes or SIZES, width or shutil.get_terminal_size().columns), nl=False)
