"""`kubectl numafit top`: nodes by what is free, what is stranded and who is split."""

import click

from numafit.cli.fleet.view import Look, look_options
from numafit.cli.options.answer import ANSWERED, FAILED, NOT_SURE, check_option
from numafit.cli.options.one_of import OneOf
from numafit.fleet.look.rows import ORDERS, in_order, rows_of
from numafit.show.records.fleet import top_record
from numafit.show.text.fleet.top import top_text


@click.command(
    epilog="""\b
Examples:
  kubectl numafit top
  kubectl numafit top --sort-by split --limit 20
  kubectl numafit top -o json | jq '.total'"""
)
@look_options
@click.option(
    "--sort-by", "order", type=OneOf(list(ORDERS)), default="stranded", show_default=True, help="The most comes first."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Show so many nodes; the totals are of all.")
@check_option("a pod is split, or something is stranded")
def top(look: Look, order: str, limit: int | None, check: bool) -> int:
    """Show all nodes: what is free, what of that is stranded, and which pods lie on more NUMA nodes than they need.

    Stranded is what is free and cannot be used together with the rest of its NUMA node: CPUs beside GPUs that are all
    held, GPUs beside CPUs that are all held, both beside memory that is used up, and the other way round; with
    full-pcpus-only also the free CPU of a core that is held in part.

    Exit status: 0 answered; with --check 1 if a pod is split or something is stranded; 2 bad input, or a right lacks.
    """
    with look.client() as client:
        view = look.view(client, pods=False)
    if look.blind(view):
        return NOT_SURE
    rows = in_order(rows_of(view.book.fleet), order)
    look.say(
        view,
        lambda screen: top_text(rows, view.unknown, limit, screen),
        lambda: top_record(rows, view.unknown, view.notes),
    )
    return FAILED if check and any(row.split or row.stranded for row in rows) else ANSWERED
