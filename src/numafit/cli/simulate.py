"""`numafit simulate`: what a kubelet would do with pods, one after the other, on one node."""

from pathlib import Path

import click

from numafit.cli.node_options import NodeOptions, load_setting, node_options
from numafit.cli.output import write_whole
from numafit.cli.simulate_output import simulation_json, simulation_table
from numafit.decision.files import state_files
from numafit.decision.node import DEVICE_FILE
from numafit.decision.simulation import Simulation, play


@click.command(
    epilog="""\b
Examples:
  numafit simulate docs/examples
  numafit simulate --machine box.yaml --kubelet kubelet.yaml pod.yaml
  numafit simulate --kubelet-env kubelet.env --kube-version 1.27 pods/
  numafit simulate --machine dgx-h100 --state /var/lib/kubelet -o json - < pod.yaml"""
)
@node_options
@click.option("-o", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
@click.option("--write-state", type=click.Path(path_type=Path), help="Write the state files the kubelet would have.")
def simulate(options: NodeOptions, output: str, write_state: Path | None) -> int:
    """Say what the kubelet would do with PODS, in this order.

    PODS are manifests, folders of them, or - for standard input. A folder may also hold machine.* and kubelet.*.
    Without --kubelet an example with all managers on is used, and printed. Exit status: 0 all admitted, 1 some
    rejected, 2 bad input or a kubelet that would not start.
    """
    setting = load_setting(options)
    if setting.example:
        click.echo(f"No kubelet configuration given; using this one:\n\n{setting.example}", err=True)
    simulation = play(setting.node, setting.ledger, setting.pods, setting.allocatable)
    if write_state is not None:
        _write_state(simulation, write_state)
    click.echo(simulation_json(simulation) if output == "json" else simulation_table(simulation))
    return 0 if all(step.decision.admitted for step in simulation.steps) else 1


def _write_state(simulation: Simulation, folder: Path) -> None:
    """As the kubelet lays them: the device manager's file in a folder of its own."""
    for name, text in state_files(simulation.node, simulation.after).items():
        path = folder / "device-plugins" / name if name == DEVICE_FILE else folder / name
        write_whole(path, text.encode())
