"""A proposal: one change, what the engine decides after it, and how much it disturbs."""

from typing import Literal

import msgspec

from numafit.decision.decision import Decision
from numafit.settings.config import KubeletConfig
from numafit.workload.pod import Pod

Kind = Literal[
    "whole-cpus",
    "guaranteed",
    "more",
    "fewer",
    "move",
    "replicas",
    "split",
    "remove",
    "option",
    "scope",
    "policy",
    "reservation",
]

DISTURBANCE: dict[Kind, int] = {
    "whole-cpus": 0,
    "guaranteed": 0,
    "more": 1,
    "fewer": 2,
    "move": 3,
    "replicas": 4,
    "split": 4,
    "scope": 5,
    "option": 5,
    "reservation": 6,
    "policy": 7,
    "remove": 8,
}
"""Least first: the pod's own numbers, then a neighbour that comes back, then the kubelet of the whole node, then a
neighbour that goes."""

HARD_LOSS = 0.5
"""A pod that loses more than this share of something is not the same pod any more: that comes after all else."""


class Proposal(msgspec.Struct, frozen=True):
    kind: Kind
    text: str
    """The change as before -> after."""
    decisions: tuple[Decision, ...]
    """What the engine says about the pod after the change, or about the pods it was split into."""
    aligned: bool = True
    loss: float = 0.0
    """The largest share of a resource that the pod gives up; for other pods, how many CPUs they lose."""
    loses: tuple[str, ...] = ()
    """Pods that are admitted without the change, and rejected with it."""
    pods: tuple[Pod, ...] = ()
    """The pod as it becomes, or the pods it is split into."""
    config: KubeletConfig | None = None
    removed: tuple[Pod, ...] = ()
    replicas: int | None = None
    """How many pods the object shall make."""

    @property
    def order(self) -> tuple[bool, bool, int, int, float, str]:
        """Sorts the least disturbing proposal first; equals by their text."""
        hard = self.kind == "fewer" and self.loss > HARD_LOSS
        return (not self.aligned, hard, len(self.loses), DISTURBANCE[self.kind], self.loss, self.text)
