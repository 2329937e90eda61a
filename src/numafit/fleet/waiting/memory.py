"""What was found about waiting pods before: what states lack, nodes with nobody on them, and ends that were tried."""

from collections import OrderedDict
from collections.abc import Hashable

from numafit.decision.decide import requests_of
from numafit.fleet.fleet import FleetNode
from numafit.fleet.orders import PromisedPod
from numafit.fleet.state import NodeState
from numafit.fleet.verdicts import VerdictMemory, tried, unlisted
from numafit.fleet.waiting.ends import admitted_after, same_when_empty, state_emptied
from numafit.fleet.waiting.lack import Lack, lacks_of
from numafit.workload.pod import Pod

MOST_KEPT = 20_000


class WaitingMemory:
    """What was found before, beside the verdicts. It holds no truth of its own."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lacks: OrderedDict[Hashable, tuple[Lack, ...]] = OrderedDict()
        self._emptied: dict[str, list[tuple[NodeState, NodeState]]] = {}
        self._ends: OrderedDict[str, tuple[FleetNode, dict[Hashable, bool]]] = OrderedDict()

    def lacks(self, state: NodeState, new: PromisedPod) -> tuple[Lack, ...]:
        key = (state.key, new.shape)
        found = self._lacks.get(key)
        if found is None:
            found = self._lacks[key] = _lacks(state, new.pod)
            if len(self._lacks) > self._most:
                self._lacks.popitem(last=False)
        return found

    def knows_lacks(self, state: NodeState, new: PromisedPod) -> bool:
        return (state.key, new.shape) in self._lacks

    def emptied(self, state: NodeState) -> NodeState:
        """With nobody on it; remembered for nodes that are the same then."""
        known = self._emptied.setdefault(state.kind, [])
        for one, empty in known:
            if same_when_empty(one, state):
                return empty
        empty = state_emptied(state)
        known.insert(0, (state, empty))
        del known[self._most // 100 :]
        return empty

    def knows_end(self, node: FleetNode, uid: str, new: PromisedPod) -> bool:
        known = self._ends.get(node.name)
        return known is not None and known[0] is node and (uid, new.shape) in known[1]

    def admitted_after(self, node: FleetNode, uid: str, new: PromisedPod, memory: VerdictMemory) -> bool:
        """Who holds what is no part of a state's key, so it is remembered for just this node as it stands."""
        known = self._ends.get(node.name)
        if known is None or known[0] is not node:
            known = self._ends[node.name] = (node, {})
            if len(self._ends) > self._most:
                self._ends.popitem(last=False)
        found = known[1].get((uid, new.shape))
        if found is None:
            found = known[1][uid, new.shape] = admitted_after(node, (uid,), new, memory)
        return found


def _lacks(state: NodeState, pod: Pod) -> tuple[Lack, ...]:
    missing = unlisted(state, pod)
    if missing:
        return (Lack("node", {missing: requests_of(state.node.settings, pod)[missing]}),)
    decision, _ = tried(state, pod)
    return () if decision.admitted else lacks_of(state.node, decision)
