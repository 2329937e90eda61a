"""`numafit metrics`: what the agent measures, as a list."""

import click

from numafit.cli.commands import LazyCommand, LazyGroup
from numafit.cli.options.one_of import OneOf
from numafit.cli.terminal import answer, this_screen
from numafit.service.metrics.table import METRICS
from numafit.show.json import json_text
from numafit.show.records.agent import MetricsAnswer

COMMANDS: dict[str, LazyCommand] = {
    "list": LazyCommand("numafit.cli.agent.metrics:list_metrics", "List the metrics of the agent."),
}


class MetricsGroup(LazyGroup):
    table = COMMANDS


@click.group(
    cls=MetricsGroup,
    epilog="""\b
Examples:
  numafit metrics list""",
)
def metrics() -> None:
    """About the metrics that `numafit serve` offers at /metrics."""


@click.command(
    "list",
    epilog="""\b
Examples:
  numafit metrics list
  numafit metrics list -o json""",
)
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
def list_metrics(output: str) -> None:
    """List each metric with its type, its labels and what it means."""
    if output == "json":
        click.echo(json_text(MetricsAnswer(METRICS)))
        return
    screen = this_screen()
    for metric in METRICS:
        labels = f"{{{','.join(metric.labels)}}}" if metric.labels else ""
        answer(f"{metric.name}{labels} ({metric.type})\n    {metric.help}", screen)
