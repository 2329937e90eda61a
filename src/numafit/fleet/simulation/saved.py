"""A run that was stopped, as values: all that is needed to go on, and no more.

How nodes stand is not kept but what happened on them, in order: the engine decides it again, which takes seconds.
"""

from collections.abc import Mapping

import msgspec

from numafit.fleet.simulation.loops import Loop, SharedPace, TriesInVain
from numafit.fleet.simulation.outcome import FleetMoment


class NodeEvent(msgspec.Struct, frozen=True, array_like=True):
    """A pod was admitted by a node, or has ended there."""

    pod: int
    node: str
    ends: bool = False


class SavedLoop(msgspec.Struct, frozen=True):
    pod: int
    """One of its shape and owner."""
    loop: Loop


class SavedRun(msgspec.Struct, frozen=True, kw_only=True):
    arrived: int
    left_waiting: int | None
    now: float
    due: tuple[tuple[float, int, int, str], ...]
    number: int
    changes: int
    waiting: tuple[tuple[int, ...], ...]
    """By shape; in the order in which shapes began to wait."""
    began: Mapping[int, float]
    gave_up: Mapping[int, float]
    times_rejected: Mapping[int, int]
    vain: Mapping[int, TriesInVain]
    loops: tuple[SavedLoop, ...]
    paces: Mapping[str, SharedPace]
    """By kind of controller."""
    at_once: tuple[int, ...]
    moments: tuple[FleetMoment, ...]
    happened: tuple[NodeEvent, ...]
    first: int
    """Where a blind rule begins next."""
    asked: int
