"""Whether hints of several families can be chosen so that their common nodes are exactly a given mask.

Rules are closed under supersets, so each family takes all its nodes but those that it drops, and the question becomes:
can every node outside the mask be dropped by some family, while each family keeps enough? A family that can drop them
all settles it. Else a greedy attempt may show a way, and counting may show that there is none; what remains is decided
by going through the nodes and keeping, of all ways to share them out, those whose cost no other way undercuts.
"""

from collections.abc import Iterable, Sequence

from numafit.bits import members
from numafit.managers.topology.hint import HintFamily
from numafit.managers.topology.many_nodes.membership import NodeSums

_Used = tuple[int, ...]
"""What has been given up, per demand of all families."""


class _Dropper:
    """A family as seen by what it may drop."""

    def __init__(self, family: HintFamily, pool: int) -> None:
        self.family = family
        self.required = 0
        self.entangled = 0
        """Nodes whose loss depends on which others are dropped: those of shared devices and of wider touch masks."""
        for nodes in family.touch:
            if nodes.bit_count() == 1:
                self.required |= nodes
            else:
                self.entangled |= nodes
        self.free = [demand.free for demand in family.demands]
        self.slack = [demand.amount(family.ground) - demand.need for demand in family.demands]
        self.sums = [NodeSums([free.get(i, 0) for i in range(family.ground.bit_length())]) for free in self.free]
        for demand in family.demands:
            for nodes in demand.shared:
                self.entangled |= nodes
        self.alone = 0
        """The nodes that it may drop when it drops nothing else."""
        for i in members(pool):
            if self.may_drop(1 << i):
                self.alone |= 1 << i
        self.cheapest = [sorted([(free.get(i, 0), i) for i in members(self.alone)]) for free in self.free]
        """Per demand: (amount, node), cheapest first."""
        self.order = sorted(members(self.alone), key=self.cost)

    def cost(self, node: int) -> float:
        """The largest part of a slack that dropping `node` takes."""
        parts = [free.get(node, 0) / max(1, slack) for free, slack in zip(self.free, self.slack, strict=True)]
        return max(parts, default=0.0)

    def may_drop(self, nodes: int) -> bool:
        if nodes & self.required:
            return False
        if nodes & self.entangled:
            return self.family.in_rule(self.family.ground & ~nodes)
        return all(sums.of(nodes) <= slack for sums, slack in zip(self.sums, self.slack, strict=True))

    def drops_of(self, nodes: int) -> int:
        """Some of `nodes` that it may drop together: the cheapest first."""
        dropped = 0
        left = list(self.slack)
        for i in self.order:
            if not nodes >> i & 1:
                continue
            if self.entangled:
                if not self.may_drop(dropped | 1 << i):
                    continue
            else:
                after = [rest - free.get(i, 0) for rest, free in zip(left, self.free, strict=True)]
                if after and min(after) < 0:
                    continue
                left = after
            dropped |= 1 << i
        return dropped

    def most_drops(self, nodes: int) -> int:
        """It cannot drop more than this many of `nodes`."""
        most = (nodes & self.alone).bit_count()
        for slack, cheapest in zip(self.slack, self.cheapest, strict=True):
            number = 0
            for amount, i in cheapest:
                if nodes >> i & 1:
                    slack -= amount
                    if slack < 0 or number == most:
                        break
                    number += 1
            most = min(most, number)
        return most


class ExactIntersectionTest:
    """Passes a mask of `pool` if one hint of each rule can be chosen so that they have, in `pool`, just it in common.

    Nodes outside `pool` do not matter, so a family keeps them.
    """

    def __init__(self, families: Sequence[HintFamily], pool: int) -> None:
        self.pool = pool
        self.droppers = [_Dropper(family, pool) for family in families]
        self.alone = 0
        for dropper in self.droppers:
            self.alone |= dropper.alone

    def possible(self, chosen: int, below: int, more: int) -> bool:
        # what is reachable stays so with more nodes, so all lower nodes together are the best case
        return self.passes(chosen | below)

    def endings(self, chosen: int, below: int) -> int:
        return below

    def passes(self, mask: int) -> bool:
        outside = self.pool & ~mask
        for dropper in self.droppers:
            if dropper.may_drop(outside):
                return True
        if outside & ~self.alone:
            return False
        for droppers in (self.droppers, self.droppers[::-1]):
            left = outside
            for dropper in droppers:
                left &= ~dropper.drops_of(left)
            if not left:
                return True
        if sum([dropper.most_drops(outside) for dropper in self.droppers]) < outside.bit_count():
            return False
        return self._shared_out(outside)

    def _shared_out(self, outside: int) -> bool:
        nodes = sorted(members(outside), key=self._options)
        starts = [0]
        for dropper in self.droppers:
            starts.append(starts[-1] + len(dropper.slack))
        nothing: _Used = (0,) * starts[-1]
        # dropped nodes among the entangled ones, per family -> amounts used
        states: dict[tuple[int, ...], list[_Used]] = {(0,) * len(self.droppers): [nothing]}
        for i in nodes:
            grown: dict[tuple[int, ...], list[_Used]] = {}
            for entangled, front in states.items():
                for at, dropper in enumerate(self.droppers):
                    if not dropper.alone >> i & 1:
                        continue
                    dropped = entangled[at] | (1 << i & dropper.entangled)
                    if dropped and not dropper.may_drop(dropped):
                        continue
                    key = (*entangled[:at], dropped, *entangled[at + 1 :])
                    slack = _slack_without(dropper, dropped)
                    for used in front:
                        after = _after(used, starts[at], dropper, i, slack)
                        if after is not None:
                            grown.setdefault(key, []).append(after)
            if not grown:
                return False
            states = {key: _undercut(front) for key, front in grown.items()}
        return True

    def _options(self, node: int) -> tuple[int, float]:
        """Nodes that few families can drop come first, then those that cost the most."""
        costs = [dropper.cost(node) for dropper in self.droppers if dropper.alone >> node & 1]
        return len(costs), -min(costs, default=0.0)


def _slack_without(dropper: _Dropper, dropped: int) -> list[int]:
    """The slack per demand after the shared devices that are lost with `dropped`."""
    if not dropped:
        return dropper.slack
    kept = dropper.family.ground & ~dropped
    return [
        slack - sum([1 for nodes in demand.shared if nodes & dropper.family.ground and not nodes & kept])
        for slack, demand in zip(dropper.slack, dropper.family.demands, strict=True)
    ]


def _after(used: _Used, start: int, dropper: _Dropper, node: int, slack: Sequence[int]) -> _Used | None:
    after = list(used)
    for at, free in enumerate(dropper.free):
        after[start + at] += free.get(node, 0)
        if after[start + at] > slack[at]:
            return None
    return tuple(after)


def _undercut(front: Iterable[_Used]) -> list[_Used]:
    """The vectors that no other one undercuts in every place."""
    kept: list[_Used] = []
    for used in sorted(set(front)):
        if not any(all(a <= b for a, b in zip(less, used, strict=True)) for less in kept):
            kept.append(used)
    return kept
