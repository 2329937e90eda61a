"""Why a decision ended as it did: one cause, read off the decision, its merges and the ledger that they saw."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb

import msgspec

from numafit.bits import mask_of, members
from numafit.decision.decision import Crash, Decision, MergeStep, Preempted, ResizeRefused
from numafit.decision.node import Node
from numafit.decision.story.claims import (
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
    Nearly,
    NeedsSeveral,
    NeverNearer,
    NothingToShare,
    NotOffered,
    NotSingle,
    Places,
    ResizeAllocated,
    ResizePutOff,
    Rule,
    TooMuch,
    Untold,
    narrowest_places,
    places_of,
    sets_of,
)
from numafit.decision.story.supply import Needs, Supply, needs_of, supply_of
from numafit.managers.ask import Ask, is_memory
from numafit.managers.memory.pod_level import pod_refusal
from numafit.managers.refused import BudgetUsedUp
from numafit.managers.topology.hint import HintFamily, HintList, ProviderHints
from numafit.managers.topology.policy import SINGLE_NUMA_NODE
from numafit.workload.pod import pod_requests


def cause_of(node: Node, decision: Decision, ask: Ask) -> Cause:
    if decision.admitted:
        return _resized(node, decision, ask) if decision.resize else _admitted(node, decision, ask)
    cause = decision.cause
    if isinstance(cause, ResizeRefused | Preempted | Crash):
        return cause
    told = _rejection(node, decision, ask) if cause is None else cause
    return ResizePutOff(told) if decision.resize else told


def _resized(node: Node, decision: Decision, ask: Ask) -> ResizeAllocated:
    whole = pod_requests(
        decision.pod, sidecars=node.settings.behaviour.sidecars, pod_level=node.settings.gate("PodLevelResources")
    )
    amounts = {"cpu": whole["cpu"].milli()} if "cpu" in whole else {}
    if "memory" in whole:
        amounts["memory"] = whole["memory"].value()
    held = 0
    for cpus in decision.ledger.cpu.entries.get(decision.pod.uid, {}).values():
        held |= cpus
    other = node.cpu.static and held.bit_count() != ask.pod_cpus
    evicted = tuple(victim.pod.full_name for victim in decision.evicted)
    missing = {each.resource: each.missing for each in decision.short}
    reverted = decision.resize == "reverted"
    return ResizeAllocated(amounts, held.bit_count() if other else 0, reverted, evicted, missing)


def _rejection(node: Node, decision: Decision, ask: Ask) -> MergeRefused | Untold:
    cause = _step_cause(node, ask, decision.merges[-1]) if decision.merges else None
    return Untold() if cause is None else MergeRefused(node.topology.policy, cause)


def _admitted(node: Node, decision: Decision, ask: Ask) -> Admitted:
    nodes = cpus = 0
    memory = False
    devices: set[str] = set()
    for placement in decision.containers.values():
        cpus |= placement.cpus or 0
        for block in placement.memory or ():
            nodes |= mask_of(block.numa)
            memory = memory or block.size > 0
        for resource, own in placement.devices.items():
            listed = decision.ledger.device.devices.get(resource, {})
            nodes |= mask_of(numa for name in own if name in listed for numa in listed[name].numa or ())
            devices.update(own)
    nodes |= mask_of(numa for numa, own in node.cpu.topology.numa_nodes.items() if own & cpus)
    causes = [_step_cause(node, ask, step) for step in decision.merges or () if not step.best[1]]
    loose = tuple([cause for cause in causes if cause is not None])
    evicted = tuple(victim.pod.full_name for victim in decision.evicted)
    missing = {each.resource: each.missing for each in decision.short}
    return Admitted(nodes, cpus, memory, tuple(sorted(devices)), loose, _passed_over(node, ask), evicted, missing)


def _passed_over(node: Node, ask: Ask) -> tuple[str, ...]:
    if ask.pod_level != "skipped" or not ask.guaranteed:
        return ()
    static = {"cpu": node.cpu.static, "memory": node.memory is not None and node.memory.static}
    return tuple(name for name, own in static.items() if own)


def _step_cause(node: Node, ask: Ask, step: MergeStep) -> MergeCause | None:
    return merge_cause(
        step.container,
        step.providers,
        single=node.topology.policy == SINGLE_NUMA_NODE,
        equal=node.settings.behaviour.merge_equal_masks,
        needs=needs_of(ask, step.container),
        supply=supply_of(node, ask, step),
    )


class _Asked(msgspec.Struct, frozen=True):
    """One list of hints, and what it is for."""

    needs: Mapping[str, int | None]
    hints: tuple[tuple[int | None, bool], ...] | HintFamily
    accepted: frozenset[int] | None
    """The masks that the policy would take from it; None: some, too many to list."""


def merge_cause(
    container: str,
    providers: Sequence[ProviderHints],
    *,
    single: bool,
    equal: bool,
    needs: Needs | None = None,
    supply: Supply | None = None,
) -> MergeCause | None:
    """`single`: the policy takes single nodes only; `equal`: it takes a preferred hint only of equal masks (since
    1.24). Without `needs` and `supply`, as in a log, amounts and what an empty machine would do stay unknown.

    None: with these hints such a policy does not reject.
    """
    asked = _lists(providers, needs or {}, single)
    blocked = [each for each in asked if each.accepted is not None and not each.accepted]
    if blocked:
        return MergeCause(container, tuple([_blocked(each, single, supply) for each in blocked]), "alone")
    rule: Rule = "same-node" if single else "equal" if equal else "overlap"
    clash = _clash(asked, rule)
    if not clash:
        return None
    offers = tuple([_fitting(each, supply) for each in clash])
    if single:
        return MergeCause(container, offers, rule, nearly=_nearly(clash, supply))
    return MergeCause(container, offers, rule, common=_common(clash))


def _lists(providers: Sequence[ProviderHints], needs: Needs, single: bool) -> list[_Asked]:
    found: list[_Asked] = []
    for own in providers:
        groups: list[tuple[list[str], HintList]] = []
        for resource, hints in (own or {}).items():
            # the memory manager offers all its types together, and gives each the same hints
            if groups and is_memory(resource) and hints == groups[-1][1]:
                groups[-1][0].append(resource)
            else:
                groups.append(([resource], hints))
        for names, hints in groups:
            if hints is None:
                continue
            wanted = {name: needs.get(name) for name in names}
            if isinstance(hints, HintFamily):
                found.append(_Asked(wanted, hints, _accepted_of_family(hints, single)))
            elif not any(mask is None and preferred for mask, preferred in hints):
                good = [mask for mask, preferred in hints if preferred and mask]
                found.append(_Asked(wanted, hints, frozenset(m for m in good if not single or m.bit_count() == 1)))
    return found


def _accepted_of_family(family: HintFamily, single: bool) -> frozenset[int] | None:
    if single:
        return frozenset(
            1 << i for i in members(_everything(family)) if family.preferred(1 << i) and family.holds(1 << i)
        )
    extras = {extra for extra in family.extras if family.preferred(extra)}
    if family.sockets_wanted is not None:
        # what any set within so many sockets can do, all their nodes can
        unions = (mask_of(i for nodes in chosen for i in members(nodes)) for chosen in _choices(family))
        if any(family.in_rule(union & family.ground) and family.preferred(union & family.ground) for union in unions):
            return None
    masks = sets_of(family, family.size)
    if masks is not None:
        return frozenset(extras.union(masks))
    narrowest = family.narrowest()
    return frozenset(extras) if narrowest is None or narrowest > family.size else None


def _choices(family: HintFamily) -> Sequence[tuple[int, ...]]:
    wanted = family.sockets_wanted or 0
    return list(combinations(family.sockets, wanted)) if comb(len(family.sockets), wanted) < 1000 else []


def _everything(family: HintFamily) -> int:
    nodes = family.ground
    for extra in family.extras:
        nodes |= extra
    return nodes


# --- no place for one alone ------------------------------------------------------------------------------------------


def _blocked(asked: _Asked, single: bool, supply: Supply | None) -> AnyOffer:
    places = narrowest_places(asked.hints)
    if places is None:
        return NotOffered(asked.needs) if supply is None else _not_offered(asked.needs, supply)
    if supply is None:
        return NotSingle(asked.needs, places, not single)
    if all(supply.holds(resource) for resource in asked.needs):
        return HeldAcross(asked.needs, places)
    fewest = supply.fewest_when_empty(asked.needs)
    if single and (fewest is None or fewest > 1):
        return NeedsSeveral(asked.needs, places, supply.most_free(asked.needs, 1))
    if fewest is None or fewest >= places.width:
        return NeverNearer(asked.needs, places)
    width = 1 if single else fewest
    return FreeOnlyAcross(asked.needs, places, width, supply.most_free(asked.needs, width), supply.grouped(asked.needs))


def _not_offered(needs: Mapping[str, int | None], supply: Supply) -> AnyOffer:
    resource = next(iter(needs))
    wanted = needs[resource] or 0
    budget = _budget(supply, resource)
    if budget is not None:
        return NothingToShare(needs, budget.resource, budget.budget, budget.used)
    changed = supply.changed(resource)
    if changed is not None:
        return HeldOtherwise(needs, *changed)
    free = supply.free_in_all(resource)
    if free < wanted:
        return TooMuch(needs, {resource: free}, *supply.health(resource))
    nowhere = supply.left_nowhere(resource) if supply.container else ()
    if nowhere:
        return LeftNowhere(needs, nowhere)
    return FewPlaced(needs, free, supply.placed(resource))


def _budget(supply: Supply, resource: str) -> BudgetUsedUp | None:
    if supply.container or supply.ask.pod_level != "managed":
        return None
    if resource != "cpu" and not is_memory(resource):
        return None
    refusal = pod_refusal(supply.ask) if is_memory(resource) else supply.node.cpu.pod_refusal(supply.ask)
    return refusal.cause if refusal is not None and isinstance(refusal.cause, BudgetUsedUp) else None


# --- no place for all together ---------------------------------------------------------------------------------------


def _clash(asked: Sequence[_Asked], rule: Rule) -> list[_Asked]:
    """The lists that are to blame: without any one of them the others would agree. None if all agree."""
    if _agree(asked, rule) and all(each.accepted is not None for each in asked):
        return []
    left = list(asked)
    for each in asked:
        rest = [other for other in left if other is not each]
        if rest and not _agree(rest, rule):
            left = rest
    return left


def _agree(asked: Sequence[_Asked], rule: Rule) -> bool:
    """True where it is not known."""
    sets = [each.accepted for each in asked]
    reached: set[int] | None = None
    for masks in sets:
        if masks is None:
            return True
        if reached is None:
            reached = set(masks)
        elif rule == "overlap":
            reached = {a & b for a in reached for b in masks if a & b}
        else:
            reached &= masks
    return bool(reached)


def _fitting(asked: _Asked, supply: Supply | None) -> Fits:
    grouped = 0 if supply is None else supply.grouped(asked.needs)
    held = supply is not None and all(supply.holds(resource) for resource in asked.needs)
    if asked.accepted is not None:
        return Fits(asked.needs, places_of(asked.accepted), grouped, held)
    places = narrowest_places(asked.hints)
    assert places is not None
    return Fits(asked.needs, Places(places.width, places.nodes, None, False, (), True), grouped, held)


def _nearly(clash: Sequence[_Asked], supply: Supply | None) -> Nearly | None:
    if supply is None:
        return None
    best: tuple[float, Nearly] | None = None
    for numa in supply.numa_nodes:
        missing = [each for each in clash if each.accepted is not None and 1 << numa not in each.accepted]
        if len(missing) != 1:
            continue
        free = supply.free_on(missing[0].needs, numa)
        share = min([free[name] / (amount or 1) for name, amount in missing[0].needs.items()])
        if best is None or share > best[0]:
            best = share, Nearly(numa, free)
    return None if best is None else best[1]


def _common(asked: Sequence[_Asked]) -> int:
    """The smallest set of nodes that every list holds, where the lists are written out; else one that all hold."""
    sets = []
    for each in asked:
        if isinstance(each.hints, HintFamily):
            everything = -1
            for other in asked:
                everything &= _everything(other.hints) if isinstance(other.hints, HintFamily) else -1
            held = [
                other.hints.holds(everything)
                if isinstance(other.hints, HintFamily)
                else any(mask == everything for mask, _ in other.hints)
                for other in asked
            ]
            return everything if all(held) else 0
        sets.append({mask for mask, _ in each.hints if mask})
    common = set.intersection(*sets) if sets else set()
    return min(common, key=lambda mask: (mask.bit_count(), mask), default=0)
