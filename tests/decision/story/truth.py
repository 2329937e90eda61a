"""Whether what a story claims is so: every claim is counted again, mask by mask, from the machine and the ledger."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from math import comb

from msgspec.structs import replace

from numafit.decision.decision import (
    Crash,
    Decision,
    ManagerRefused,
    MergeStep,
    NodeShort,
    NothingToEvict,
    Preempted,
)
from numafit.decision.node import Node
from numafit.decision.story.claims import (
    MOST_LISTED,
    Admitted,
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
    Offer,
    Places,
    TooMuch,
)
from numafit.decision.story.story import Story
from numafit.managers.ask import Ask, ask_of
from tests.decision.evictions import check_victims, may_go, missing_of, still_missing
from tests.decision.story.grid_truth import check_grid
from tests.decision.story.refused_truth import check_budget, check_crash, check_refused
from tests.decision.story.world import Nodes, World, bits, is_bytes, needs_of


def check_story(node: Node, decision: Decision, story: Story) -> None:
    ask = ask_of(decision.pod, node.settings)
    assert story.sentence.endswith(".")
    check_cause(node, decision, ask, story)
    steps = decision.merges or ()
    assert len(story.chapters) == len(steps)
    for chapter, step in zip(story.chapters, steps, strict=True):
        check_grid(World(node, ask, step.container, step.ledger), chapter)


def check_cause(node: Node, decision: Decision, ask: Ask, story: Story) -> None:
    cause = story.cause
    assert isinstance(cause, Admitted) == decision.admitted
    assert isinstance(cause, Crash) == bool(decision.panic)
    assert isinstance(cause, NodeShort | NothingToEvict) == bool(decision.shortage)
    if isinstance(cause, Admitted):
        _check_admitted(node, decision, ask, cause)
    elif isinstance(cause, MergeRefused):
        step = (decision.merges or ())[-1]
        assert decision.reason == "TopologyAffinityError"
        assert not step.admit
        assert cause.policy == node.topology.policy
        check_merge(node, ask, step, cause.cause, cause.policy == "single-numa-node")
    elif isinstance(cause, ManagerRefused):
        assert decision.reason != "TopologyAffinityError"
        check_refused(World(node, ask, cause.container, decision.ledger), decision, cause)
    elif isinstance(cause, NodeShort):
        assert cause.asked > cause.capacity - cause.used
        # The kubelet's own message has the same numbers; recordings hold it.
        numbers = f"requested: {cause.asked}, used: {cause.used}, capacity: {cause.capacity}"
        assert decision.message == f"Node didn't have enough resource: {cause.resource}, {numbers}"
        assert cause == decision.short[0]
        assert not decision.pod.critical
    elif isinstance(cause, NothingToEvict):
        _check_no_set(node, decision, cause)
    elif isinstance(cause, Crash):
        check_crash(World(node, ask, cause.container, decision.ledger), cause)
    else:
        raise AssertionError(f"nothing is told: {cause}")


def check_evictions(node: Node, decision: Decision, stories: Iterable[Story]) -> None:
    """Of those that went for a pod, with a story each: all were active before, and are not any more."""
    told = []
    for victim, story in zip(decision.evicted, stories, strict=True):
        assert isinstance(story.cause, Preempted)
        assert (story.sentence[-1], story.chapters) == (".", ())
        told.append(replace(victim, cause=story.cause))
        assert victim.pod.uid not in decision.ledger.active
    if not told:
        return
    others = [each for each in decision.ledger.active.values() if each != decision.pod]
    before = [*others, *(victim.pod for victim in decision.evicted)]
    check_victims(node.settings, decision.pod, before, missing_of(decision.short), told)


def _check_no_set(node: Node, decision: Decision, cause: NothingToEvict) -> None:
    assert decision.pod.critical
    assert decision.reason == "UnexpectedAdmissionError"
    assert cause.short == decision.short
    others = list(decision.ledger.active.values())
    assert cause.candidates == sum(may_go(decision.pod, other) for other in others)
    assert cause.missing == still_missing(node.settings, decision.pod, others, missing_of(cause.short))
    listed = "".join(f"(res: {name}, q: {amount}), " for name, amount in cause.missing.items())
    assert decision.message.endswith(f": no set of running pods found to reclaim resources: [{listed}]")


def _check_admitted(node: Node, decision: Decision, ask: Ask, cause: Admitted) -> None:
    world = World(node, ask, "", decision.ledger)
    cpus: set[int] = set()
    nodes: set[int] = set()
    devices: set[str] = set()
    size = 0
    for container in decision.containers.values():
        cpus |= bits(container.cpus or 0)
        for block in container.memory or ():
            nodes |= set(block.numa)
            size += block.size
        for resource, own in container.devices.items():
            devices |= set(own)
            for device in own:
                nodes |= world.numa_of(resource, device)
    nodes |= {world.cpu_numa[cpu] for cpu in cpus}
    assert (bits(cause.nodes), bits(cause.cpus), set(cause.devices)) == (nodes, cpus, devices)
    assert cause.memory == (size > 0)
    assert cause.evicted == tuple(victim.pod.full_name for victim in decision.evicted)
    assert cause.missing == missing_of(decision.short)
    assert bool(cause.evicted) == bool(decision.short)
    passed_over = node.settings.behaviour.pod_level != "ignored" and ask.pod_level == "skipped" and ask.guaranteed
    policies = {"cpu": node.settings.cpu_policy == "static", "memory": node.settings.memory_policy == "Static"}
    assert cause.passed_over == tuple(name for name, static in policies.items() if static and passed_over)
    loose = [step for step in decision.merges or () if not step.best[1]]
    assert [each.container for each in cause.loose] == [step.container for step in loose]
    for step, each in zip(loose, cause.loose, strict=True):
        check_merge(node, ask, step, each, node.topology.policy == "single-numa-node")


def check_merge(node: Node, ask: Ask, step: MergeStep, cause: MergeCause, single: bool) -> None:
    world = World(node, ask, step.container, step.ledger)
    asked = needs_of(ask, step.container)
    assert cause.container == step.container
    assert cause.offers
    for offer in cause.offers:
        assert all(asked[resource] == amount for resource, amount in offer.needs.items())
        check_offer(world, offer, single)
    sets = [world.accepted(_amounts(offer), single) for offer in cause.offers]
    if cause.rule == "alone":
        assert not any(isinstance(offer, Fits) for offer in cause.offers)
        assert (cause.common, cause.nearly) == (0, None)
        return
    assert all(isinstance(offer, Fits) for offer in cause.offers)
    assert (cause.rule == "same-node") == single
    assert not _agree(sets, cause.rule), "they agree"
    for i in range(len(sets)):
        assert len(sets) == 1 or _agree(sets[:i] + sets[i + 1 :], cause.rule), "one is not to blame"
    if not single:
        room = [world.all_that_fit(_amounts(offer)) for offer in cause.offers]
        common = min(set.intersection(*room), key=lambda own: (len(own), sum(1 << i for i in own)), default=frozenset())
        assert bits(cause.common) == common
    else:
        assert cause.common == 0
    if cause.nearly is not None:
        here = frozenset((cause.nearly.node,))
        missing = [offer for offer, own in zip(cause.offers, sets, strict=True) if here not in own]
        assert len(missing) == 1
        assert dict(cause.nearly.free) == {name: world.amount(name, here) for name in missing[0].needs}


def _agree(sets: list[set[Nodes]], rule: str) -> bool:
    if rule == "overlap":
        reached = sets[0]
        for own in sets[1:]:
            reached = {a & b for a in reached for b in own if a & b}
        return bool(reached)
    return bool(set.intersection(*sets))


def _amounts(offer: Offer) -> dict[str, int]:
    return {resource: amount or 0 for resource, amount in offer.needs.items()}


def check_offer(world: World, offer: Offer, single: bool) -> None:
    needs = _amounts(offer)
    accepted = world.accepted(needs, single)
    if isinstance(offer, Fits):
        check_places(offer.places, accepted)
        assert bits(offer.grouped) == _grouped(world, needs)
        assert offer.held == _held(world, needs)
        return
    if isinstance(offer, HeldOtherwise):
        assert offer.asked != offer.held
        return
    if isinstance(offer, NothingToShare):
        check_budget(world, offer.resource, offer.budget, offer.used)
        return
    assert not accepted
    if isinstance(offer, HeldAcross):
        assert _held(world, needs)
        check_places(offer.places, world.all_that_fit(needs))
    elif isinstance(offer, NeedsSeveral):
        check_places(offer.places, world.all_that_fit(needs))
        assert single
        for numa in world.numa:
            assert any(world.empty_amount(resource, frozenset((numa,))) < need for resource, need in needs.items())
        _check_most(world, offer.most, 1)
    elif isinstance(offer, FreeOnlyAcross):
        check_places(offer.places, world.all_that_fit(needs))
        assert offer.fewest == world.fewest_when_empty(needs) < offer.places.width
        _check_most(world, offer.most, offer.fewest)
        assert bits(offer.grouped) == _grouped(world, needs)
    elif isinstance(offer, NeverNearer):
        check_places(offer.places, world.all_that_fit(needs))
        assert offer.places.width == world.fewest_when_empty(needs) > (world.width_by_count(needs) or 99)
        # what the text blames must be there
        assert world.reserved if "cpu" in needs else not is_bytes(next(iter(needs)))
    elif isinstance(offer, TooMuch):
        for resource, free in offer.free.items():
            assert free == world.everything(resource) < needs[resource]
            if resource == "cpu" or is_bytes(resource):
                assert (offer.healthy, offer.unhealthy, offer.plugin) == (None, 0, True)
                continue
            device = world.ledger.device
            healthy = device.healthy.get(resource, frozenset())
            assert offer.healthy == len(healthy)
            assert offer.unhealthy == sum(1 for name in device.devices.get(resource, {}) if name not in healthy)
            assert offer.plugin == (resource in device.connected)
    elif isinstance(offer, LeftNowhere):
        ((resource, _),) = needs.items()
        known = world.ledger.device.devices[resource]
        left = {each for each in world.reused_devices(resource) if each in known and known[each].numa is not None}
        nowhere = {each for each in left if not world.numa_of(resource, each) & set(world.numa)}
        assert set(offer.devices) == nowhere != set()
    else:
        assert isinstance(offer, FewPlaced), offer
        ((resource, need),) = needs.items()
        there = set(world.numa)
        placed = sum(1 for device in world.devices(resource) if world.numa_of(resource, device) & there)
        assert (offer.free, offer.placed) == (len(world.devices(resource)), placed)
        assert offer.free >= need > offer.placed


def _held(world: World, needs: Iterable[str]) -> bool:
    found = []
    for resource in needs:
        if resource == "cpu":
            found.append(world.cpus_held())
        else:
            found.append(world.memory_held() if is_bytes(resource) else bool(world.own_devices(resource)))
    return all(found)


def _grouped(world: World, needs: Mapping[str, int]) -> set[int]:
    if not all(is_bytes(resource) for resource in needs):
        return set()
    found = set()
    for numa, state in world.ledger.memory.nodes.items():
        here = frozenset((numa,))
        if len(state.cells) > 1 and all(world.amount(resource, here) >= need for resource, need in needs.items()):
            found.add(numa)
    return found


def _check_most(world: World, most: Mapping[str, int], width: int) -> None:
    for resource, amount in most.items():
        sets = [frozenset(each) for each in combinations(world.numa, width)]
        if is_bytes(resource):
            sets = [each for each in sets if each <= set(world.ledger.memory.nodes) and not world.barred(each)]
        assert amount == max([world.amount(resource, each) for each in sets], default=0)


def check_places(places: Places, sets: set[Nodes]) -> None:
    assert sets
    width = min(len(each) for each in sets)
    narrow = {each for each in sets if len(each) == width}
    union = frozenset().union(*narrow)
    assert (places.width, bits(places.nodes), places.number) == (width, union, len(narrow))
    assert places.every == (len(narrow) == comb(len(union), width))
    assert len(set(places.listed)) == len(places.listed) == min(MOST_LISTED, len(narrow))
    assert {bits(mask) for mask in places.listed} <= narrow
    assert places.wider == (len(narrow) < len(sets))
