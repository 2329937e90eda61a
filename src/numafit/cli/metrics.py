"""`numafit metrics`: what the agent measures."""

import click

from numafit.cli import Entry, LazyGroup

COMMANDS: dict[str, Entry] = {
    "list": Entry("numafit.cli.metrics_list:list_metrics", "List the metrics of the agent."),
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
