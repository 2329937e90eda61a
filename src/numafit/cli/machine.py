"""`numafit machine`: the group of commands about one machine, each loaded only when it is called."""

import click

from numafit.cli import Entry, LazyGroup

COMMANDS: dict[str, Entry] = {
    "capture": Entry("numafit.cli.machine_capture:capture", "Write what numafit reads of this machine into a .tgz."),
    "convert": Entry("numafit.cli.machine_convert:convert", "Write a machine in the format of another tool."),
    "links": Entry("numafit.cli.machine_links:links", "Show how the GPUs reach each other, and the best sets of them."),
    "list": Entry("numafit.cli.machine_list:list_machines", "List the machines that numafit knows by name."),
    "show": Entry("numafit.cli.machine_show:show", "Draw a machine."),
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
