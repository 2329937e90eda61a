"""A fleet in time: what was played, and what came of each rule."""

from collections.abc import Mapping, Sequence

import msgspec

from numafit.fleet.simulation.large import LargePod
from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.simulation.trace import PodTrace
from numafit.notes import Note


class LargeShape(msgspec.Struct, frozen=True):
    name: str
    requests: Mapping[str, str]


class FleetRunAnswer(msgspec.Struct, frozen=True):
    nodes: int
    pods: int
    """Those that were sent; those that fit no empty node are left out."""
    impossible: int
    seconds: float
    """From the first arrival to the last."""
    large: tuple[LargeShape, ...]
    rules: tuple[RuleOutcome, ...]
    notes: tuple[Note, ...] = ()


def fleet_run_record(
    nodes: int, trace: PodTrace, sent: int, large: Sequence[LargePod], outcomes: Sequence[RuleOutcome]
) -> FleetRunAnswer:
    shapes = tuple(
        LargeShape(own.name, {name: str(amount) for name, amount in own.pod.containers[0].requests.items()})
        for own in large
    )
    seconds = trace.pods[-1].arrival - trace.pods[0].arrival
    return FleetRunAnswer(nodes, sent, len(trace.pods) - sent, seconds, shapes, tuple(outcomes), trace.notes)
