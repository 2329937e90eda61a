"""`numafit fleet simulate`: pods that arrive and end in time, placed on a fleet by several rules."""

from collections.abc import Sequence
from pathlib import Path

import click

from numafit.cli.files import read_text
from numafit.cli.options.answer import say
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.simulated import idle_states
from numafit.cli.terminal import progress_bar
from numafit.errors import InputError
from numafit.fleet.simulation.large import LargePod, large_pod, large_pods
from numafit.fleet.simulation.rules import RULES
from numafit.fleet.simulation.run import fleet_of, play_rule, possible
from numafit.fleet.simulation.trace import GPU, PodTrace, read_trace
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory
from numafit.quantity import QuantityError, parse_quantity
from numafit.show.json import json_text
from numafit.show.records.fleet_run import fleet_run_record
from numafit.show.text.fleet.simulation import fleet_run_text

NAMES = tuple(rule.name for rule in RULES)


@click.command(
    epilog="""\b
Examples:
  numafit fleet simulate nodes.yaml trace.csv
  numafit fleet simulate nodes.yaml trace.csv --rule numafit --speed 20
  numafit fleet simulate nodes.yaml trace.jsonl --large cpu=64,memory=256Gi
  numafit fleet simulate nodes.yaml openb_pod_list_default.csv --whole-cpus -o json"""
)
@click.argument("nodes", type=click.Path(path_type=Path))
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--rule", "rules", type=OneOf(NAMES), multiple=True, help=f"Only this one: {'; '.join(NAMES)}.")
@click.option(
    "--large",
    "specs",
    multiple=True,
    metavar="AMOUNTS",
    help="A large pod whose room is watched, like cpu=64,nvidia.com/gpu=4; default by the largest node.",
)
@click.option("--speed", type=float, default=1.0, metavar="TIMES", help="Pods arrive so many times as fast.")
@click.option("--most", type=click.IntRange(1), metavar="N", help="Only the first N pods.")
@click.option("--whole-cpus", is_flag=True, help="Round CPUs up, so that each pod gets CPUs for itself.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
def simulate(
    nodes: Path,
    trace: Path,
    rules: tuple[str, ...],
    specs: tuple[str, ...],
    speed: float,
    most: int | None,
    whole_cpus: bool,
    output: str,
) -> int:
    """Place the pods of TRACE on NODES by several rules, and count what each leads to.

    NODES is a file of kubelet-sim. TRACE tells when pods arrive, how long they run and what they ask for: CSV or JSON
    lines, see docs/fleet.md. Each pod is decided by the kubelet of the node that a rule chose. Blind rules know sums
    only, as a scheduler does, so that kubelets reject; the others choose among nodes that admit the pod. Exit status:
    0 answered, 2 bad input.
    """
    if not 0 < speed < float("inf"):
        raise InputError(f"{speed:g} is no number of times", source="--speed", cure="more than 0")
    states = idle_states(nodes)
    kinds = tuple({state.key: state for state in states.values()}.values())
    read = _trace(trace, kinds, speed, most, whole_cpus=whole_cpus)
    large = tuple(_large(spec) for spec in specs) or large_pods(kinds)
    memory = VerdictMemory()
    pods = tuple(possible(kinds, read.pods, memory))
    if not pods:
        raise InputError("none of its pods fits an empty node", source=str(trace), cure="do both use the same devices?")
    fleet = fleet_of(states)
    chosen = [rule for rule in RULES if not rules or rule.name in rules]
    with progress_bar(len(pods) * len(chosen)) as bar:
        outcomes = [play_rule(fleet, pods, rule, memory, large, bar.update) for rule in chosen]
    record = fleet_run_record(len(states), read, len(pods), large, outcomes)
    if output == "json":
        click.echo(json_text(record))
    else:
        say(lambda screen: fleet_run_text(record, screen), read.notes)
    return 0


def _trace(path: Path, kinds: Sequence[NodeState], speed: float, most: int | None, *, whole_cpus: bool) -> PodTrace:
    devices = [name for state in kinds for name in state.ledger.device.healthy]
    read = read_trace(read_text(path), str(path), gpu=devices[0] if devices else GPU, whole_cpus=whole_cpus)
    return (read if most is None else read.first(most)).faster(speed)


def _large(spec: str) -> LargePod:
    amounts = {}
    for part in spec.split(","):
        name, _, text = part.partition("=")
        try:
            amounts[name.strip()] = parse_quantity(text.strip())
        except QuantityError as error:
            said = f'"{part[:60]}": {error}'
            raise InputError(said, source="--large", cure="like cpu=64,memory=256Gi,nvidia.com/gpu=4") from None
    return large_pod(spec, amounts)
