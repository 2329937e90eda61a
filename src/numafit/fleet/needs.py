"""Whether it matters for a pod who decides where it goes: some node may refuse it though its sums have room.

Schedulers add up what pods ask for. Beyond sums a kubelet refuses a pod

- that it would refuse even if nobody else were there,
- that a strict topology policy aligns, where it could be given places on more than one NUMA node: what is free may
  then lie on several of them,
- whose memory the memory manager pins, where there is more than one NUMA node: groups of nodes may not overlap,
- that gets CPUs of its own: other pods may hold more of them than the sums say, since containers do not always take
  what init containers of their pod leave, and full-pcpus-only cannot use the other thread of a reserved core.

Everything else it admits wherever the sums have room, in whatever state the node is. What a node refuses for its sums
alone is no matter here: no scheduler sends the pod there.
"""

from collections import OrderedDict
from collections.abc import Hashable

import msgspec
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decide import Load, offered_by, shortages, wanted_of
from numafit.decision.decision import Decision
from numafit.decision.filters import NO_EXECUTE, labels_suit, untolerated
from numafit.fleet.fleet import Fleet, FleetNode
from numafit.fleet.state import NodeState, state_of
from numafit.fleet.verdicts import CRASH, shape_digest, unlisted
from numafit.managers.topology.hint import HintFamily, HintList, mask_union
from numafit.managers.topology.policy import RESTRICTED, SINGLE_NUMA_NODE
from numafit.workload.pod import Pod

ALIGNED, PINNED, CPUS = "aligned", "pinned", "cpus"
"""Why: by the topology policy, by the memory manager, for CPUs of its own. Or the reason with which it is refused on an
empty node."""
MOST_REMEMBERED = 20_000
PASSING_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""How such taints begin that come and go by themselves: a node that has one now may be chosen later."""


class PlaceNeed(msgspec.Struct, frozen=True):
    node: str
    """One that the pod may go to, and that may refuse it."""
    why: str


class NeedMemory:
    """What was found before, for kinds of nodes and shapes of pods. It holds no truth of its own."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._idle: dict[Hashable, NodeState] = {}
        self._found: OrderedDict[Hashable, str] = OrderedDict()

    def idle(self, state: NodeState) -> NodeState:
        """A node of this kind with nobody on it."""
        key = kind_key(state)
        found = self._idle.get(key)
        if found is None:
            if len(self._idle) >= self._most:
                self._idle.clear()
            found = self._idle[key] = idle_state(state)
        return found

    def why(self, state: NodeState, pod: Pod, shape: bytes) -> str:
        """As `may_refuse`."""
        key = (kind_key(state), shape)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = may_refuse(self.idle(state), pod)
            if len(self._found) > self._most:
                self._found.popitem(last=False)
        return found


def kind_key(state: NodeState) -> Hashable:
    """Equal for nodes that differ in nothing but who is there. Plugins may list other devices on equal machines."""
    return state.kind, tuple(sorted((name, len(ids)) for name, ids in state.ledger.device.healthy.items()))


def idle_state(state: NodeState) -> NodeState:
    return state_of(state.kind, state.node, replace(state.ledger, active={}), state.allocatable)


def need_of(fleet: Fleet, pod: Pod, memory: NeedMemory) -> PlaceNeed | None:
    """Why somebody who knows should choose the node; None where nothing depends on it.

    A node counts that the pod may go to by labels and taints, also when it is full or cordoned: that may change before
    a scheduler looks. Nodes that nobody reports do not count.
    """
    shape = shape_digest(pod)
    kinds: dict[Hashable, str] = {}
    for names in fleet.groups.values():
        first = fleet.nodes[names[0]].state
        key = kind_key(first)
        why = kinds.get(key)
        if why is None:
            why = kinds[key] = memory.why(first, pod, shape)
        if why:
            node = next((name for name in names if _may_go(fleet.nodes[name], pod)), "")
            if node:
                return PlaceNeed(node, why)
    return None


def _may_go(node: FleetNode, pod: Pod) -> bool:
    demands = pod.demands
    lasting = [taint for taint in node.facts.taints if not taint.key.startswith(PASSING_TAINTS)]
    if lasting and untolerated(node.state.node.settings, demands, lasting, ("NoSchedule", NO_EXECUTE)) is not None:
        return False
    wishes = bool(demands.selector or demands.affinity is not None)
    return not wishes or labels_suit(demands, node.facts.labels or {}, node.name)


def may_refuse(idle: NodeState, pod: Pod) -> str:
    """Why a node of this kind may refuse the pod beyond sums, in some state; empty where it cannot, or where no
    scheduler sends the pod to such a node. `idle` has nobody on it."""
    settings = idle.node.settings
    if unlisted(idle, pod):
        return ""
    if idle.allocatable is not None:
        offered = offered_by(idle.ledger.device, idle.allocatable)
        if shortages(settings, wanted_of(settings, pod, offered), Load(), offered):
            return ""
    decision = admit(idle.node, idle.ledger, pod)
    if not decision.admitted:
        return CRASH if decision.panic else decision.reason
    if idle.node.topology.policy in (RESTRICTED, SINGLE_NUMA_NODE) and _chosen_from(decision).bit_count() > 1:
        return ALIGNED
    held = decision.ledger
    memory_nodes = [node for node in held.memory.nodes.values() if node.tables]
    if len(memory_nodes) > 1 and (pod.uid in held.memory.entries or pod.uid in held.memory.pod_entries):
        return PINNED
    return CPUS if pod.uid in held.cpu.entries or pod.uid in held.cpu.pod_entries else ""


def _chosen_from(decision: Decision) -> int:
    """The NUMA nodes that the best hints lie on, of all providers and all containers together; 0: nobody had any."""
    union = 0
    for step in decision.merges or ():
        for provider in step.providers:
            for hints in (provider or {}).values():
                union |= _preferred(hints)
    return union


def _preferred(hints: HintList) -> int:
    if hints is None:
        return 0
    if isinstance(hints, HintFamily):
        return hints.ground
    return mask_union(mask for mask, preferred in hints if preferred and mask is not None)
