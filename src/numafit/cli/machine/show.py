"""`numafit machine show`: a machine as a drawing, a table, a file or a picture."""

import shutil
from collections.abc import Sequence

import click

from numafit.cli.options.machine import disagreement_lines, machine_option, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, draws_boxes, this_screen
from numafit.machine.model import Machine
from numafit.show.draw.picture.palette import Theme
from numafit.show.table import Screen

TABLES = ("cpus", "numa", "devices", "links")


@click.command(
    epilog="""\b
Examples:
  numafit machine show
  numafit machine show --table numa
  numafit machine show --machine numactl.txt --machine topo.txt
  numafit machine show -o yaml > box.yaml
  numafit machine show --machine box.yaml -o svg --theme dark > box.svg
  numafit machine show --machine "sketch:2 sockets x 16 cores x 2 threads\""""
)
@machine_option
@click.option("--table", type=OneOf(TABLES), help="A table instead of the drawing.")
@click.option(
    "-o",
    "output",
    type=OneOf(["text", "json", "yaml", "svg", "dot"]),
    default="text",
    show_default=True,
    help="json and yaml give the machine file.",
)
@click.option("--width", type=click.IntRange(40, 1000), help="Columns; default those of the terminal.")
@click.option("--ascii", "ascii_only", is_flag=True, help="Draw with plain characters only.")
@click.option(
    "--theme",
    type=OneOf(["auto", "light", "dark"]),
    default="auto",
    show_default=True,
    help="Colours of the SVG; auto follows the reader's setting.",
)
def show(
    specs: Sequence[str], table: str | None, output: str, width: int | None, ascii_only: bool, theme: Theme
) -> None:
    """Draw a machine: sockets, NUMA nodes, caches, cores with their CPUs, memory and devices.

    Of this machine, what `numafit measure` found last stands below the drawing.
    What its sources disagree about is listed below the drawing, with the value taken; for the other formats it goes to
    standard error.
    """
    if table and output != "text":
        raise click.UsageError(f"--table is text, and does not go with -o {output}")
    combined = resolve_machine(specs)
    machine, disagreements = combined.machine, combined.disagreements
    if output == "text":
        columns = width or shutil.get_terminal_size().columns
        if table:
            _print_table(machine, table, Screen(width) if width else this_screen())
        else:
            plain = ascii_only or not draws_boxes()
            click.echo(_drawn(machine, columns, plain), nl=False)
            if not specs:
                _print_measured(machine, Screen(columns), plain)
        for line in disagreement_lines(disagreements, columns):
            click.echo(line)
        return
    click.echo(_other(machine, output, theme), nl=False)
    for line in disagreement_lines(disagreements, 1000):
        click.echo(line, err=True)


def _print_table(machine: Machine, table: str, screen: Screen) -> None:
    from numafit.show.draw.tables import TABLES as DRAWN

    answer(DRAWN[table](machine, screen).removesuffix("\n"), screen)


def _print_measured(machine: Machine, screen: Screen, plain: bool) -> None:
    """What `numafit measure` kept of this machine; nothing where it kept nothing."""
    from numafit.host.book.folder import NoLedgerError, ledger_folder
    from numafit.host.measure.kept import digest_of, kept
    from numafit.show.text.measure import measured_text

    try:
        found = kept(ledger_folder(reading=True), digest_of(machine))
    except NoLedgerError:
        return
    if found is not None:
        text = f"\nmeasured {found.at}\n\n{measured_text(found, screen, blocks=not plain)}"
        answer(text, screen)


def _drawn(machine: Machine, width: int, ascii_only: bool) -> str:
    from numafit.show.draw.terminal import draw_text

    return draw_text(machine, width, ascii_only=ascii_only)


def _other(machine: Machine, output: str, theme: Theme) -> str:
    if output == "svg":
        from numafit.show.draw.picture.svg import draw_svg

        return draw_svg(machine, theme=theme)
    if output == "dot":
        from numafit.show.draw.dot import draw_dot

        return draw_dot(machine)
    from numafit.machine.file.write import machine_text

    text = machine_text(machine, "json" if output == "json" else "yaml")
    return text if text.endswith("\n") else text + "\n"
