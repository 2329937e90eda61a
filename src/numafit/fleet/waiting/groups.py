"""Pods that start together or not at all: whether all of them are there, and a node for each.

A group is placed whole: its pods are offered one by one to the fleet as it would be with those before, and where one
finds no node nothing was offered. So no two groups hold a half each. Every pod gets one node, and not several: it
counts on all that it is offered, so that a group with many names for each would need the room of many groups.

Pods of the group that are bound already, or let go, count as there. Once one of them is bound the group has started:
what comes later, such as one that replaces another, waits for no one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from numafit.decision.decide import requests_of
from numafit.fleet.fleet import Fleet
from numafit.fleet.places import Placing, places
from numafit.fleet.verdicts import VerdictMemory
from numafit.fleet.waiting.members import NeededNumber
from numafit.workload.pod import Pod

MOST_NAMED = 60

ChooseNode = Callable[[Fleet, Pod], str | None]
"""The node for a pod on the fleet as it stands, or None."""


class PodGroupState(msgspec.Struct, frozen=True):
    key: str
    name: str
    size: int
    """So many have to start together."""
    waiting: tuple[str, ...]
    """UIDs of those that are to be placed, in the order of the queue."""
    there: int
    """How many there are: waiting for us or for others, let go, or bound."""
    started: bool
    """One of them is bound."""
    sizes: tuple[int, ...] = ()
    """Where its pods do not agree: all that they say."""

    @property
    def ready(self) -> bool:
        """It may be placed, if there is room."""
        return bool(self.waiting) and not self.sizes and (self.started or self.missing == 0)

    @property
    def missing(self) -> int:
        return max(0, self.size - self.there)

    @property
    def needed(self) -> int:
        """So many of those that wait have to find a node at once."""
        if self.started:
            return min(1, len(self.waiting))
        return max(0, self.size - (self.there - len(self.waiting)))


class GroupPod(msgspec.Struct, frozen=True):
    """One that is alive."""

    uid: str
    number: NeededNumber
    waiting: bool
    """For us, and for nobody else."""
    bound: bool = False


def groups_of(pods: Iterable[GroupPod]) -> dict[str, PodGroupState]:
    """Those that wait in the order given; pods that wait for nobody are in no group."""
    gathered: dict[str, list[GroupPod]] = {}
    for own in pods:
        if own.number.size > 1:
            gathered.setdefault(own.number.key, []).append(own)
    return {key: _state(key, own) for key, own in gathered.items()}


def _state(key: str, own: Sequence[GroupPod]) -> PodGroupState:
    sizes = sorted({each.number.size for each in own})
    return PodGroupState(
        key,
        own[0].number.name,
        sizes[-1],
        tuple(each.uid for each in own if each.waiting),
        len(own),
        any(each.bound for each in own),
        tuple(sizes) if len(sizes) > 1 else (),
    )


class GroupPlacing(msgspec.Struct, frozen=True):
    nodes: Mapping[str, tuple[str, ...]]
    """Pod UID -> the node that it is offered; empty where not enough of them find one."""
    fleet: Fleet
    """With these offers; as it was where there are none."""
    found: int
    """How many found a node."""
    refused: Pod | None = None
    """The first that did not."""
    placing: Placing | None = None
    """Why not, beside those that did."""


def assign_group(
    fleet: Fleet,
    pods: Sequence[Pod],
    memory: VerdictMemory,
    *,
    needed: int | None = None,
    choose: ChooseNode | None = None,
) -> GroupPlacing:
    """A node for each of the pods, or for the first `needed` of them at least, or for none.

    The large ones choose first. It is not searched for another order or other nodes where that fails: who could be
    placed in a cleverer way waits until it fits in this one.
    """
    before, wanted = fleet, len(pods) if needed is None else min(needed, len(pods))
    nodes: dict[str, tuple[str, ...]] = {}
    refused: Pod | None = None
    for pod in large_first(fleet, pods):
        name = _best(fleet, pod, memory) if choose is None else choose(fleet, pod)
        if name is None:
            refused = refused or pod
            continue
        nodes[pod.uid] = (name,)
        fleet = fleet.offered(pod, (name,))
    if wanted and len(nodes) >= wanted:
        return GroupPlacing(nodes, fleet, len(nodes), refused)
    placing = None if refused is None else places(fleet, refused, memory)
    return GroupPlacing({}, before, len(nodes), refused, placing)


def _best(fleet: Fleet, pod: Pod, memory: VerdictMemory) -> str | None:
    found = places(fleet, pod, memory, 1).places
    return found[0].node if found else None


def large_first(fleet: Fleet, pods: Sequence[Pod]) -> list[Pod]:
    """By devices, then CPUs, then memory; equals in the order given."""
    node = next(iter(fleet.nodes.values()), None)
    if node is None:
        return list(pods)
    settings = node.state.node.settings

    def size(pod: Pod) -> tuple[int, int, int]:
        wanted = requests_of(settings, pod)
        devices = sum(amount for name, amount in wanted.items() if "/" in name)
        return (-devices, -wanted.get("cpu", 0), -wanted.get("memory", 0))

    return sorted(pods, key=size)


def group_sentence(state: PodGroupState, found: int = 0, why: str = "") -> str:
    """Why its pods wait. `found`: so many of them would find a node now; `why`: what the first other one waits for."""
    name = state.name if len(state.name) <= MOST_NAMED else f"{state.name[: MOST_NAMED - 1]}…"
    if state.sizes:
        said = " and ".join(map(str, state.sizes))
        return f"The pods of group {name} do not agree on its size ({said}), so that none of them starts."
    if state.missing and not state.started:
        return f"{state.there} of {state.size} pods of group {name} are there; it starts when all are."
    needed = f"the {state.needed} pods" if state.needed > 1 else "the pod"
    text = f"{found} of {needed} of group {name} that start together have room now."
    return f"{text} {why}".rstrip()
