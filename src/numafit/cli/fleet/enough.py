"""How many nodes are enough: numbers are played until the smallest is found, for the fleet as it is and as changed."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec.structs import replace

from numafit.cli.fleet.plays import Play, Player, Playing, playing_with
from numafit.cli.fleet.run_options import RunOptions
from numafit.cli.fleet.sources import ReadSources, Sources, none_fits
from numafit.cluster.plan.change import FleetChange, changed_nodes
from numafit.cluster.plan.sized import counts_of, sized
from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.simulation.rules import RULES, PlacingRule
from numafit.fleet.what_if.gain import overdue_of
from numafit.fleet.what_if.search import PROBES, least_enough
from numafit.show.records.fleet_what_if import FleetSize, FleetSizeAnswer, SizePlayed

MOST_TIMES, MOST_NODES = 16, 100_000
"""No more nodes are tried than so many times those that there are."""


class SizeQuestion(NamedTuple):
    part: Fraction
    """Of the pods that may be overdue."""
    kind: str
    """Whose nodes are varied; empty: all."""
    rule: PlacingRule
    changes: Sequence[FleetChange]

    def allowed(self, pods: int) -> int:
        """So many of them."""
        return int(self.part * pods)


class Interrupted(Exception):
    """Somebody stopped it: what was played is known to the player."""


def ask_sizes(
    playing: Playing, question: SizeQuestion, read: ReadSources, run: RunOptions, sources: Sources
) -> FleetSizeAnswer | int:
    """An exit status where it was stopped."""
    more = (question.kind, question.changes)
    with playing_with(playing, run.processes, run.before(playing, more)) as player:
        try:
            fleets = [_size(player, question, change) for change in (None, *question.changes)]
        except Interrupted:
            fleets = []
    if not fleets:
        return run.stopped(playing, player.found, more)
    if not any(own.outcome.pods for fleet in fleets for own in fleet.played):
        raise none_fits(sources)
    return FleetSizeAnswer(
        nodes=read.nodes.count,
        pods=len(read.trace.pods),
        seconds=read.trace.pods[-1].arrival - read.trace.pods[0].arrival,
        rule=question.rule.name,
        limit=playing.limit,
        part=float(question.part),
        allowed=question.allowed(len(read.trace.pods)),
        group=question.kind,
        varied=_varied(playing, question),
        fleets=tuple(fleets),
        notes=(*read.nodes.notes, *read.trace.notes),
        skipped=(*read.nodes.skipped, *read.trace.skipped),
    )


def _varied(playing: Playing, question: SizeQuestion) -> int:
    return counts_of(playing.nodes)[question.kind] if question.kind else playing.nodes.count


def _size(player: Player, question: SizeQuestion, change: FleetChange | None) -> FleetSize:
    playing = player.playing
    first, allowed = _varied(playing, question), question.allowed(len(playing.pods))
    most = min(first * MOST_TIMES, MOST_NODES)
    outcomes: dict[int, RuleOutcome] = {}
    rule = question.rule
    if change is not None and change.kind == "scheduler":
        rule = next(own for own in RULES if own.name == change.value)

    def enough(numbers: Sequence[int]) -> Mapping[int, bool]:
        plays = {number: Play("", rule, change, number, question.kind) for number in numbers}
        found = player.play(tuple(plays.values()), _expected(first) if not outcomes else len(numbers))
        for number, play in plays.items():
            outcome = found[play.name].outcome
            if outcome is None:
                raise Interrupted
            # So many moments of so many fleets nobody looks at.
            outcomes[number] = replace(outcome, moments=())
        return {number: overdue_of(outcomes[number]) <= allowed for number in numbers}

    # Pods that fit no node of the whole fleet fit none of a larger one.
    enough((first,))
    hopeless = outcomes[first].impossible > allowed
    # A fleet has a node at least.
    alone = first == playing.nodes.count
    search = least_enough(enough, first, first if hopeless else most, 1 if alone else 0)
    nodes = playing.nodes if change is None else changed_nodes(playing.nodes, change)
    groups = {} if search.least is None else counts_of(sized(nodes, search.least, question.kind))
    return FleetSize(
        change="" if change is None else change.name,
        least=search.least,
        most=max(search.played),
        groups=groups,
        played=tuple(
            SizePlayed(number, own, overdue_of(outcomes[number]), outcomes[number])
            for number, own in search.played.items()
        ),
        unlike=search.unlike,
    )


def _expected(first: int) -> int:
    """Plays until the smallest number is found, where what there is now is enough; for the bar."""
    rounds, left = 0, first
    while left > 1:
        rounds, left = rounds + 1, left // (PROBES + 1)
    return rounds * PROBES + 1
