"""Which node a pod goes to: our order, and what kube-scheduler's plugin NodeResourcesFit makes of its two strategies.

`LeastAllocated` is its default and spreads pods; `MostAllocated` is what clusters with GPUs are told to use instead. Of
both the formula is that of 1.36: whole numbers from 0 to 100 for each resource, and their mean by weight. CPUs and
memory weigh 1 each, as by default, and so do devices, for pods that ask for them. A scheduler takes one of the best by
chance; here it is the first by name.

A rule is blind where it knows sums only, as a scheduler does: the kubelet of the node that it chooses may reject the
pod. It is exact where it asks the engine first, and chooses among nodes that admit the pod.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from numafit.fleet.fleet import Fleet
from numafit.fleet.places import places
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.verdicts import VerdictMemory
from numafit.workload.pod import Pod

MOST_SCORE = 100
WANTED = 8
"""Nodes that `numafit place` offers to a pod: it compares three times as many. The pod goes to the best of them."""

NodeOrder = Literal["numafit", "least-allocated", "most-allocated"]


class PlacingRule(msgspec.Struct, frozen=True):
    order: NodeOrder
    exact: bool = True

    @property
    def name(self) -> str:
        return (
            self.order if self.exact and self.order == "numafit" else f"{self.order}{'' if self.exact else ', blind'}"
        )


RULES = (
    PlacingRule("numafit"),
    PlacingRule("most-allocated"),
    PlacingRule("least-allocated"),
    PlacingRule("most-allocated", exact=False),
    PlacingRule("least-allocated", exact=False),
)
"""Ours is exact: without the engine there is no such order."""


def least_score(asked: int, offered: int) -> int:
    return (offered - asked) * MOST_SCORE // offered if asked <= offered else 0


def most_score(asked: int, offered: int) -> int:
    return min(asked, offered) * MOST_SCORE // offered


SCORES: dict[NodeOrder, Callable[[int, int], int]] = {"least-allocated": least_score, "most-allocated": most_score}


class Chooser:
    """Chooses nodes by one rule; what it remembers holds for any fleet of these kinds of nodes."""

    def __init__(self, rule: PlacingRule, memory: VerdictMemory, view: SchedulerView) -> None:
        self.rule, self.memory, self.view = rule, memory, view

    def choose(self, fleet: Fleet, pod: Pod, shape: bytes) -> str | None:
        """The name of a node; None where the rule knows none."""
        score = SCORES.get(self.rule.order)
        if score is None:
            found = places(fleet, pod, self.memory, WANTED).places
            return found[0].node if found else None
        ranked = []
        for names in fleet.groups.values():
            state = fleet.nodes[names[0]].state
            if self.view.fits(state, pod, shape):
                parts = self.view.parts(state, pod, shape)
                points = sum(score(asked, offered) for asked, offered in parts) // len(parts) if parts else 0
                ranked.append((-points, names[0]))
        if not self.rule.exact:
            return min(ranked)[1] if ranked else None
        ranked.sort()
        for _, name in ranked:
            if self.memory.verdict(fleet.nodes[name].state, pod, shape).admitted:
                return name
        return None

    def takes(self, fleet: Fleet, name: str, pod: Pod, shape: bytes) -> bool:
        """Whether the rule would send it to this node, were it the only one."""
        state = fleet.nodes[name].state
        if not self.view.fits(state, pod, shape):
            return False
        return not self.rule.exact or self.memory.verdict(state, pod, shape).admitted
