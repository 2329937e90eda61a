"""`numafit machine`: the group of commands about one machine, each loaded only when it is called."""

import click

from numafit.cli.commands import LazyCommand, LazyGroup

COMMANDS: dict[str, LazyCommand] = {
    "capture": LazyCommand(
        "numafit.cli.machine.capture:capture", "Write what numafit reads of this machine into a .tgz.", linux=True
    ),
    "convert": LazyCommand("numafit.cli.machine.convert:convert", "Write a machine in the format of another tool."),
    "links": LazyCommand(
        "numafit.cli.machine.links:links", "Show how the GPUs reach each other, and the best sets of them."
    ),
    "list": LazyCommand("numafit.cli.machine.list:list_machines", "List the machines that numafit knows by name."),
    "show": LazyCommand("numafit.cli.machine.show:show", "Draw a machine."),
}


class MachineGroup(LazyGroup):
    table = COMMANDS


@click.group(
    cls=MachineGroup,
    epilog="""\b
Examples:
  numafit machine show
  numafit machine show --machine dgx-h100 -o svg > dgx.svg
  numafit machine links --machine topo.txt""",
)
def machine() -> None:
    """Look at a machine: this one, a described one, or one from the catalogue."""
