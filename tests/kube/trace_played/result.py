"""What became of each pod, whoever placed it."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from numafit.fleet.simulation.outcome import late_of

SOON = 3.0
"""Seconds within which a pod that did not have to wait runs, on a busy machine, too."""


class PlayedResult(msgspec.Struct, frozen=True):
    """By names of pods."""

    nodes: Mapping[str, str]
    """Where those ran that did."""
    waits: Mapping[str, float]
    """Seconds from the arrival until it ran; of all others until the end, or until it was given up."""
    rejections: Mapping[str, int]
    """Of those that were rejected."""

    @property
    def rejected(self) -> int:
        return len(self.rejections)

    @property
    def all_rejections(self) -> int:
        return sum(self.rejections.values())

    @property
    def never(self) -> int:
        return len(self.waits) - len(self.nodes)

    @property
    def soon(self) -> int:
        return sum(
            name in self.nodes and name not in self.rejections and own <= SOON for name, own in self.waits.items()
        )

    @property
    def mean_wait(self) -> float:
        return sum(self.waits.values()) / len(self.waits)

    @property
    def late_wait(self) -> float:
        """Of 100 pods 99 wait no longer."""
        return late_of([*self.waits.values()])

    def per_node(self) -> Counter[str]:
        return Counter(self.nodes.values())


def moved(one: PlayedResult, other: PlayedResult) -> float:
    """The part of the pods that would have to go to another node for both to have as many on each."""
    first, second = one.per_node(), other.per_node()
    apart = sum(abs(first[name] - second[name]) for name in {*first, *second})
    return apart / max(first.total() + second.total(), 1)


def same_node(one: PlayedResult, other: PlayedResult) -> float:
    """The part of the pods that ran in both which ran on the same node."""
    both = one.nodes.keys() & other.nodes.keys()
    return sum(one.nodes[name] == other.nodes[name] for name in both) / max(len(both), 1)
