"""A fleet with one thing changed: what each change gains; and how many nodes are enough."""

from collections.abc import Mapping

import msgspec

from numafit.fleet.simulation.outcome import RuleOutcome
from numafit.fleet.what_if.gain import Aim, ChangeOutcome
from numafit.notes import Note


class RefusedChange(msgspec.Struct, frozen=True):
    change: str
    why: str


class FleetWhatIfAnswer(msgspec.Struct, frozen=True, kw_only=True):
    nodes: int
    pods: int
    """Of the trace."""
    seconds: float
    """From the first arrival to the last."""
    rule: str
    """By which pods are placed, where no change says otherwise."""
    limit: float
    """Seconds after which a pod is overdue."""
    by: Aim
    """What the changes are ordered by."""
    before: RuleOutcome
    """The fleet as it is."""
    changes: tuple[ChangeOutcome, ...]
    """The one that gains most first."""
    refused: tuple[RefusedChange, ...] = ()
    """Changes that cannot be made."""
    notes: tuple[Note, ...] = ()
    skipped: tuple[str, ...] = ()
    """What is wrong with rows that were left out, with their places."""


class SizePlayed(msgspec.Struct, frozen=True):
    """The fleet with so many nodes."""

    nodes: int
    """That were varied: all, or those of one group."""
    enough: bool
    overdue: int
    """Pods that waited longer than the limit or have no node, those that fit no empty node included."""
    outcome: RuleOutcome


class FleetSize(msgspec.Struct, frozen=True, kw_only=True):
    change: str
    """Empty: the fleet as it is."""
    least: int | None
    """Nodes that are enough; None: no number is, up to `most`."""
    most: int
    groups: Mapping[str, int]
    """How many of each group these are."""
    played: tuple[SizePlayed, ...]
    """By number."""
    unlike: tuple[int, ...] = ()
    """Numbers above the answer that were played and are not enough: more nodes are not always better."""


class FleetSizeAnswer(msgspec.Struct, frozen=True, kw_only=True):
    nodes: int
    """That there are now."""
    pods: int
    seconds: float
    rule: str
    limit: float
    part: float
    """Of the pods that may be overdue, from 0 to 1."""
    allowed: int
    """So many pods."""
    group: str
    """Whose nodes are varied; empty: all groups by their shares."""
    varied: int
    """Nodes that there are now of those that are varied."""
    fleets: tuple[FleetSize, ...]
    """As it is, then with each change."""
    notes: tuple[Note, ...] = ()
    skipped: tuple[str, ...] = ()
