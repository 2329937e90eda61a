"""Room that the scheduler makes: where a pod that no node takes would be admitted once pods of lower priority are gone.

Without a gate the scheduler evicts pods of lower priority for it. Whom it evicts on a node it decides by sums: it takes
all of them away, and lets back in whoever still fits, in an order that budgets for disruptions and ages make. So a node
is named only where the pod is admitted by the kubelet whatever that order is, and where the scheduler has to evict
somebody at all: else it would bind the pod as the node stands, and the kubelet would reject it.

The work is bounded: so many nodes are looked at, and nodes with few pods of lower priority.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.live.pods import NOTHING, ClusterPod
from numafit.cluster.place.around.unknown import asked_of, has_room
from numafit.fleet.fleet import Fleet
from numafit.fleet.orders import promise_of
from numafit.fleet.places import Placing
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.crowds import ASIDE
from numafit.fleet.waiting.ends import admitted_after

MOST_NODES = 32
MOST_LOWER = 8
"""Pods of lower priority on a node."""
MOST_COMING = 2
"""Pods that were offered a node and are not bound yet."""
MOST_CHOICES = 16
"""Ways in which the scheduler may choose among them."""
NEVER = "Never"

ResourceSums = Mapping[str, int]


class _Policy(msgspec.Struct):
    preemptionPolicy: str = ""


class RoomMade(msgspec.Struct, frozen=True, order=True):
    """The least harm comes first: as the scheduler sees it, by the highest priority that is evicted, then by number."""

    highest: int
    evicted: int
    node: str


def preempts(pod: ClusterPod) -> bool:
    """Whether the scheduler would evict others for it."""
    if pod.spec is NOTHING or not pod.pod.priority or pod.pod.priority <= 0:
        return False
    return msgspec.json.decode(pod.spec, type=_Policy).preemptionPolicy != NEVER


def room_made(
    pod: ClusterPod,
    placing: Placing,
    fleet: Fleet,
    memory: VerdictMemory,
    nodes: Mapping[str, ClusterNode],
    pods: Iterable[ClusterPod],
    kept: Collection[str] = (),
) -> RoomMade | None:
    """The node where it does least harm; None where no node could be named for certain. `placing`: why no node takes
    the pod now. `kept`: nodes that are for somebody else."""
    open_ = {name for refusal, names in placing.refusals.items() if refusal.reason not in ASIDE for name in names}
    there: dict[str, list[ClusterPod]] = {name: [] for name in open_ if name in nodes and name not in kept}
    coming: dict[str, list[ClusterPod]] = {}
    for own in pods:
        if own.node in there:
            there[own.node].append(own)
        elif not own.node:
            for name in fleet.offers.get(own.uid, ()):
                coming.setdefault(name, []).append(own)
    priority = pod.pod.priority or 0
    found: list[tuple[int, int, str]] = []
    for name, around in there.items():
        lower = [each for each in around if _priority(each) < priority]
        leaving = any(each.metadata.deletionTimestamp is not None for each in around)
        if lower and not leaving and len(lower) <= MOST_LOWER and len(coming.get(name, ())) <= MOST_COMING:
            found.append((min(map(_priority, lower)), len(lower), name))
    new, best = promise_of(pod.pod), None
    for _, _, name in sorted(found)[:MOST_NODES]:
        worst = None
        # Who was offered the node may be bound there when the scheduler looks, or not.
        for more in _subsets(coming.get(name, ())):
            harm = _harm(pod, nodes[name], [*there[name], *more])
            if harm is None or not all(admitted_after(fleet.nodes[name], own, new, memory) for own in harm[1]):
                break
            worst = harm[0] if worst is None else max(worst, harm[0])
        else:
            best = worst if best is None or worst is None else min(best, worst)
    return best


def _subsets(pods: Sequence[ClusterPod]) -> Iterator[Sequence[ClusterPod]]:
    for number in range(1 << len(pods)):
        yield [own for place, own in enumerate(pods) if number >> place & 1]


def _harm(
    pod: ClusterPod, node: ClusterNode, there: Sequence[ClusterPod]
) -> tuple[RoomMade, Sequence[Sequence[str]]] | None:
    """The most harm that the scheduler could do there, and the UIDs of whom it might evict; None where it would evict
    nobody, or in too many ways."""
    priority = pod.pod.priority or 0
    lower = {own.uid: own for own in there if _priority(own) < priority}
    used = dict(asked_of(pod.pod))
    for own in there:
        if own.uid not in lower:
            _add(used, asked_of(own.pod))
    choices = []
    for stay in let_back(used, {uid: asked_of(own.pod) for uid, own in lower.items()}, node):
        victims = [uid for uid in lower if uid not in stay]
        choices.append(victims)
        if not victims or len(choices) > MOST_CHOICES:
            return None
    if not choices:
        return None
    highest = max(_priority(lower[uid]) for victims in choices for uid in victims)
    return RoomMade(highest, max(map(len, choices)), node.name), choices


def let_back(used: ResourceSums, lower: Mapping[str, ResourceSums], node: ClusterNode) -> Iterator[frozenset[str]]:
    """All sets of these pods that fit beside what is used, and to which none of the others could be added: whichever
    order the scheduler takes, it ends with one of them. Nothing where not even that fits which is used."""
    if not has_room(used, node, {}):
        return
    fitting: list[frozenset[str]] = []
    names = sorted(lower)
    for number in sorted(range(1 << len(names)), key=lambda own: -own.bit_count()):
        chosen = frozenset(name for place, name in enumerate(names) if number >> place & 1)
        if any(chosen < larger for larger in fitting):
            continue
        total = dict(used)
        for name in chosen:
            _add(total, lower[name])
        if has_room(total, node, {}):
            fitting.append(chosen)
            yield chosen


def _add(total: dict[str, int], more: ResourceSums) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _priority(pod: ClusterPod) -> int:
    return pod.pod.priority or 0
