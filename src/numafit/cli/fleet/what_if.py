"""`numafit fleet what-if`: the same fleet with one thing changed, and how many nodes are enough."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path

import click

from numafit.cli.files import read_text
from numafit.cli.fleet.enough import SizeQuestion, ask_sizes
from numafit.cli.fleet.plays import Play, Playing, playing_with
from numafit.cli.fleet.run_options import RunOptions, run_options
from numafit.cli.fleet.sources import ReadSources, Sources, none_fits, read_sources, source_options
from numafit.cli.options.machine import resolve_machine
from numafit.cli.options.one_of import OneOf
from numafit.cluster.plan.change import FleetChange, changed_nodes
from numafit.cluster.plan.planned import PlannedNodes, idle_state
from numafit.cluster.plan.sized import check_kind
from numafit.cluster.plan.usual import unlike, usual_changes
from numafit.cluster.plan.words import KINDS, ChangeReaders, read_change
from numafit.errors import InputError
from numafit.fleet.simulation.large import large_pods
from numafit.fleet.simulation.outcome import LIMIT
from numafit.fleet.simulation.rules import RULES, PlacingRule
from numafit.fleet.what_if.gain import AIMS, Aim, ChangeOutcome, gain_of, ranked
from numafit.settings.read.loader import ConfigFile
from numafit.show.html.fleet_what_if import fleet_size_page, what_if_page
from numafit.show.records.fleet_what_if import FleetWhatIfAnswer, RefusedChange
from numafit.show.text.fleet.what_if import fleet_size_text, what_if_text

NAMES = tuple(rule.name for rule in RULES)
STOCK_RULE = "stock, blind"
"""That of kube-scheduler as it comes."""


@click.command(
    "what-if",
    epilog="""\b
Examples:
  numafit fleet what-if nodes.yaml trace.csv
  numafit fleet what-if nodes.yaml trace.csv --change policy=restricted/pod --change numa=4
  numafit fleet what-if nodes.csv trace.csv --change numa=4 --by rejected --html page.html
  numafit fleet what-if nodes.yaml trace.csv --nodes-for 1% --wait 60
  numafit fleet what-if nodes.yaml trace.csv --nodes-for 1% --group gpu --change scheduler=numafit
  numafit fleet what-if cluster: cluster: --context production""",
)
@source_options
@click.option(
    "--change",
    "texts",
    multiple=True,
    metavar="KIND=VALUE",
    help=f"Only this one, instead of the usual ones; kinds are {', '.join(KINDS)}.",
)
@click.option(
    "--rule",
    type=OneOf(NAMES),
    metavar="NAME",
    default=STOCK_RULE,
    show_default=True,
    help=f"By which pods are placed now: {'; '.join(NAMES)}.",
)
@click.option(
    "--by", "aim", type=OneOf(AIMS), default=AIMS[0], show_default=True, help="What the changes are ordered by."
)
@click.option(
    "--wait",
    "limit",
    type=float,
    default=LIMIT,
    show_default=True,
    metavar="SECONDS",
    help="Who waits longer is overdue.",
)
@click.option(
    "--nodes-for", "part", metavar="PART", help="How many nodes, so that at most this part is overdue, like 1%?"
)
@click.option("--group", metavar="NAME", help="With --nodes-for: only nodes of this group are more or fewer.")
@run_options
def what_if(
    sources: Sources,
    texts: tuple[str, ...],
    rule: str,
    aim: Aim,
    limit: float,
    part: str | None,
    group: str | None,
    run: RunOptions,
) -> int:
    """Play TRACE on NODES as they are and with one thing changed: which change gains most?

    NODES and TRACE are read as by `numafit fleet simulate`. Without --change those changes are played that such a fleet
    could make: other policies, options, reservations, machines, pods, a scheduler that knows NUMA nodes. With
    --nodes-for the question is how many nodes are enough, for the fleet as it is and with each --change; the answer was
    played, and so was one node less. See docs/fleet-what-if.md. Exit status: 0 answered, 2 bad input, 130 stopped.
    """
    if not 0 <= limit < float("inf"):
        raise InputError(f"{limit:g} is no time to wait", source="--wait", cure="a number of seconds")
    wanted = None if part is None else _part(part)
    if wanted is None and group is not None:
        raise InputError("goes with --nodes-for only", source="--group")
    read = read_sources(sources)
    if group is not None:
        check_kind(read.nodes, group, "--group")
    # By its name: a machine cannot be hashed.
    named = tuple({own.name: own for own in (read_change(text, _READERS) for text in texts)}.values())
    own = next(each for each in RULES if each.name == rule)
    states = [idle_state(kind) for kind, _ in read.nodes.kinds]
    playing = Playing(read.nodes, read.trace.pods, large_pods(states), run.stock, limit)
    if wanted is not None:
        _check_named(read.nodes, named, "nodes")
        question = SizeQuestion(wanted, group or "", own, named)
        answer = ask_sizes(playing, question, read, run, sources)
        if isinstance(answer, int):
            return answer
        return run.answer(
            answer, lambda screen: fleet_size_text(answer, screen), lambda: fleet_size_page(answer), answer.notes
        )
    _check_named(read.nodes, named)
    found = _changes(playing, read, named, own, aim, run, sources)
    if isinstance(found, int):
        return found
    return run.answer(found, lambda screen: what_if_text(found, screen), lambda: what_if_page(found), found.notes)


_PART = re.compile(r"(?:[0-9]{1,9}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:e-?[0-9]{1,2})?", re.IGNORECASE)


def _part(text: str) -> Fraction:
    """As it is written: 29 % of 100 pods are 29, which a float makes less."""
    bare = text.strip().removesuffix("%").rstrip()
    found = Fraction(bare) if _PART.fullmatch(bare) else Fraction(-1)
    if text.strip().endswith("%"):
        found /= 100
    if not 0 <= found < 1:
        raise InputError(f'"{text[:60]}" is no part of pods', source="--nodes-for", cure="like 1% or 0.01")
    return found


def _config(name: str) -> ConfigFile:
    return ConfigFile(name, read_text(Path(name)))


_READERS = ChangeReaders(lambda name: resolve_machine((name,)).machine, _config)


def _check_named(nodes: PlannedNodes, named: Sequence[FleetChange], senseless: str = "") -> None:
    """Raises InputError where a kubelet would not start so."""
    for change in named:
        if change.kind == senseless:
            raise InputError(f"{change.name} is what --nodes-for looks for", source="--change")
        why = _refusal(nodes, change)
        if why:
            raise InputError(f"{change.name}: {why}", source="--change")


def _refusal(nodes: PlannedNodes, change: FleetChange) -> str:
    """Why it cannot be made; empty where it can."""
    try:
        for kind, _ in changed_nodes(nodes, change).kinds:
            idle_state(kind)
    except InputError as error:
        return error.message
    return ""


def _changes(
    playing: Playing,
    read: ReadSources,
    named: Sequence[FleetChange],
    rule: PlacingRule,
    aim: Aim,
    run: RunOptions,
    sources: Sources,
) -> FleetWhatIfAnswer | int:
    refused: list[RefusedChange] = []
    chosen = named or tuple(_possible(read, rule, refused))
    plays = [Play("", rule), *(play_of(change, rule) for change in chosen)]
    with playing_with(playing, run.processes, run.before(playing, chosen)) as player:
        played = player.play(plays)
    outcomes = [own.outcome for own in played.values()]
    if None in outcomes:
        return run.stopped(playing, player.found, chosen)
    before, *after = [own for own in outcomes if own is not None]
    if not any(own.pods for own in (before, *after)):
        raise none_fits(sources)
    changes = [ChangeOutcome(change.name, gain_of(before, own), own) for change, own in zip(chosen, after, strict=True)]
    return FleetWhatIfAnswer(
        nodes=read.nodes.count,
        pods=len(read.trace.pods),
        seconds=read.trace.pods[-1].arrival - read.trace.pods[0].arrival,
        rule=rule.name,
        limit=playing.limit,
        by=aim,
        before=before,
        changes=ranked(changes, aim),
        refused=tuple(refused),
        notes=(*read.nodes.notes, *read.trace.notes),
        skipped=(*read.nodes.skipped, *read.trace.skipped),
    )


def _possible(read: ReadSources, rule: PlacingRule, refused: list[RefusedChange]) -> Iterator[FleetChange]:
    """Of the usual changes those that can be made, and that some node or pod would notice."""
    for change in usual_changes(read.nodes, read.trace.pods, rule.name):
        why = _refusal(read.nodes, change)
        if why:
            refused.append(RefusedChange(change.name, why))
        elif change.kind in ("pods", "scheduler") or unlike(read.nodes, changed_nodes(read.nodes, change)):
            yield change


def play_of(change: FleetChange, rule: PlacingRule) -> Play:
    own = next(each for each in RULES if each.name == change.value) if change.kind == "scheduler" else rule
    return Play("", own, change)
