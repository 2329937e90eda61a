"""A fleet in time: what was played, and what came of each rule."""

from collections.abc import Sequence

import msgspec

from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.simulation.trace import PodTrace
from numafit.notes import Note


class FleetRunAnswer(msgspec.Struct, frozen=True):
    nodes: int
    pods: int
    """Of the trace; those that fit no empty node, which depends on the policy, are not sent."""
    seconds: float
    """From the first arrival to the last."""
    rules: tuple[RuleOutcome, ...]
    notes: tuple[Note, ...] = ()
    skipped: tuple[str, ...] = ()
    """What is wrong with rows that were left out, with their places."""


def fleet_run_record(
    nodes: int,
    trace: PodTrace,
    outcomes: Sequence[RuleOutcome],
    notes: Sequence[Note] = (),
    skipped: Sequence[str] = (),
) -> FleetRunAnswer:
    seconds = trace.pods[-1].arrival - trace.pods[0].arrival
    return FleetRunAnswer(nodes, len(trace.pods), seconds, tuple(outcomes), tuple(notes), tuple(skipped))
