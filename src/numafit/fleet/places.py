"""The question to a fleet: which nodes would admit a pod, in which order to try them, and why not the others.

Who wants a few nodes need not ask all of them. They are asked in the order of a guess: those first of which little is
free, that the pod wants or that it does not. Among a multiple of the wanted number that admit it, those come first that
lose least. Where too few admit it, all were asked.
"""

from collections.abc import Container, Iterator, Mapping
from itertools import islice

import msgspec

from numafit.decision.filters import NO_EXECUTE, NODE_AFFINITY, TAINT_TOLERATION, taint_text, untolerated, wrong_labels
from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.orders import promise_of, together
from numafit.fleet.verdicts import FleetVerdict, VerdictMemory
from numafit.workload.pod import Pod

UNSCHEDULABLE = "Unschedulable"
REFUSED = "Refused"
"""The kubelet refused a pod of this shape against what was predicted, and the node has not changed since."""
SCHEDULER_EFFECTS = ("NoSchedule", NO_EXECUTE)
LOOKED_AT = 3
"""Times the wanted number of nodes are compared by what they lose."""


class FleetPlace(msgspec.Struct, frozen=True):
    node: str
    cost: float
    """What the pod takes of the node's room for large pods; the least comes first."""


class PlaceRefusal(msgspec.Struct, frozen=True, order=True):
    reason: str
    message: str


class Placing(msgspec.Struct, frozen=True):
    places: tuple[FleetPlace, ...]
    """The best first; equals by the name of the node."""
    refusals: Mapping[PlaceRefusal, tuple[str, ...]]
    """Why not, and which nodes."""
    unasked: int = 0
    """Nodes that were not asked, since enough others admit it."""


def places(
    fleet: Fleet, pod: Pod, memory: VerdictMemory, most: int | None = None, among: Container[str] | None = None
) -> Placing:
    """As if the pod were offered to nobody yet. Nodes that stand alike are asked once; a node that has it already is
    not asked. `most`: so many nodes are enough. `among`: no others are asked."""
    fleet = fleet.withdrawn(pod.uid)
    search = _Search(fleet, pod, memory, among)
    found: list[tuple[float, str]] = []
    for names in search.candidates():
        if most is None:
            found += search.admitted(names)
        elif len(found) < most * LOOKED_AT:
            # Of nodes that stand alike no more are named than could be wanted.
            found += islice(search.admitted(names), max(most, most * LOOKED_AT - len(found)))
        else:
            break
    found.sort()
    chosen = found if most is None else found[:most]
    refusals = {own: tuple(sorted(names)) for own, names in sorted(search.refusals.items())}
    unasked = len(fleet.nodes) - len(found) - sum(map(len, refusals.values())) - search.holding
    return Placing(tuple(FleetPlace(name, cost) for cost, name in chosen), refusals, unasked)


class _Search:
    def __init__(self, fleet: Fleet, pod: Pod, memory: VerdictMemory, among: Container[str] | None) -> None:
        self.fleet, self.pod, self.memory, self.among = fleet, pod, memory, among
        self.promise = promise_of(pod)
        self.refusals: dict[PlaceRefusal, list[str]] = {}
        self.holding = 0
        """Nodes that have the pod."""

    def candidates(self) -> Iterator[tuple[str, ...]]:
        """Groups that are not out of the question, the most promising first."""
        tolerated: dict[tuple[object, ...], PlaceRefusal | None] = {}
        nodes, free = self.fleet.nodes, self.memory.free
        guessed = []
        for standing, names in self.fleet.groups.items():
            if standing.taints or not standing.schedulable:
                refusal: PlaceRefusal | None = None
                if not standing.schedulable:
                    refusal = PlaceRefusal(UNSCHEDULABLE, "it is cordoned")
                else:
                    node = nodes[names[0]]
                    # Which tolerations there are depends on the release.
                    key = (node.state.kind, standing.taints)
                    if key not in tolerated:
                        tolerated[key] = self._untolerated(node)
                    refusal = tolerated[key]
                if refusal is not None:
                    for name in names:
                        if self.among is None or name in self.among:
                            self._refuse(refusal, name)
                    continue
            # No two groups have the same first name.
            guessed.append((free(nodes[names[0]].state), names))
        guessed.sort()
        for _, names in guessed:
            yield names

    def _untolerated(self, node: FleetNode) -> PlaceRefusal | None:
        taint = untolerated(node.state.node.settings, self.pod.demands, node.facts.taints, SCHEDULER_EFFECTS)
        return None if taint is None else PlaceRefusal(TAINT_TOLERATION, taint_text(taint))

    def admitted(self, names: tuple[str, ...]) -> Iterator[tuple[float, str]]:
        """Cost and name of those that admit it, of nodes that stand alike."""
        uid, demands = self.pod.uid, self.pod.demands
        wishes = bool(demands.selector or demands.affinity is not None)
        verdict: FleetVerdict | None = None
        for name in names:
            if self.among is not None and name not in self.among:
                continue
            node = self.fleet.nodes[name]
            if uid in node.state.ledger.active:
                self.holding += 1
                continue
            if wishes and wrong_labels(demands, node.facts.labels or {}, name):
                self._refuse(PlaceRefusal(NODE_AFFINITY, "its labels are not what the pod wants"), name)
                continue
            if name in self.fleet.refusing and self.promise.shape in node.refused:
                self._refuse(PlaceRefusal(REFUSED, node.refused[self.promise.shape]), name)
                continue
            if verdict is None:
                verdict = together(node.state, node.promised, self.promise, self.memory)
            if verdict.admitted:
                yield round(verdict.cost, 9), name
            else:
                self._refuse(PlaceRefusal(verdict.reason, verdict.message), name)

    def _refuse(self, refusal: PlaceRefusal, name: str) -> None:
        self.refusals.setdefault(refusal, []).append(name)
