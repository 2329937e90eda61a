"""What a node lacks for a pod, in the pod's own terms: what it asks for, and where that would have to be free together.

A lack is read off the cause that a decision gives. It says that nowhere on the node, in the sense of `where`, all of
`needs` is free together, beside what other containers of the pod took before; so it stays true for other resources
beside them, and for a narrower place. This is why the lacks of many nodes can be told as one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from numafit.decision.decision import Decision, ManagerRefused, NodeShort, NothingToEvict
from numafit.decision.node import Node
from numafit.decision.story.cause import cause_of
from numafit.decision.story.claims import (
    AnyOffer,
    FewPlaced,
    FreeOnlyAcross,
    MergeRefused,
    NeedsSeveral,
    NeverNearer,
    TooMuch,
)
from numafit.decision.story.terms import amount_in_words, listed
from numafit.decision.story.words import cause_in_words
from numafit.managers.ask import ask_of
from numafit.managers.cpu.manager import CPU
from numafit.managers.refused import (
    AllocationRefused,
    CpusShort,
    DevicesShort,
    MemoryGroups,
    MemoryNotPreferred,
    NoMemoryPlace,
    NoWiderMemory,
    WholeCoresShort,
)
from numafit.managers.topology.policy import SINGLE_NUMA_NODE

LackPlace = Literal["node", "numa-node", "near", "other"]
"""`node`: not even on the whole node. `numa-node`: on no single NUMA node. `near`: not as near together as the kubelet
wants it, which is on as few NUMA nodes as an empty node would need, and for all resources on the same ones. `other`: it
is not an amount that is missing."""
WIDTH: tuple[LackPlace, ...] = ("node", "near", "numa-node")
"""From the widest place to the narrowest: what is not free in one is not free in those behind it."""


class Lack(msgspec.Struct, frozen=True):
    where: LackPlace
    needs: Mapping[str, int] = {}
    """Resource -> amount, in base units; CPUs in thousandths."""
    container: str = ""
    """Whose needs they are; empty for the pod as a whole, and where it has but one."""
    text: str = ""
    """What is wrong where that is no amount."""
    share: float = 0.0
    """How much of it there is, from 0 to 1, where that is known: nodes with more of it are nearer to fitting."""


def lacks_of(node: Node, decision: Decision) -> tuple[Lack, ...]:
    """Of a refusal: each of them alone is enough to refuse the pod."""
    found = _found(node, decision)
    return found if len(decision.pod.all_containers) > 1 else tuple([replace(lack, container="") for lack in found])


def _found(node: Node, decision: Decision) -> tuple[Lack, ...]:
    cause = cause_of(node, decision, ask_of(decision.pod, node.settings))
    if isinstance(cause, MergeRefused):
        merge = cause.cause
        where: LackPlace = "numa-node" if cause.policy == SINGLE_NUMA_NODE else "near"
        if merge.rule == "alone":
            text = cause_in_words(cause, "the pod")
            return tuple([_alone(offer, merge.container, where, text) for offer in merge.offers])
        needs: dict[str, int] = {}
        for offer in merge.offers:
            needs |= _base(offer.needs)
        return (Lack(where, needs, merge.container, share=1.0 if merge.nearly is None else 0.9),)
    if isinstance(cause, NothingToEvict):
        cause = cause.short[0]
    if isinstance(cause, NodeShort):
        share = max(0, cause.capacity - cause.used) / cause.asked if cause.asked else 0.0
        return (Lack("node", {cause.resource: cause.asked}, share=share),)
    if isinstance(cause, ManagerRefused):
        found = _managers_lack(cause.container, cause.cause)
        if found is not None:
            return (found,)
    return (Lack("other", text=cause_in_words(cause, "the pod", placed=False)),)


def _alone(offer: AnyOffer, container: str, where: LackPlace, text: str) -> Lack:
    needs = _base(offer.needs)
    if isinstance(offer, TooMuch):
        return Lack("node", needs, container, share=_share(needs, _base(offer.free)))
    if isinstance(offer, FreeOnlyAcross | NeedsSeveral):
        return Lack(where, needs, container, share=_share(needs, _base(offer.most)))
    if isinstance(offer, NeverNearer | FewPlaced):
        return Lack(where, needs, container)
    return Lack("other", container=container, text=text)


def _managers_lack(container: str, cause: AllocationRefused) -> Lack | None:
    if isinstance(cause, CpusShort | WholeCoresShort):
        return Lack("node", {CPU: cause.cpus * 1000}, container, share=cause.free / cause.cpus)
    if isinstance(cause, DevicesShort):
        return Lack("node", {cause.resource: cause.asked}, container, share=cause.free / cause.asked)
    if isinstance(cause, NoMemoryPlace | NoWiderMemory | MemoryNotPreferred | MemoryGroups):
        return Lack("near", dict(cause.needs), container)
    return None


def _base(amounts: Mapping[str, int | None] | Mapping[str, int]) -> dict[str, int]:
    """Claims count whole CPUs."""
    return {name: (amount or 0) * (1000 if name == CPU else 1) for name, amount in amounts.items()}


def _share(needs: Mapping[str, int], most: Mapping[str, int]) -> float:
    return min((most.get(name, 0) / amount for name, amount in needs.items() if amount), default=0.0)


def common_lack(found: Iterable[tuple[Sequence[Lack], int]]) -> Lack | None:
    """One lack that holds on all nodes of which these are the lacks, each with the number of nodes that have them.

    The fewest resources are named that explain every node, as far as taking the most telling ones first finds them, and
    the widest place where they are together on none. None where some node is refused for something else, or where
    nodes have no room for different containers: each of those is short of something beside the others.
    """
    left = [(own, number) for own, number in found if number]
    chosen: list[Lack] = []
    while left:
        weights: dict[tuple[str, ...], int] = {}
        for own, number in left:
            for key in {_key(lack) for lack in own if lack.where != "other"}:
                weights[key] = weights.get(key, 0) + number
        if not weights:
            return None
        key = min(weights, key=lambda own: (-weights[own], own))
        chosen += [lack for own, _ in left for lack in own if lack.where != "other" and _key(lack) == key]
        left = [
            (own, number) for own, number in left if all(lack.where == "other" or _key(lack) != key for lack in own)
        ]
    return _joined(chosen)


def _key(lack: Lack) -> tuple[str, ...]:
    return (lack.container, *sorted(lack.needs))


def _joined(lacks: Collection[Lack]) -> Lack | None:
    containers = {lack.container for lack in lacks}
    if len(containers) != 1:
        return None
    needs: dict[str, int] = {}
    for lack in lacks:
        for name, amount in lack.needs.items():
            needs[name] = max(needs.get(name, 0), amount)
    where = max((lack.where for lack in lacks), key=WIDTH.index)
    return Lack(where, dict(sorted(needs.items(), key=_telling)), containers.pop())


def _telling(need: tuple[str, int]) -> tuple[bool, str]:
    """Devices come before CPUs and memory."""
    return ("/" not in need[0], need[0])


def lack_in_words(lack: Lack) -> str:
    """`5 example.com/gpu on one NUMA node`."""
    if lack.where == "other":
        return lack.text
    where = {"node": "on one node", "numa-node": "on one NUMA node", "near": "near together"}[lack.where]
    whose = f" for container {lack.container}, beside the others of the pod" if lack.container else ""
    return f"{listed([_amount_in_words(name, amount) for name, amount in lack.needs.items()], 'and')} {where}{whose}"


def _amount_in_words(name: str, amount: int) -> str:
    if name == "pods":
        return "room for one more pod"
    text = amount_in_words(name, amount, milli=True)
    return f"{text} of memory" if name == "memory" else text
