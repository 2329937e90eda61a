"""Nodes that stand alike, and which of these groups have changed lately: who keeps an order of them need not make it
anew for each change."""

from bisect import insort
from collections.abc import Iterable, Mapping

from numafit.fleet.state import Standing

MOST_STEPS = 16
"""Changes that are remembered; who has looked longer ago looks at all."""


class GroupMoment:
    """One state of the groups, told from all others by being itself."""


class StandingGroups(dict[Standing, tuple[str, ...]]):
    """Names of nodes in their order. A value: whoever changes it makes another (`moved`)."""

    def __init__(self, groups: Mapping[Standing, tuple[str, ...]] = {}) -> None:
        super().__init__(groups)
        self.moment = GroupMoment()
        self._steps: tuple[tuple[GroupMoment, frozenset[Standing]], ...] = ()

    def moved(self, moves: Iterable[tuple[str, Standing | None, Standing | None]]) -> "StandingGroups":
        """With these nodes, each from one group to another; None: from nowhere, or to nowhere."""
        real = [own for own in moves if own[1] != own[2]]
        if not real:
            return self
        left = StandingGroups(self)
        for name, old, new in real:
            if old is not None:
                left._take(old, name)
            if new is not None:
                names = list(left.get(new, ()))
                insort(names, name)
                left[new] = tuple(names)
        touched = frozenset(standing for _, *both in real for standing in both if standing is not None)
        left._steps = (*self._steps, (self.moment, touched))[-MOST_STEPS:]
        return left

    def _take(self, standing: Standing, name: str) -> None:
        others = tuple(own for own in self[standing] if own != name)
        if others:
            self[standing] = others
        else:
            del self[standing]

    def changed_since(self, moment: GroupMoment) -> frozenset[Standing] | None:
        """Groups that came, went or have other nodes than at that moment; None where that is not remembered."""
        if moment is self.moment:
            return frozenset()
        for place, (before, _) in enumerate(self._steps):
            if before is moment:
                return frozenset().union(*(touched for _, touched in self._steps[place:]))
        return None
