"""Which node a pod goes to: our order, and scores of kube-scheduler.

`stock` is the scheduler as it comes. It counts no devices; where it is told to, so that CPUs, memory and devices weigh
1 each, its strategy `LeastAllocated` spreads pods, and `MostAllocated` packs them, as clusters with GPUs are told to
do. Both are the score of its plugin `NodeResourcesFit` alone.

A rule is blind where it knows sums only, as a scheduler does: the kubelet of the node that it chooses may reject the
pod. It is exact where it asks the engine first, and chooses among nodes that admit the pod; then it looks at all nodes,
and the first by name is taken of the best.

A blind rule looks at nodes as kube-scheduler does (1.36): from where it stopped the last time, in the order of their
names, until it has found a part of them that fit; and takes one of the best of these by chance, which comes from a
seed.
"""

from collections.abc import Iterator
from hashlib import blake2b

import msgspec

from numafit.fleet.fleet import Fleet
from numafit.fleet.places import places
from numafit.fleet.simulation.board import DOES_NOT_FIT, ScoreBoard
from numafit.fleet.simulation.scores import SCORINGS, NodeOrder
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory
from numafit.workload.pod import Pod

WANTED = 8
"""Nodes that `numafit place` offers to a pod: it compares three times as many. The pod goes to the best of them."""
FEWEST_SAMPLED = 100
LEAST_PERCENT, FIRST_PERCENT, NODES_PER_PERCENT = 5, 50, 125


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
    PlacingRule("stock"),
    PlacingRule("most-allocated", exact=False),
    PlacingRule("least-allocated", exact=False),
    PlacingRule("stock", exact=False),
)
"""Ours is exact: without the engine there is no such order. The last is what a cluster does of which nobody has said
anything else."""


class StockScheduler(msgspec.Struct, frozen=True):
    """What of kube-scheduler is not the same everywhere."""

    percent: int = 0
    """percentageOfNodesToScore; 0: as many as by default."""
    seed: int = 0


STOCK = StockScheduler()


def sampled(nodes: int, percent: int) -> int:
    """Nodes that fit after which kube-scheduler looks at no more (numFeasibleNodesToFind, 1.36)."""
    if nodes < FEWEST_SAMPLED or percent >= 100:
        return nodes
    own = percent or max(FIRST_PERCENT - nodes // NODES_PER_PERCENT, LEAST_PERCENT)
    return max(nodes * own // 100, FEWEST_SAMPLED)


def _ranked(points: list[int]) -> Iterator[int]:
    """Places with the most points first, equals in their order. Mostly the first of all is taken, so that nothing is
    sorted before it is asked for."""
    for own in sorted({*points} - {DOES_NOT_FIT}, reverse=True):
        place = -1
        for _ in range(points.count(own)):
            place = points.index(own, place + 1)
            yield place


class Chooser:
    """Chooses nodes by one rule, in one run. It is told each change of a node."""

    def __init__(
        self,
        rule: PlacingRule,
        memory: VerdictMemory,
        view: SchedulerView,
        fleet: Fleet,
        stock: StockScheduler = STOCK,
    ) -> None:
        self.rule, self.memory, self.view, self.stock = rule, memory, view, stock
        scoring = SCORINGS.get(rule.order)
        states = {name: node.state for name, node in fleet.nodes.items()}
        self.board = None if scoring is None else ScoreBoard(states, view, scoring)
        self.first = 0
        """The node at which a blind rule begins next."""
        self.asked = 0
        """How often a blind rule chose."""
        self.enough = sampled(len(states), stock.percent)

    @property
    def windows(self) -> int:
        """After so many tries in a fleet that does not change a blind rule has begun everywhere."""
        return -(-len(self.board.names) // max(self.enough, 1)) + 1 if self.board is not None else 1

    def changed(self, name: str, state: NodeState) -> None:
        if self.board is not None:
            self.board.changed(name, state)

    def choose(self, fleet: Fleet, pod: Pod, shape: bytes) -> str | None:
        """The name of a node; None where the rule knows none."""
        if self.board is None:
            found = places(fleet, pod, self.memory, WANTED).places
            return found[0].node if found else None
        points = self.board.points(pod, shape)
        if not self.rule.exact:
            return self._sampled(points)
        for place in _ranked(points):
            name = self.board.names[place]
            if self.memory.verdict(fleet.nodes[name].state, pod, shape).admitted:
                return name
        return None

    def _sampled(self, points: list[int]) -> str | None:
        assert self.board is not None
        best, ties, found, looked = DOES_NOT_FIT, [], 0, 0
        for place in (*range(self.first, len(points)), *range(self.first)):
            looked += 1
            own = points[place]
            if own == DOES_NOT_FIT:
                continue
            if own > best:
                best, ties = own, [place]
            elif own == best:
                ties.append(place)
            found += 1
            if found >= self.enough:
                break
        self.first = (self.first + looked) % max(len(points), 1)
        self.asked += 1
        return self.board.names[ties[self._chance(len(ties))]] if ties else None

    def _chance(self, many: int) -> int:
        if many == 1:
            return 0
        told = blake2b(f"{self.stock.seed}/{self.asked}".encode(), digest_size=8).digest()
        return int.from_bytes(told) % many

    def takes(self, fleet: Fleet, name: str, pod: Pod, shape: bytes) -> bool:
        """Whether the rule would send it to this node, were it the only one."""
        state = fleet.nodes[name].state
        if not self.view.fits(state, pod, shape):
            return False
        return not self.rule.exact or self.memory.verdict(state, pod, shape).admitted
