"""`numafit fit`: how many more pods of a shape fit on a node, what runs out, and what is stranded."""

from typing import cast

import click

from numafit.advice.fit import Turns, count_fits, shapes_of
from numafit.advice.variants import variants
from numafit.cli.options.agent import agent_option
from numafit.cli.options.answer import check_option, say, status, strict_option
from numafit.cli.options.live import live_option
from numafit.cli.options.node import NodeOptions, node_options
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.stage import load_stage
from numafit.decision.stage import after_running
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
@live_option
@agent_option
@node_options
@click.option(
    "--order",
    type=OneOf(["round-robin", "one-by-one"]),
    default="round-robin",
    show_default=True,
    help="With several shapes: one pod of each in turn, or all of one before the next.",
)
@click.option("--compare", "compared", is_flag=True, help="One line per topology policy, scope and option.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
@check_option("no pod of some shape fits")
@strict_option
def fit(options: NodeOptions, order: str, compared: bool, output: str, check: bool, strict: bool) -> int:
    """Admit copies of PODS until the first rejection, and say which rule stopped the next one and what it lacked where.

    Pods that differ only in their names are one shape. What is free in the end and of no use to these shapes is
    stranded. Exit status: 0 answered; with --check 1 if no pod of some shape fits; 2 bad input, and with --strict also
    an answer with notes.
    """
    stage = load_stage(options)
    stage, pods = after_running(stage)
    shapes = shapes_of(pods)
    turns = cast(Turns, order)
    result = count_fits(stage, shapes, turns)
    notes = (*stage.notes_about(shapes), *result.notes)
    if compared:
        rows = [
            (each, None if each.stage is None else count_fits(each.stage, shapes, turns)) for each in variants(stage)
        ]
        if output == "json":
            click.echo(json_text(variants_record(rows, notes)))
        else:
            say(lambda screen: variants_text(rows, shapes, screen), notes)
    elif output == "json":
        click.echo(json_text(fit_record(result, notes)))
    else:
        say(lambda screen: fit_text(result, screen), notes)
    return status(notes, strict=strict, failed=check and not all(count.admitted for count in result.counts))
