"""`numafit machine convert`: a machine in the format of another tool."""

from collections.abc import Callable, Sequence

import click

from numafit.cli.options.machine import disagreement_lines, machine_option, resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.machine.convert.nccl import nccl_xml
from numafit.machine.convert.nrt import nrt_text
from numafit.machine.convert.numactl import numactl_text
from numafit.machine.convert.synthetic import synthetic_text
from numafit.machine.model import Machine

FORMATS: dict[str, Callable[[Machine], str]] = {
    "numactl": numactl_text,
    "nccl": nccl_xml,
    "synthetic": synthetic_text,
    "nrt": nrt_text,
}


@click.command(
    epilog="""\b
Examples:
  numafit machine convert --to numactl
  numafit machine convert --to nccl > topo.xml
  numafit machine convert --machine dgx-a100 --to synthetic
  numafit machine convert --machine box.yaml --to nrt | kubectl apply -f -"""
)
@machine_option
@click.option("--to", "target", type=OneOf(list(FORMATS)), required=True, help="The format to write.")
def convert(specs: Sequence[str], target: str) -> None:
    """Write a machine as another tool understands it.

    numactl: as `numactl --hardware` prints it. nccl: a topology file for NCCL_TOPO_FILE. synthetic: hwloc's synthetic
    language. nrt: a NodeResourceTopology object with a zone per NUMA node, of an empty machine.
    """
    combined = resolve_machine(specs)
    click.echo(FORMATS[target](combined.machine), nl=False)
    for line in disagreement_lines(combined.disagreements, 100):
        click.echo(line, err=True)
