"""`numafit node pull`: a node as its cluster tells of it, in a folder that may be shown to others."""

from collections.abc import Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from numafit.cli.options.live import ClusterOptions, cluster_options, fetched_case
from numafit.cli.options.machine import machine_option, resolve_machine
from numafit.cli.warning import warn
from numafit.cluster.case.case import MACHINE, PUBLISHED, TOPOLOGY, NodeCase
from numafit.cluster.case.folder import write_case
from numafit.cluster.case.strip import stripped
from numafit.machine.file.write import machine_text


@click.command(
    epilog="""\b
Examples:
  numafit node pull gpu-1
  numafit node pull gpu-1 --context production -o case
  numafit node pull gpu-1 --machine box.tgz
  numafit explain gpu-1 --pod default/train-0"""
)
@click.argument("name")
@click.option("-o", "folder", type=click.Path(path_type=Path), help="Write this folder; default the name of the node.")
@click.option("--force", is_flag=True, help="Replace a folder that this command wrote.")
@machine_option
@cluster_options
def pull(name: str, folder: Path | None, force: bool, specs: Sequence[str], cluster: ClusterOptions) -> int:
    """Fetch the Node NAME, its kubelet's configuration, its pods and what tells of its machine, and keep them.

    Every command takes the folder in the place of PODS. Secrets are taken out: values of environment variables,
    commands, annotations, volumes, addresses; README.md in it says what. --machine puts a machine beside it, for nodes
    of which the cluster does not tell one. Exit status: 0 written, 2 no such node, no answer, or not written.
    """
    target = folder or Path(name)
    case = stripped(fetched_case(name, cluster))
    if specs:
        case = _with_machine(case, specs)
    write_case(case, target, force=force)
    click.echo(f"{target}: {', '.join(sorted(case.files))}")
    for note in case.about.notes:
        warn(f"{note.about}: {note.text}")
    if not {TOPOLOGY, PUBLISHED, MACHINE} & case.files.keys():
        warn("machine: the cluster tells none (no NodeResourceTopology, no NodeTopology): give --machine")
    if case.about.removed:
        removed = ", ".join(f"{what} ({count})" for what, count in case.about.removed.items())
        click.echo(f"Taken out: {removed}.", err=True)
    return 0


def _with_machine(case: NodeCase, specs: Sequence[str]) -> NodeCase:
    text = machine_text(resolve_machine(specs).machine)
    return replace(case, files={**case.files, MACHINE: text.encode()})
