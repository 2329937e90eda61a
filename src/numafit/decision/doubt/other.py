"""Another outcome as a value: what comes out otherwise, and how chance has to fall for it."""

from typing import Literal

import msgspec

from numafit.decision.decision import Decision
from numafit.managers.protocol import Draw

Extent = Literal["all", "more", "not searched"]
"""Of a list of outcomes: there are no others; there are others; nobody knows, for there are too many orders to try."""


class Dependence(msgspec.Struct, frozen=True):
    """Chance fell otherwise than in the run that is shown."""

    draw: Draw
    taken: tuple[str, ...]
    """What was chosen; where all are taken, in this order. Pods as namespace/name."""
    instead: tuple[str, ...]
    """What numafit chooses."""


class Other(msgspec.Struct, frozen=True):
    """Another outcome."""

    decisions: tuple[Decision, ...]
    """Those that come out otherwise than shown; at a restart there may be several."""
    depends: tuple[Dependence, ...]
    """How chance has to fall."""


class Others(msgspec.Struct, frozen=True):
    found: tuple[Other, ...]
    """Without the one that is shown."""
    extent: Extent
    steps: tuple[int, ...] = ()
    """The numbers of the steps that these are outcomes of together; empty where it is one decision's own."""

    @property
    def decisions(self) -> tuple[Decision, ...]:
        return tuple(decision for other in self.found for decision in other.decisions)
