"""`numafit fleet simulate`: pods that arrive and end in time, placed on a fleet by several rules."""

from collections.abc import Mapping
from pathlib import Path

import click

from numafit.cli.files import read_text, write_whole
from numafit.cli.fleet.kept import read_kept, write_kept
from numafit.cli.fleet.plays import PlayedRule, Playing, cores, play_all, plays_of
from numafit.cli.options.answer import say
from numafit.cli.options.one_of import OneOf
from numafit.cli.options.simulated import planned_nodes
from numafit.cli.warning import warn
from numafit.cluster.sim.dump import looks_like_dump, read_dumped_pods
from numafit.cluster.sim.table import NUMA_NODES, NodeAssumptions
from numafit.errors import InputError
from numafit.fleet.simulation.controllers import CONTROLLERS, USUAL
from numafit.fleet.simulation.large import LargePod, large_pod
from numafit.fleet.simulation.rules import RULES, StockScheduler
from numafit.fleet.simulation.trace import GPU, PodTrace, read_trace
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.settings.read.loader import ConfigFile
from numafit.show.html.fleet_run import fleet_run_page
from numafit.show.json import json_text
from numafit.show.records.fleet_run import fleet_run_record
from numafit.show.text.fleet.simulation import fleet_run_text

NAMES = tuple(rule.name for rule in RULES)
POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SCOPES = ("container", "pod")
STOPPED = 130
"""The exit status after Ctrl-C."""


@click.command(
    epilog="""\b
Examples:
  numafit fleet simulate nodes.yaml trace.csv
  numafit fleet simulate nodes.yaml trace.csv --rule numafit --speed 20
  numafit fleet simulate nodes.yaml trace.csv --html fleet.html
  numafit fleet simulate nodes.yaml trace.jsonl --large cpu=64,memory=256Gi
  numafit fleet simulate cluster.json cluster.json --continue stopped.json
  numafit fleet simulate nodes.csv trace.csv --policy restricted --policy single-numa-node/pod
  numafit fleet simulate openb_node_list_all_node.csv openb_pod_list_default.csv --whole-cpus"""
)
@click.argument("nodes", type=click.Path(path_type=Path))
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--rule", "rules", type=OneOf(NAMES), multiple=True, help=f"Only this one: {'; '.join(NAMES)}.")
@click.option("--policy", "policies", multiple=True, metavar="NAME", help=f"Each node with it: {', '.join(POLICIES)}.")
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
@click.option(
    "--owner",
    type=OneOf(list(CONTROLLERS)),
    default=USUAL,
    show_default=True,
    help="Of pods without one.",
)
@click.option("--numa", type=click.IntRange(1, 16), default=NUMA_NODES, show_default=True, help="Of each row of NODES.")
@click.option("--kubelet", type=click.Path(path_type=Path), help="Configuration of each row of NODES.")
@click.option(
    "--sample", type=click.IntRange(0, 100), default=0, metavar="PERCENT", help="percentageOfNodesToScore, if blind."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the choice among equals, if blind.")
@click.option("--jobs", type=click.IntRange(1, 256), metavar="N", help="Processes to play with; default one per core.")
@click.option(
    "--continue",
    "kept",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Kept there when stopped by Ctrl-C; the same command goes on from it.",
)
@click.option("--html", "page", type=click.Path(path_type=Path), metavar="FILE", help="A page with plots, as well.")
@click.option("-o", "output", type=OneOf(["text", "json"]), default="text", show_default=True)
def simulate(
    nodes: Path,
    trace: Path,
    rules: tuple[str, ...],
    policies: tuple[str, ...],
    specs: tuple[str, ...],
    speed: float,
    most: int | None,
    whole_cpus: bool,
    owner: str,
    numa: int,
    kubelet: Path | None,
    sample: int,
    seed: int,
    jobs: int | None,
    kept: Path | None,
    page: Path | None,
    output: str,
) -> int:
    """Place the pods of TRACE on NODES by several rules, and count what each leads to.

    NODES is a file of kubelet-sim, or CSV with a row for each node. TRACE tells when pods arrive, how long they run and
    what they ask for: CSV or JSON lines. Both may be what `kubectl get nodes,pods -A -o json` printed; see
    docs/fleet-simulate.md. Each pod is decided by the kubelet of the node that a rule chose. Blind rules know sums
    only, as a scheduler does, so that kubelets reject; the others choose among nodes that admit the pod. Exit status:
    0 answered, 2 bad input, 130 stopped.
    """
    if not 0 < speed < float("inf"):
        raise InputError(f"{speed:g} is no number of times", source="--speed", cure="more than 0")
    for own in policies:
        _check_policy(own)
    config = None if kubelet is None else ConfigFile(str(kubelet), read_text(kubelet))
    planned = planned_nodes(nodes, NodeAssumptions(numa, config))
    devices = [own.resource for group, _ in planned.kinds for own in group.machine.devices]
    gpu = devices[0] if devices else GPU
    read = _trace(trace, gpu, owner, whole_cpus=whole_cpus)
    read = (read if most is None else read.first(most)).faster(speed)
    large = tuple(_large(spec) for spec in specs)
    playing = Playing(planned, read.pods, large, StockScheduler(sample, seed))
    plays = plays_of(tuple(dict.fromkeys(policies)), [rule for rule in RULES if not rules or rule.name in rules])
    played = play_all(playing, plays, jobs or cores(), read_kept(kept, playing) if kept is not None else {})
    outcomes = [own.outcome for own in played.values() if own.outcome is not None]
    if len(outcomes) < len(plays):
        return _stopped(kept, playing, played)
    if not any(own.pods for own in outcomes):
        raise InputError("none of its pods fits an empty node", source=str(trace), cure="do both use the same devices?")
    notes = (*planned.notes, *read.notes)
    record = fleet_run_record(planned.count, read, outcomes, notes, (*planned.skipped, *read.skipped))
    if kept is not None:
        kept.unlink(missing_ok=True)
    if page is not None:
        write_whole(page, fleet_run_page(record).encode())
    if output == "json":
        click.echo(json_text(record))
    else:
        say(lambda screen: fleet_run_text(record, screen), notes)
    return 0


def _trace(path: Path, gpu: str, owner: str, *, whole_cpus: bool) -> PodTrace:
    text = read_text(path)
    if looks_like_dump(text):
        return read_dumped_pods(text, str(path), owner)
    return read_trace(text, str(path), gpu=gpu, whole_cpus=whole_cpus, owner=owner)


def _stopped(kept: Path | None, playing: Playing, played: Mapping[str, PlayedRule]) -> int:
    if kept is None:
        warn("stopped; with --continue FILE it could go on later")
    else:
        write_kept(kept, playing, played)
        warn(f"stopped; the same command goes on from {kept}")
    return STOPPED


def _check_policy(policy: str) -> None:
    name, slash, scope = policy.partition("/")
    if name not in POLICIES or (slash and scope not in SCOPES):
        cure = f"one of {', '.join(POLICIES)}; /pod or /container after it sets the scope"
        raise InputError(f'"{policy[:60]}" is no policy', source="--policy", cure=cure)


def _large(spec: str) -> LargePod:
    amounts: dict[str, Quantity] = {}
    cure = "like cpu=64,memory=256Gi,nvidia.com/gpu=4"
    for part in spec.split(","):
        name, _, text = (word.strip() for word in part.partition("="))
        try:
            amount = parse_quantity(text)
        except QuantityError as error:
            raise InputError(f'"{part[:60]}": {error}', source="--large", cure=cure) from None
        known = name in ("cpu", "memory") or "/" in name or name.startswith("hugepages-")
        if name in amounts or not known:
            said = f'"{name[:60]}" stands there twice' if name in amounts else f'"{name[:60]}" is no resource'
            raise InputError(said, source="--large", cure=cure)
        if amount.sign <= 0 or ("/" in name and amount.milli() % 1000):
            raise InputError(f'"{part[:60]}" is no amount that a pod can ask for', source="--large", cure=cure)
        amounts[name] = amount
    return large_pod(spec, amounts)
