"""`numafit fleet simulate`: pods that arrive and end in time, placed on a fleet by several rules."""

import click

from numafit.cli.fleet.plays import Playing, play_all, plays_of
from numafit.cli.fleet.run_options import RunOptions, run_options
from numafit.cli.fleet.sources import Sources, none_fits, read_sources, source_options
from numafit.cli.options.one_of import OneOf
from numafit.cluster.plan.words import is_policy
from numafit.errors import InputError
from numafit.fleet.simulation.large import LargePod, large_pod
from numafit.fleet.simulation.rules import RULES
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.settings.validation import TOPOLOGY_POLICIES
from numafit.show.html.fleet_run import fleet_run_page
from numafit.show.records.fleet_run import fleet_run_record
from numafit.show.text.fleet.simulation import fleet_run_text

NAMES = tuple(rule.name for rule in RULES)


@click.command(
    epilog="""\b
Examples:
  numafit fleet simulate nodes.yaml trace.csv
  numafit fleet simulate nodes.yaml trace.csv --rule numafit --speed 20
  numafit fleet simulate nodes.yaml trace.csv --html fleet.html
  numafit fleet simulate nodes.yaml trace.jsonl --large cpu=64,memory=256Gi
  numafit fleet simulate cluster.json cluster.json --continue stopped.json
  numafit fleet simulate cluster: trace.csv --context production
  numafit fleet simulate nodes.csv trace.csv --policy restricted --policy single-numa-node/pod
  numafit fleet simulate openb_node_list_all_node.csv openb_pod_list_default.csv --whole-cpus"""
)
@source_options
@click.option(
    "--rule", "rules", type=OneOf(NAMES), metavar="NAME", multiple=True, help=f"Only this one: {'; '.join(NAMES)}."
)
@click.option(
    "--policy", "policies", multiple=True, metavar="NAME", help=f"Each node with it: {', '.join(TOPOLOGY_POLICIES)}."
)
@click.option(
    "--large",
    "specs",
    multiple=True,
    metavar="AMOUNTS",
    help="A large pod whose room is watched, like cpu=64,nvidia.com/gpu=4; default by the largest node.",
)
@run_options
def simulate(
    sources: Sources,
    rules: tuple[str, ...],
    policies: tuple[str, ...],
    specs: tuple[str, ...],
    run: RunOptions,
) -> int:
    """Place the pods of TRACE on NODES by several rules, and count what each leads to.

    NODES is a file of kubelet-sim, or CSV with a row for each node. TRACE tells when pods arrive, how long they run and
    what they ask for: CSV or JSON lines. Both may be what `kubectl get nodes,pods -A -o json` printed; see
    docs/fleet-simulate.md. Or `cluster:`, which is the cluster itself that kubectl speaks to. Each pod is decided by
    the kubelet of the node that a rule chose. Blind rules know sums only, as a scheduler does, so that kubelets reject;
    the others choose among nodes that admit the pod. Exit status: 0 answered, 2 bad input, 130 stopped.
    """
    for own in policies:
        _check_policy(own)
    planned, read = read_sources(sources)
    large = tuple(_large(spec) for spec in specs)
    playing = Playing(planned, read.pods, large, run.stock)
    plays = plays_of(tuple(dict.fromkeys(policies)), [rule for rule in RULES if not rules or rule.name in rules])
    played = play_all(playing, plays, run.processes, run.before(playing))
    outcomes = [own.outcome for own in played.values() if own.outcome is not None]
    if len(outcomes) < len(plays):
        return run.stopped(playing, played)
    if not any(own.pods for own in outcomes):
        raise none_fits(sources)
    notes = (*planned.notes, *read.notes)
    record = fleet_run_record(planned.count, read, outcomes, notes, (*planned.skipped, *read.skipped))
    return run.answer(record, lambda screen: fleet_run_text(record, screen), lambda: fleet_run_page(record), notes)


def _check_policy(policy: str) -> None:
    if not is_policy(policy):
        cure = f"one of {', '.join(TOPOLOGY_POLICIES)}; /pod or /container after it sets the scope"
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
