"""A node after some of its pods have ended, as its kubelet would see it then, and which ends would let a pod in.

What a pod held is free once its kubelet has removed stale state, which the next admission does. That a pod would be
admitted then is decided by the engine, beside all that is promised to the node.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from msgspec.structs import replace

from numafit.decision.decide import load_beside, requests_of
from numafit.decision.life import release
from numafit.fleet.fleet import FleetNode
from numafit.fleet.orders import PromisedPod, together
from numafit.fleet.state import NodeState, state_of, state_with
from numafit.fleet.verdicts import VerdictMemory
from numafit.workload.pod import Pod

Stays = Callable[[Pod], bool]
"""Whether a pod is not going to end: it is of the node itself, or its controller brings it back there."""


def static_stays(pod: Pod) -> bool:
    return pod.static


def state_without(state: NodeState, uids: Collection[str]) -> NodeState:
    """After these pods have ended."""
    ledger, load = state.ledger, state.load
    for uid in uids:
        load = load_beside(state.node.settings, load, ledger, uid)
        ledger = release(ledger, uid)
    return state_with(state.kind, state.node, ledger, load, state.allocatable)


def state_emptied(state: NodeState) -> NodeState:
    """With nobody on it. Devices that are not healthy stay so."""
    ledger = replace(state.ledger, active={}, affinity={})
    return state_of(state.kind, state.node, ledger, state.allocatable)


def holders(
    state: NodeState, resources: Collection[str], stays: Stays = static_stays, *, largest: bool = False
) -> list[Pod]:
    """Pods that ask for one of these resources, or all where none is named: those of the least priority first, then
    those that ask for least, or for most, by the first of the resources that they differ in; equals by name."""
    settings, names, sign = state.node.settings, sorted(resources), -1 if largest else 1
    found = []
    for pod in state.ledger.active.values():
        wanted = requests_of(settings, pod)
        amounts = tuple([sign * wanted.get(name, 0) for name in names])
        if not stays(pod) and (any(amounts) or not names):
            found.append(((pod.priority or 0, amounts, pod.full_name), pod))
    return [pod for _, pod in sorted(found, key=lambda own: own[0])]


def admitted_after(node: FleetNode, uids: Collection[str], new: PromisedPod, memory: VerdictMemory) -> bool:
    return together(state_without(node.state, uids), node.promised, new, memory).admitted


def single_ends(
    node: FleetNode, new: PromisedPod, memory: VerdictMemory, candidates: Sequence[Pod]
) -> Iterator[tuple[Pod, bool]]:
    """Each of the candidates, and whether the pod is admitted after that one alone has ended."""
    for holder in candidates:
        yield holder, admitted_after(node, (holder.uid,), new, memory)


def needed_ends(
    node: FleetNode, new: PromisedPod, memory: VerdictMemory, candidates: Sequence[Pod]
) -> tuple[Pod, ...] | None:
    """Pods after whose end it is admitted, none of which can be left out; None where not even all of them suffice.

    One where one suffices. Else they are taken in the order given until that is enough, and then each that is not
    needed is left out again: there may be another set that is smaller.
    """
    if admitted_after(node, (), new, memory):
        return ()
    for holder, enough in single_ends(node, new, memory, candidates):
        if enough:
            return (holder,)
    gone: list[Pod] = []
    for holder in candidates:
        gone.append(holder)
        if len(gone) > 1 and admitted_after(node, [own.uid for own in gone], new, memory):
            break
    else:
        return None
    for holder in tuple(gone[:-1]):
        rest = [own for own in gone if own is not holder]
        if admitted_after(node, [own.uid for own in rest], new, memory):
            gone = rest
    return tuple(gone)


def same_when_empty(one: NodeState, other: NodeState) -> bool:
    """Whether the nodes are the same once nobody is on them."""
    first, second = one.ledger.device, other.ledger.device
    return (
        one.kind == other.kind
        and one.allocatable == other.allocatable
        and one.node.facts.group_policies == other.node.facts.group_policies
        and one.ledger.ready == other.ledger.ready
        and one.ledger.memory.reuse_kept == other.ledger.memory.reuse_kept
        and first.healthy == second.healthy
        and first.connected == second.connected
        and first.devices == second.devices
    )
