"""What a story claims, as values: containers, resources, amounts and masks of NUMA nodes. `words` makes the text.

Every field is a claim about the ledger and the machine, and a law checks it against both (tests/decision). A resource
*fits* a set of NUMA nodes if its manager offers that set as a hint; the manager *prefers* a set that has as few nodes
as an empty machine would need by its count. Preferred is not only: wider sets may do.
"""

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import comb
from typing import Literal

import msgspec

from numafit.bits import mask_of, members
from numafit.decision.decision import (
    Crash,
    ManagerRefused,
    NodeShort,
    NothingToEvict,
    Preempted,
    ResizeRefused,
    Unsuited,
)
from numafit.managers.topology.hint import HintFamily, HintList

MOST_LISTED = 6
_MOST_TRIED = 5_000
"""Larger families are not searched for their narrowest sets."""


class Places(msgspec.Struct, frozen=True):
    """Sets of NUMA nodes, as masks: those of the fewest nodes."""

    width: int
    """How many nodes these sets have."""
    nodes: int
    """All nodes that occur in them."""
    number: int | None
    """How many there are; None: too many to count."""
    every: bool
    """Any `width` of `nodes` are such a set."""
    listed: tuple[int, ...]
    """The first of them."""
    wider: bool
    """There are sets of more nodes, too."""


def places_of(masks: Iterable[int]) -> Places:
    known = sorted(set(masks), key=lambda mask: (mask.bit_count(), mask))
    width = known[0].bit_count()
    narrow = [mask for mask in known if mask.bit_count() == width]
    nodes = 0
    for mask in narrow:
        nodes |= mask
    every = len(narrow) == comb(nodes.bit_count(), width)
    return Places(width, nodes, len(narrow), every, tuple(narrow[:MOST_LISTED]), len(narrow) < len(known))


def narrowest_places(hints: HintList) -> Places | None:
    """Of the sets that a resource fits at all; None where there is none, or any node will do."""
    if isinstance(hints, HintFamily):
        width = hints.narrowest()
        return None if width is None else _family_places(hints, width)
    masks = [mask for mask, _ in hints or () if mask]
    return places_of(masks) if masks else None


def _family_places(family: HintFamily, width: int) -> Places:
    """The sets of `width` nodes, of which there must be one."""
    masks = sets_of(family, width)
    wider = any(extra.bit_count() > width for extra in family.extras)
    wider = wider or (family.ground.bit_count() > width and family.in_rule(family.ground))
    if masks is None:
        return Places(width, family.ground, None, False, (), wider)
    return msgspec.structs.replace(places_of(masks), wider=wider)


def sets_of(family: HintFamily, width: int) -> tuple[int, ...] | None:
    """All hints of this many nodes; None where they are too many to try."""
    if comb(family.ground.bit_count(), width) > _MOST_TRIED:
        return None
    found = {mask for chosen in combinations(members(family.ground), width) if family.in_rule(mask := mask_of(chosen))}
    return tuple(sorted(found | {extra for extra in family.extras if extra.bit_count() == width}))


class Offer(msgspec.Struct, frozen=True, tag_field="kind"):
    """What one manager can do for a request. Memory of all types is offered together."""

    needs: Mapping[str, int | None]
    """Resource -> amount; None where it is not known, as in a log."""


class Fits(Offer, frozen=True, tag="fits"):
    """There are places that the policy would take if it were for this alone: for single-numa-node single nodes, for
    the others preferred sets. These are all of them, but for wider ones."""

    places: Places
    grouped: int = 0
    """NUMA nodes on which this much is free too, but where memory is given only across a group of nodes."""
    held: bool = False
    """It is there already, from before a restart, and so nowhere else."""


class HeldAcross(Offer, frozen=True, tag="held-across"):
    """It is there already, from before a restart, and on more NUMA nodes than the policy takes now."""

    places: Places


class NeedsSeveral(Offer, frozen=True, tag="needs-several"):
    """No single NUMA node would have so much even with nobody on the machine."""

    places: Places
    most: Mapping[str, int]
    """Resource -> the most that is free on one node now."""


class FreeOnlyAcross(Offer, frozen=True, tag="free-only-across"):
    """With nobody on the machine `fewest` NUMA nodes would do; now it takes more."""

    places: Places
    fewest: int
    most: Mapping[str, int]
    """Resource -> the most that is free on `fewest` nodes now; empty where that is not worked out."""
    grouped: int = 0


class NeverNearer(Offer, frozen=True, tag="never-nearer"):
    """It takes as many NUMA nodes with nobody on the machine, but the manager counts reserved CPUs or unhealthy
    devices, and so prefers fewer."""

    places: Places


class NotSingle(Offer, frozen=True, tag="not-single"):
    """In a log: there is no hint of a single node, or no preferred one; whether an empty machine had one is not
    known."""

    places: Places
    preferred: bool
    """The policy asks for preferred sets, not for single nodes."""


class TooMuch(Offer, frozen=True, tag="too-much"):
    free: Mapping[str, int]
    """In the whole machine."""
    healthy: int | None = None
    """Of devices: how many are healthy, whoever holds them."""
    unhealthy: int = 0
    """How many are listed beside those."""
    plugin: bool = True
    """Their plugin is there; where it is not, none is healthy."""


class FewPlaced(Offer, frozen=True, tag="few-placed"):
    """There are devices enough for it, but too few of them name a NUMA node of this machine."""

    free: int
    """Those that it may have: free ones, or just those that it holds from before a restart."""
    placed: int


class LeftNowhere(Offer, frozen=True, tag="left-nowhere"):
    """An init container leaves devices to it that have no NUMA node of this machine, and it must take them."""

    devices: tuple[str, ...]


class HeldOtherwise(Offer, frozen=True, tag="held-otherwise"):
    """A container from before a restart holds another number than it asks for."""

    container: str
    asked: int
    held: int


class NothingToShare(Offer, frozen=True, tag="nothing-to-share"):
    """Containers with requests of their own use up the budget of the pod, and others have none."""

    resource: str
    budget: int
    used: int


class NotOffered(Offer, frozen=True, tag="not-offered"):
    """In a log: the manager has no place for it, and the log does not tell why."""


AnyOffer = (
    Fits
    | HeldAcross
    | NeedsSeveral
    | FreeOnlyAcross
    | NeverNearer
    | NotSingle
    | TooMuch
    | FewPlaced
    | LeftNowhere
    | HeldOtherwise
    | NothingToShare
    | NotOffered
)

Rule = Literal["alone", "same-node", "equal", "overlap"]
"""What no choice of places satisfies: each offer alone; one node for all; equal preferred sets; preferred sets with a
node in common (up to 1.23)."""


class Nearly(msgspec.Struct, frozen=True):
    """A NUMA node that has room for all but one."""

    node: int
    free: Mapping[str, int]
    """What is free there of the one that does not fit."""


class MergeCause(msgspec.Struct, frozen=True):
    """Why a merge did not end in a preferred hint."""

    container: str
    """Empty in the pod scope."""
    offers: tuple[AnyOffer, ...]
    """No fewer than are to blame: with the rule `alone` every one is by itself, else only all of them together."""
    rule: Rule
    common: int = 0
    """A set of nodes with room for these offers together, although not preferred by all; 0: none is known."""
    nearly: Nearly | None = None


class MergeRefused(msgspec.Struct, frozen=True, tag_field="kind", tag="merge-refused"):
    policy: str
    """Empty where a log does not tell it."""
    cause: MergeCause


class Admitted(msgspec.Struct, frozen=True, tag_field="kind", tag="admitted"):
    nodes: int
    """Where the exclusive CPUs, the bytes and the devices of the pod lie, as a mask."""
    cpus: int
    """0: all containers run on the shared ones."""
    memory: bool
    """Bytes of these nodes are held for it."""
    devices: tuple[str, ...]
    loose: tuple[MergeCause, ...] = ()
    """For each merge without a preferred hint, why."""
    passed_over: tuple[str, ...] = ()
    """The static managers (`cpu`, `memory`) that serve Guaranteed pods, but none with resources of its own."""
    evicted: tuple[str, ...] = ()
    """The pods that went for it (namespace/name), in the order in which they were killed."""
    missing: Mapping[str, int] = {}
    """Resource -> what the node as a whole was short of while they were there. CPUs are counted in thousandths."""


class Untold(msgspec.Struct, frozen=True, tag_field="kind", tag="untold"):
    """A rejection by the topology manager whose hints a log does not hold."""


class ResizeAllocated(msgspec.Struct, frozen=True, tag_field="kind", tag="resize-allocated"):
    """A pod that runs has other resources from now on, or keeps those it has because they are asked for again."""

    asks: Mapping[str, int]
    """`cpu` in thousandths and `memory` in bytes, of the pod as a whole: by these later pods are judged."""
    held: int = 0
    """The number of its exclusive CPUs, where that is another one than it asks for now: no resize changes them."""
    reverted: bool = False
    evicted: tuple[str, ...] = ()
    """The pods that went for it, in order: it is critical."""
    missing: Mapping[str, int] = {}
    """What the node as a whole was short of while they were there; CPUs in thousandths."""


class ResizePutOff(msgspec.Struct, frozen=True, tag_field="kind", tag="resize-put-off"):
    """A resize that is deferred, and why it does not fit now."""

    cause: MergeRefused | ManagerRefused | NodeShort | NothingToEvict | Unsuited | Untold


Cause = (
    Admitted
    | MergeRefused
    | ManagerRefused
    | NodeShort
    | NothingToEvict
    | Preempted
    | Unsuited
    | Crash
    | Untold
    | ResizeAllocated
    | ResizePutOff
    | ResizeRefused
)
