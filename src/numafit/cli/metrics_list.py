"""`numafit metrics list`: the catalogue of metrics."""

import click

from numafit.service.metric_table import METRICS


@click.command(
    "list",
    epilog="""\b
Examples:
  numafit metrics list
  numafit metrics list -o json""",
)
@click.option("-o", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def list_metrics(output: str) -> None:
    """List each metric with its type, its labels and what it means."""
    if output == "json":
        import msgspec

        records = [metric._asdict() for metric in METRICS]
        click.echo(msgspec.json.format(msgspec.json.encode({"metrics": records})).decode())
        return
    for metric in METRICS:
        labels = f"{{{','.join(metric.labels)}}}" if metric.labels else ""
        click.echo(f"{metric.name}{labels} ({metric.type})\n    {metric.help}")
