"""How many more pods of a shape fit into a fleet, and where. Nodes that stand alike are counted once.

Beside what is promised already, in the order of the promises. Pods of one shape are put on a node until its kubelet
refuses the next; nobody is evicted for them.
"""

from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from numafit.advice.propose.knobs import as_new
from numafit.decision.filters import NODE_AFFINITY, TAINT_TOLERATION, taint_text, untolerated, wrong_labels
from numafit.decision.story.story import decision_sentence
from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.places import REFUSED, SCHEDULER_EFFECTS, UNSCHEDULABLE
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import CRASH, NOT_OFFERED, VerdictMemory, shape_digest, tried
from numafit.workload.pod import Pod

MOST_ON_NODE = 10_000
"""A guard: the kubelet's maxPods ends it earlier."""


class NodeCount(msgspec.Struct, frozen=True):
    """Nodes on which as many fit, and where the same keeps the next one out."""

    nodes: tuple[str, ...]
    count: int
    """On each of them."""
    reason: str
    """The kubelet's of the next one, or one of ours."""
    sentence: str


class FleetCount(msgspec.Struct, frozen=True):
    shape: Pod
    counts: tuple[NodeCount, ...]
    """The most first."""

    @property
    def total(self) -> int:
        return sum(own.count * len(own.nodes) for own in self.counts)

    @property
    def nodes(self) -> int:
        """How many take at least one."""
        return sum(len(own.nodes) for own in self.counts if own.count)


class _End(msgspec.Struct, frozen=True):
    count: int
    reason: str
    sentence: str


def count_in_fleet(
    fleet: Fleet, shape: Pod, memory: VerdictMemory, counted: Callable[[int], None] = lambda _: None
) -> FleetCount:
    """`counted` is told how many more nodes are done."""
    pod = as_new(replace(shape, uid="", name=shape.name))
    counting = _Counting(pod, memory)
    found: dict[_End, list[str]] = {}
    for names in fleet.groups.values():
        for name in names:
            found.setdefault(counting.node(fleet.nodes[name]), []).append(name)
        counted(len(names))
    counts = [NodeCount(tuple(sorted(names)), own.count, own.reason, own.sentence) for own, names in found.items()]
    counts.sort(key=lambda own: (-own.count, -len(own.nodes), own.nodes))
    return FleetCount(shape, tuple(counts))


class _Counting:
    def __init__(self, pod: Pod, memory: VerdictMemory) -> None:
        self.pod, self.memory = pod, memory
        self.shape = shape_digest(pod)
        self.ends: dict[bytes, _End] = {}
        """State -> how many more fit from there on."""
        self.standing: dict[object, NodeState] = {}

    def node(self, node: FleetNode) -> _End:
        demands = self.pod.demands
        if not node.schedulable:
            return _End(0, UNSCHEDULABLE, "it is cordoned")
        taint = untolerated(node.state.node.settings, demands, node.facts.taints, SCHEDULER_EFFECTS)
        if taint is not None:
            return _End(0, TAINT_TOLERATION, taint_text(taint))
        wishes = bool(demands.selector or demands.affinity is not None)
        if wishes and wrong_labels(demands, node.facts.labels or {}, node.name):
            return _End(0, NODE_AFFINITY, "its labels are not what the pod wants")
        if self.shape in node.refused:
            return _End(0, REFUSED, node.refused[self.shape])
        return self._from(self._with_promised(node))

    def _with_promised(self, node: FleetNode) -> NodeState:
        if not node.promised:
            return node.state
        key = (node.state.key, tuple(own.shape for own in node.promised))
        if key not in self.standing:
            self.standing[key] = after_promised(node)
        return self.standing[key]

    def _from(self, state: NodeState) -> _End:
        passed: list[bytes] = []
        while state.key not in self.ends:
            verdict = self.memory.verdict(state, self.pod, self.shape) if not passed else None
            if verdict is not None and verdict.reason in (NOT_OFFERED, CRASH):
                self.ends[state.key] = _End(0, verdict.reason, verdict.message)
            elif len(passed) >= MOST_ON_NODE:
                self.ends[state.key] = _End(0, "", f"more than {MOST_ON_NODE} were not counted")
            else:
                decision, after = tried(state, replace(self.pod, uid=f"counted-{len(passed)}"))
                if after is None:
                    reason = CRASH if decision.panic else decision.reason
                    self.ends[state.key] = _End(0, reason, decision_sentence(state.node, decision))
                else:
                    passed.append(state.key)
                    state = after
        end = self.ends[state.key]
        for steps, key in enumerate(reversed(passed), 1):
            self.ends[key] = replace(end, count=end.count + steps)
        return self.ends[passed[0]] if passed else end


def after_promised(node: FleetNode) -> NodeState:
    """How it stands when what is promised has come; what would be refused then counts for nothing."""
    state = node.state
    for own in node.promised:
        state = tried(state, own.pod)[1] or state
    return state


def count_each(
    fleet: Fleet, shapes: Iterable[Pod], memory: VerdictMemory, counted: Callable[[int], None] = lambda _: None
) -> tuple[FleetCount, ...]:
    """Each shape by itself, as if the others did not come."""
    return tuple(count_in_fleet(fleet, shape, memory, counted) for shape in shapes)
