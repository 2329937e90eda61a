"""Pods that are made again and again without a pause, and rejected each time: counted, not played one by one.

A ReplicaSet makes dozens of pods in a second as long as kubelets reject them. In a fleet that does not change the
scheduler chooses alike, so that after some tries the rest is known: pods come at the pace of their controller until a
node changes in a way that matters, which is one that was chosen in vain, or one that now looks at least as good as
those. Pods of one shape and kind of owner fare alike: the oldest tries for all.

All owners of a kind share one controller and its client, which sends so many requests in a second and no more: the more
of them loop at once, the fewer pods each of them makes.
"""

import msgspec

LoopKey = tuple[bytes, str]
"""Shape, kind of the controller."""


class TriesInVain(msgspec.Struct):
    """Of one pod, in a fleet that has not changed."""

    change: int
    """How often the fleet had changed."""
    tries: int
    least: int
    """Of the scores of nodes that were chosen, the lowest."""
    nodes: set[str]

    def add(self, node: str, points: int) -> None:
        self.tries += 1
        self.least = min(self.least, points)
        self.nodes.add(node)


class Loop(msgspec.Struct):
    vain: TriesInVain
    pods: list[tuple[int, float]]
    """(pod, since which turn it is counted), the oldest first."""
    trying: int | None = None
    """The one that tries for all."""

    def matters(self, node: str, points: int) -> bool:
        """Whether a change of this node, for which the shape now gets so many points, may end it."""
        return self.trying is None and (node in self.vain.nodes or points >= self.vain.least)


class SharedPace(msgspec.Struct):
    """Of one kind of controller. Its turns are seconds in which one owner has the controller for itself; each of those
    that loop gets an even part of the time."""

    at: float = 0.0
    turns: float = 0.0
    """Of each, until then."""
    pods: set[int] = set()
    """That loop now."""

    def until(self, now: float) -> float:
        """The turns until now."""
        self.turns += (now - self.at) / max(len(self.pods), 1)
        self.at = now
        return self.turns

    def begins(self, pod: int, now: float) -> None:
        self.until(now)
        self.pods.add(pod)

    def ends(self, pod: int, now: float) -> None:
        if pod in self.pods:
            self.until(now)
            self.pods.remove(pod)

    def seconds(self, turns: float) -> float:
        """That so many turns of one of them take, as long as nobody begins or ends."""
        return turns * max(len(self.pods), 1)


def unplayed(since: float, now: float, pause: float) -> int:
    """How many pods were made, and rejected, since then; the next one comes after them. All of it in turns."""
    return max(int((now - since) / pause), 0)
