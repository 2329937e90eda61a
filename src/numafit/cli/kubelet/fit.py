"""`numafit fit`: how many more pods of a shape fit on a node, what runs out, and what is stranded."""

from typing import cast

import click

from numafit.advice.fit import Turns, count_fits, shapes_of
from numafit.advice.variants import variants
from numafit.cli.options.agent import agent_option
from numafit.cli.options.node import NodeOptions, load_stage, node_options
from numafit.show.json import json_text
from numafit.show.records.fit import fit_record, variants_record
from numafit.show.text.fit import fit_text, variants_text


@click.command(
    epilog="""\b
Examples:
  numafit fit examples/small-node
  numafit fit --machine dgx-h100 --kubelet kubelet.yaml --state /var/lib/kubelet train.yaml
  numafit fit --order one-by-one large.yaml small.yaml
  numafit fit --compare examples/small-node"""
)
@agent_option
@node_options
@click.option(
    "--order",
    type=click.Choice(["round-robin", "one-by-one"]),
    default="round-robin",
    show_default=True,
    help="With several shapes: one pod of each in turn, or all of one before the next.",
)
@click.option("--compare", "compared", is_flag=True, help="One line per topology policy, scope and option.")
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def fit(options: NodeOptions, order: str, compared: bool, output: str) -> int:
    """Admit copies of PODS until the first rejection, and say what ran out on which NUMA node.

    Pods that differ only in their names are one shape. What is free in the end cannot be used by these shapes: it is
    stranded. Exit status: 0 at least one pod of each shape fits, 1 not, 2 bad input.
    """
    stage = load_stage(options)
    shapes = shapes_of(stage.pods)
    turns = cast(Turns, order)
    result = count_fits(stage, shapes, turns)
    if compared:
        rows = [
            (each, None if each.stage is None else count_fits(each.stage, shapes, turns)) for each in variants(stage)
        ]
        click.echo(json_text(variants_record(rows)) if output == "json" else variants_text(rows, shapes))
    else:
        click.echo(json_text(fit_record(result)) if output == "json" else fit_text(result))
    return 0 if all(count.admitted for count in result.counts) else 1
