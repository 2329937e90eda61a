"""What a score of kube-scheduler makes of each node for pods of a shape, kept as nodes change.

A shape is scored once on all nodes; after that only nodes that have changed since are scored again. Equal nodes are
scored once.
"""

from collections.abc import Mapping

import msgspec

from numafit.fleet.simulation.scores import Scoring
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.state import NodeState
from numafit.workload.pod import Pod

DOES_NOT_FIT = -1


class _Scored(msgspec.Struct):
    points: list[int]
    """By place of the node."""
    seen: int
    """Changes that are in it."""


class ScoreBoard:
    """`states`: by name; the place of a node is that of its name in their order."""

    def __init__(self, states: Mapping[str, NodeState], view: SchedulerView, scoring: Scoring) -> None:
        self._view, self._scoring = view, scoring
        self.names = sorted(states)
        self._places = {name: place for place, name in enumerate(self.names)}
        self._states = [states[name] for name in self.names]
        self._changes: list[int] = []
        self._shapes: dict[bytes, _Scored] = {}

    def changed(self, name: str, state: NodeState) -> None:
        place = self._places[name]
        self._states[place] = state
        self._changes.append(place)

    def points(self, pod: Pod, shape: bytes) -> list[int]:
        """Of all nodes; DOES_NOT_FIT where the sums are too small. It is not the caller's to change."""
        own = self._shapes.get(shape)
        if own is None:
            known: dict[bytes, int] = {}
            for state in self._states:
                if state.key not in known:
                    known[state.key] = self._score(state, pod, shape)
            own = self._shapes[shape] = _Scored([known[state.key] for state in self._states], len(self._changes))
            return own.points
        for place in set(self._changes[own.seen :]):
            own.points[place] = self._score(self._states[place], pod, shape)
        own.seen = len(self._changes)
        return own.points

    def points_of(self, name: str, pod: Pod, shape: bytes) -> int:
        return self.points(pod, shape)[self._places[name]]

    def _score(self, state: NodeState, pod: Pod, shape: bytes) -> int:
        if not self._view.fits(state, pod, shape):
            return DOES_NOT_FIT
        return self._scoring(self._view, state, pod, shape)
