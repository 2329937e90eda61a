"""The words for a decision: the one place where the claims of a story become text."""

from collections.abc import Collection, Mapping, Sequence

from numafit.bits import cpuset_text
from numafit.decision.decision import (
    Crash,
    ManagerRefused,
    NodeShort,
    NothingToEvict,
    Preempted,
    ResizeRefused,
    Unsuited,
)
from numafit.decision.story.claims import (
    MOST_LISTED,
    Admitted,
    AnyOffer,
    Cause,
    FewPlaced,
    Fits,
    FreeOnlyAcross,
    HeldAcross,
    HeldOtherwise,
    LeftNowhere,
    MergeCause,
    MergeRefused,
    NeedsSeveral,
    NeverNearer,
    NothingToShare,
    NotOffered,
    NotSingle,
    Places,
    ResizeAllocated,
    ResizePutOff,
    TooMuch,
    narrowest_places,
)
from numafit.decision.story.evicted_words import evictions_in_words, no_set_in_words, preempted_in_words
from numafit.decision.story.refused_words import crash_in_words, refused_in_words
from numafit.decision.story.resize_words import PUT_OFF, allocated_in_words, no_resize_in_words
from numafit.decision.story.terms import (
    amount_in_words,
    amounts_in_words,
    container_in_words,
    listed,
    needs_in_words,
    nodes_in_words,
    upper,
)
from numafit.ledger.ledger import Hint
from numafit.managers.ask import is_memory
from numafit.managers.topology.hint import HintFamily, HintList

MANY = 1_000
MANAGERS = {"cpu": "CPU", "memory": "memory"}
FEW_NODES = 8
"""Sets out of more nodes are counted, not listed."""


def cause_in_words(cause: Cause, who: str = "", *, placed: bool = True) -> str:
    """One or a few sentences. `who` is what a merge rejects, where its reader knows neither a pod nor a container.
    `placed`: the managers had something to place, before the node as a whole was asked."""
    if isinstance(cause, Admitted):
        return _admitted(cause)
    if isinstance(cause, MergeRefused):
        return _merge_refused(cause, who)
    if isinstance(cause, ManagerRefused):
        return refused_in_words(cause)
    if isinstance(cause, NodeShort):
        return _node_short(cause, placed)
    if isinstance(cause, NothingToEvict):
        return no_set_in_words(cause)
    if isinstance(cause, Preempted):
        return preempted_in_words(cause)
    if isinstance(cause, Unsuited):
        return _unsuited(cause, placed)
    if isinstance(cause, Crash):
        return crash_in_words(cause)
    if isinstance(cause, ResizeAllocated):
        gone = f" {evictions_in_words(cause.evicted, cause.missing)}" if cause.evicted else ""
        return f"{allocated_in_words(cause)}{gone}"
    if isinstance(cause, ResizePutOff):
        return f"{cause_in_words(cause.cause, who, placed=placed)} {PUT_OFF}"
    if isinstance(cause, ResizeRefused):
        return no_resize_in_words(cause)
    return "The topology manager rejects the pod; the log holds no hints of it, so it cannot be told why."


# --- admitted --------------------------------------------------------------------------------------------------------


def _admitted(cause: Admitted) -> str:
    text = admission_in_words(cause.nodes, cause.cpus, cause.devices, memory=cause.memory)
    shown = [loose_in_words(each) for each in cause.loose[:2]]
    more = len(cause.loose) - len(shown)
    rest = [f"The same goes for {more} more containers."] if more else []
    gone = [evictions_in_words(cause.evicted, cause.missing)] if cause.evicted else []
    passed = [passed_over_in_words(cause.passed_over)] if cause.passed_over else []
    return " ".join([text, *gone, *passed, *shown, *rest])


def passed_over_in_words(managers: Sequence[str]) -> str:
    who = listed([MANAGERS[name] for name in managers], "and")
    verb = "managers pass" if len(managers) > 1 else "manager passes"
    return f"The {who} {verb} over the pod, because it has resources as a whole (spec.resources)."


def admission_in_words(nodes: int, cpus: int, devices: Collection[str], *, memory: bool) -> str:
    where = f" on {nodes_in_words(nodes)}" if nodes else ""
    if cpus:
        return f"Admitted{where} with {', '.join([f'CPUs {cpuset_text(cpus)}', *sorted(devices)])}."
    placed = listed([*sorted(devices), *(["memory"] if memory and not devices else [])], "and")
    return f"Admitted with the shared CPUs{f', and {placed}{where}' if placed else ''}."


def loose_in_words(cause: MergeCause) -> str:
    who = f"container {cause.container} is" if cause.container else "it is"
    return f"{upper(who)} not as near as its managers prefer: {_why(cause)}."


# --- a merge ---------------------------------------------------------------------------------------------------------


def _merge_refused(refused: MergeRefused, who: str) -> str:
    cause = refused.cause
    who = who or container_in_words(cause.container)
    policy = f"`{refused.policy}`" if refused.policy else "the topology manager"
    nearly = ""
    if cause.nearly is not None:
        what = needs_in_words(cause.nearly.free)
        nearly = f" On node {cause.nearly.node}, {what} {_is(cause.nearly.free)} free."
    if cause.rule != "alone" or len(cause.offers) == 1:
        return f"{upper(_why(cause))}: {policy} rejects {who}.{nearly}"
    # Each alone is enough to refuse it, so one is named; the cure of that one does not help the others.
    named = min(cause.offers, key=_hardness)
    others = [needs_in_words(offer.needs) for offer in cause.offers if offer is not named]
    rest = f"{others[0]} alone would be" if len(others) == 1 else f"{listed(others, 'and')} would each be"
    return f"{upper(_clause(named))}: {policy} rejects {who}. {upper(rest)} rejected, too."


HARDEST = (NothingToShare, HeldOtherwise, LeftNowhere, FewPlaced, TooMuch, NeedsSeveral, NeverNearer, HeldAcross)
"""What no wait cures comes first: what the whole machine cannot give, then what never lies together. What is only taken
now, and what a log does not tell, come behind them, in the order of the managers."""


def _hardness(offer: AnyOffer) -> int:
    return next((rank for rank, kind in enumerate(HARDEST) if isinstance(offer, kind)), len(HARDEST))


def _why(cause: MergeCause) -> str:
    if cause.rule == "alone":
        return "; ".join(_clause(offer) for offer in cause.offers)
    verb = "fit" if cause.rule == "same-node" else "prefer"
    clauses = listed([_place_clause(offer, verb) for offer in cause.offers], "and")
    if cause.rule == "same-node":
        return f"{clauses}, so no node has room for {_all(cause.offers)}"
    who = _all(cause.offers)
    overlap = cause.rule == "overlap"
    rule = f"no node lies in preferred places of {who}" if overlap else f"no place is preferred by {who}"
    room = ""
    if cause.common.bit_count() > 1:
        room = f" ({nodes_in_words(cause.common)} together would have room for {who})"
    return f"{clauses}, so {rule}{room}"


def _all(offers: Sequence[AnyOffer]) -> str:
    return "both" if len(offers) == 2 else "all of them" if len(offers) > 2 else "it"


def _place_clause(offer: AnyOffer, verb: str) -> str:
    if not isinstance(offer, Fits):
        return _clause(offer)
    what = needs_in_words(offer.needs)
    where = places_in_words(offer.places)
    if offer.held:
        return f"{what} {_is(offer.needs)} held on {where}"
    if verb == "prefer":
        wider = ", or wider sets," if offer.places.wider else ""
        return f"{what} {'prefers' if _one(offer.needs) else 'prefer'} {where}{wider}"
    alone = nodes_in_words(offer.places.nodes)
    return f"{what} {'fits' if _one(offer.needs) else 'fit'} no single node but {alone}{_grouped(offer.grouped)}"


def _clause(offer: AnyOffer) -> str:
    what = needs_in_words(offer.needs)
    one = _one(offer.needs)
    if isinstance(offer, Fits):
        return _place_clause(offer, "fit")
    if isinstance(offer, HeldAcross):
        return f"{what} {_is(offer.needs)} held across {places_in_words(offer.places)}"
    if isinstance(offer, NeedsSeveral):
        return f"{what} {'needs' if one else 'need'} {together_in_words(offer.places)}{_most(offer.most, 1)}"
    if isinstance(offer, FreeOnlyAcross):
        fewest = f"{offer.fewest} node{'s' if offer.fewest > 1 else ''}"
        now = f"now {'needs' if one else 'need'} {offer.places.width}: {places_in_words(offer.places)}"
        most = _most(offer.most, offer.fewest)
        return f"{what} would fit {fewest} of an empty machine, but {now}{most}{_grouped(offer.grouped)}"
    if isinstance(offer, NeverNearer):
        kind = "reserved CPUs" if "cpu" in offer.needs else "unhealthy devices"
        return (
            f"{what} {'takes' if one else 'take'} {together_in_words(offer.places)} even on an empty machine, "
            f"and the kubelet, which counts {kind} too, prefers fewer nodes"
        )
    if isinstance(offer, NotSingle):
        lacking = "no preferred place" if offer.preferred else "no single node"
        wider = together_in_words(offer.places)
        return f"{what} {'has' if one else 'have'} {lacking} now, and {'fits' if one else 'fit'} {wider}"
    return _no_clause(offer, what, one)


def _no_clause(offer: AnyOffer, what: str, one: bool) -> str:
    if isinstance(offer, TooMuch):
        return _too_much(offer, what, "is" if one else "are")
    if isinstance(offer, FewPlaced):
        placed = f"{offer.placed} names" if offer.placed == 1 else f"{offer.placed or 'none'} name"
        if offer.free == 1:
            return f"for {what} there is 1 device, which names no NUMA node of this machine"
        return f"for {what} there are {offer.free} devices, of which {placed} a NUMA node of this machine"
    if isinstance(offer, LeftNowhere):
        names = listed(offer.devices, "and")
        return f"for {what} an init container leaves {names}, which must be taken and has no NUMA node"
    if isinstance(offer, HeldOtherwise):
        resource = next(iter(offer.needs))
        held = amount_in_words(resource, offer.held)
        return (
            f"{container_in_words(offer.container)} asks for {amount_in_words(resource, offer.asked)} and holds {held}"
        )
    if isinstance(offer, NothingToShare):
        return (
            f"containers with requests of their own take {amount_in_words(offer.resource, offer.used)} of the pod's "
            f"{amount_in_words(offer.resource, offer.budget)}, and nothing is left to the others"
        )
    assert isinstance(offer, NotOffered)
    return f"{what} cannot be given now"


def _too_much(offer: TooMuch, what: str, verb: str) -> str:
    ((_, free),) = offer.free.items()
    if not offer.plugin and not free:
        return f"{what} {verb} asked for, and none is healthy: the device plugin is not there"
    if offer.healthy == 0 and not free:
        return f"{what} {verb} asked for, and none is healthy"
    ill = f" ({offer.unhealthy} {'is' if offer.unhealthy == 1 else 'are'} not healthy)" if offer.unhealthy else ""
    if not free:
        return f"{what} {verb} asked for, and none is free{ill}"
    left = "1 that is" if free == 1 else f"{free} that are"
    return f"{what} {verb} more than the {left} free on the whole machine{ill}"


def _one(needs: Mapping[str, int | None]) -> bool:
    """Whether the words for it are followed by `is`."""
    if len(needs) > 1:
        return False
    ((resource, amount),) = needs.items()
    return (amount == 1 and not is_memory(resource)) or (amount is None and resource == "memory")


def _is(needs: Mapping[str, int | None] | Mapping[str, int]) -> str:
    return "is" if _one(dict(needs)) else "are"


def _most(most: Mapping[str, int], width: int) -> str:
    if not most:
        return ""
    where = "one node" if width == 1 else f"{width} nodes"
    if not any(most.values()):
        return f" (none of it can be had on {where})"
    return f" (at most {needs_in_words(most)} can be had on {where})"


def _grouped(nodes: int) -> str:
    if not nodes:
        return ""
    verb = "belongs" if nodes.bit_count() == 1 else "belong"
    return f" ({nodes_in_words(nodes)} {verb} to pods that sit across several nodes)"


# --- places ----------------------------------------------------------------------------------------------------------


def places_in_words(places: Places) -> str:
    """The sets of the fewest nodes: `node 0`, `one of nodes 0-3`, `nodes 0-1`, `any 2 of 34 nodes`."""
    if places.number == 1:
        return nodes_in_words(places.nodes)
    if places.width == 1:
        return f"one of {nodes_in_words(places.nodes)}"
    count = places.nodes.bit_count()
    ground = f"{count} nodes" if count > FEW_NODES else nodes_in_words(places.nodes)
    if places.every:
        return f"any {places.width} of {ground}"
    if places.number is None:
        return f"certain sets of {places.width} of {ground}"
    words = [nodes_in_words(mask) for mask in places.listed]
    more = places.number - len(words)
    if more:
        return f"{', '.join(words)} or {more} more sets of {places.width} nodes"
    return listed(words, "or")


def together_in_words(places: Places) -> str:
    return places_in_words(places) + (" together" if places.width > 1 and (places.number == 1 or places.every) else "")


def hint_in_words(hint: Hint) -> str:
    mask, preferred = hint
    if mask is None:
        return "any NUMA node" if preferred else "no NUMA node"
    return f"{nodes_in_words(mask)}, {'preferred' if preferred else 'not preferred'}"


def hints_in_words(hints: HintList) -> str:
    if hints is None:
        return "no preference"
    if isinstance(hints, HintFamily):
        return _family_in_words(hints)
    if not hints:
        return "cannot be satisfied"
    ordered = sorted(hints, key=lambda hint: not hint[1])
    words = [
        f"{'any node' if mask is None else nodes_in_words(mask)}{' (preferred)' if preferred else ''}"
        for mask, preferred in ordered[:MOST_LISTED]
    ]
    if len(ordered) > MOST_LISTED:
        words.append(f"and {len(ordered) - MOST_LISTED} more")
    return ", ".join(words)


def _family_in_words(family: HintFamily) -> str:
    places = narrowest_places(family)
    if places is None:
        return "cannot be satisfied"
    number = family.count()
    preferred = " (preferred)" if places.width == family.size else ""
    if not places.wider:
        return f"{places_in_words(places)}{preferred}"
    if number is None or places.number is None or number - places.number > MANY:
        return f"{places_in_words(places)}{preferred}, and many wider sets"
    return f"{places_in_words(places)}{preferred}, and {number - places.number} wider sets"


# --- the node as a whole ---------------------------------------------------------------------------------------------


def _but(text: str, placed: bool) -> str:
    return f"The managers found a place, but {text}" if placed else upper(text)


def _node_short(cause: NodeShort, placed: bool) -> str:
    if cause.resource == "pods":
        return f"The node takes {cause.capacity} pods, and {cause.used} are there."
    if not cause.capacity:
        asked = amount_in_words(cause.resource, cause.asked, milli=True)
        return _but(f"the node as a whole has no {cause.resource}: the pod asks for {asked}.", placed)
    left = max(0, cause.capacity - cause.used)
    amounts = amounts_in_words(cause.resource, (cause.asked, left, cause.capacity))
    left_of = f"of {cause.resource} the node as a whole has {amounts[1]} left of {amounts[2]}"
    return _but(f"{left_of}, and the pod asks for {amounts[0]}.", placed)


def _unsuited(cause: Unsuited, placed: bool) -> str:
    facts = cause.facts
    if "selector" in facts:
        name = facts["selector"].partition("=")[0]
        has = f"its {name} is {facts['label']}" if facts["label"] else "it has no such label"
        return _but(f"the pod wants a node with {facts['selector']}, and {has}.", placed)
    if "affinity" in facts:
        wish = facts["affinity"] or "nothing that could hold"
        return _but(f"the node has no labels for the pod's node affinity: {wish}.", placed)
    if "port" in facts:
        return _but(f"the host port {facts['port']} is held by {facts['pod']} already.", placed)
    if "taint" in facts:
        return _but(f"the pod does not tolerate the taint {facts['taint']} of the node.", placed)
    if "sidecar" in facts:
        return (
            f"The init container {facts['sidecar']} is a sidecar, and the gate SidecarContainers of the kubelet is off."
        )
    if "system" in facts:
        return f"The pod is for {facts['system'] or 'no system'}, and the node runs linux."
    return "The pod wants supplementalGroupsPolicy Strict, and the container runtime of the node does not know it."
