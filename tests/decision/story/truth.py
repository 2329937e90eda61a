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
from numafit.decision.story.grid import Row
from numafit.decision.story.story import Chapter, Story
from numafit.managers.ask import Ask, ask_of
from numafit.managers.refused import (
    BudgetUsedUp,
    CpusNotPicked,
    CpusShort,
    DeviceCountChanged,
    DevicesShort,
    HeldDevicesUnhealthy,
    MemoryGroups,
    MemoryNotPreferred,
    NoHealthyDevices,
    NoMemoryPlace,
    NoPlugin,
    NoWiderMemory,
    OddCpus,
    WholeCoresShort,
)
from tests.decision.evictions import check_victims, may_go, missing_of, still_missing
from tests.decision.story.world import Nodes, World, bits, is_bytes

# --- the cause -------------------------------------------------------------------------------------------------------


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
        _check_refused(World(node, ask, cause.container, decision.ledger), decision, cause)
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
        _check_crash(World(node, ask, cause.container, decision.ledger), cause)
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


def needs_of(ask: Ask, container: str) -> dict[str, int]:
    if container:
        return {"cpu": ask.cpus[container], **(ask.memory[container] or {}), **ask.devices[container]}
    return {"cpu": ask.pod_cpus, **(ask.pod_memory or {}), **ask.pod_devices}


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
        _check_budget(world, offer.resource, offer.budget, offer.used)
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


# --- what a manager refuses ------------------------------------------------------------------------------------------


def _check_refused(world: World, decision: Decision, refused: ManagerRefused) -> None:
    cause, ask, ledger = refused.cause, world.ask, world.ledger
    name = refused.container
    assert name == "" or name in decision.containers
    needs = needs_of(ask, name)
    if isinstance(cause, OddCpus | WholeCoresShort | CpusShort | CpusNotPicked):
        assert cause.cpus == needs["cpu"]
    if isinstance(cause, OddCpus | WholeCoresShort):
        assert world.node.cpu.options.full_pcpus_only
        assert cause.threads == len(world.cpu_numa) // len(world.cores)
    if isinstance(cause, OddCpus):
        assert cause.cpus % cause.threads
    elif isinstance(cause, WholeCoresShort):
        reserved = set().union(*[core for core in world.cores.values() if core & world.reserved])
        assert cause.free == len(bits(ledger.cpu.default) - reserved) < cause.cpus
    elif isinstance(cause, CpusShort | CpusNotPicked):
        free = bits(ledger.cpu.default) - world.reserved | (world.reused_cpus() if name else frozenset())
        if name or not isinstance(cause, CpusNotPicked):
            assert cause.free == len(free)
        assert (cause.free < cause.cpus) == isinstance(cause, CpusShort)
    elif isinstance(cause, BudgetUsedUp):
        _check_budget(world, cause.resource, cause.budget, cause.used)
    elif isinstance(cause, DevicesShort):
        free = len(world.free_devices(cause.resource) | world.reused_devices(cause.resource))
        assert cause.asked == needs[cause.resource]
        assert cause.free == free < cause.asked
    elif isinstance(cause, NoHealthyDevices):
        assert not ledger.device.healthy[cause.resource]
    elif isinstance(cause, HeldDevicesUnhealthy):
        assert cause.devices
        assert not set(cause.devices) & ledger.device.healthy[cause.resource]
        assert set(cause.devices) <= world.own_devices(cause.resource)
    elif isinstance(cause, NoPlugin):
        assert cause.resource not in ledger.device.healthy
    elif isinstance(cause, DeviceCountChanged):
        assert len(world.own_devices(cause.resource)) == cause.held != cause.asked
    else:
        _check_memory_refused(world, decision, refused)


def _check_budget(world: World, resource: str, budget: int, used: int) -> None:
    own = world.ask.pod.resources
    assert own is not None
    assert used >= budget
    sums = {0}
    for container in world.ask.pod.all_containers:
        if resource in container.requests:
            sums |= {each + container.requests[resource].value() for each in sums}
    assert used in sums
    assert budget == needs_of(world.ask, "")[resource]


def _check_memory_refused(world: World, decision: Decision, refused: ManagerRefused) -> None:
    cause = refused.cause
    if not isinstance(cause, NoMemoryPlace | NoWiderMemory | MemoryNotPreferred | MemoryGroups):
        return
    needs = dict(cause.needs)
    asked = needs_of(world.ask, refused.container)
    assert needs == {name: size for name, size in asked.items() if is_bytes(name)}
    fitting = world.all_that_fit(needs)
    if isinstance(cause, NoMemoryPlace):
        assert not fitting
        return
    where = bits(cause.nodes)
    hint = decision.merges[-1].best[0] if decision.merges else None
    assert not where or hint is None or cause.nodes == hint or isinstance(cause, MemoryGroups)
    if isinstance(cause, MemoryGroups):
        states = world.ledger.memory.nodes
        assert len(where) > 1
        assert any(states[i].assignments > 0 and frozenset(states[i].cells) != where for i in where)
        return
    if where:
        tables = [world.ledger.memory.nodes[i].tables for i in where]
        assert any(sum(table[name].free for table in tables) < need for name, need in needs.items())
    if isinstance(cause, NoWiderMemory):
        wider = [each for each in fitting if where < each]
        assert not wider or not world.node.settings.behaviour.memory_widens_down
    else:
        assert (decision.merges or ())[-1].best[1]


def _check_crash(world: World, crash: Crash) -> None:
    if crash.code == "page-size-missing":
        resource = crash.facts["resource"]
        # a sum over the pod leaves out what only init containers ask for
        asked = [world.ask.memory[name] or {} for name in world.ask.memory] + [world.ask.pod_memory or {}]
        assert any(resource in own for own in asked)
        assert any(resource not in state.tables for state in world.ledger.memory.nodes.values())
    elif crash.code == "device-vanished":
        assert crash.facts["device"] not in world.ledger.device.devices[crash.facts["resource"]]
    else:
        assert crash.code in ("pick-hangs", "no-plain-memory", "distances-short"), crash


# --- the grid --------------------------------------------------------------------------------------------------------


def check_grid(world: World, chapter: Chapter) -> None:
    asked = needs_of(world.ask, world.container)
    for row in chapter.grid:
        assert row.needed == asked[row.resource]
        assert [cell.numa for cell in row.cells] == _nodes_of(world, row.resource)
        if row.resource == "cpu":
            _check_cpu_row(world, row)
        elif is_bytes(row.resource):
            _check_memory_row(world, row)
        else:
            _check_device_row(world, row)


def _nodes_of(world: World, resource: str) -> list[int]:
    if resource == "cpu":
        return sorted(set(world.cpu_numa.values()))
    states = world.ledger.memory.nodes
    return sorted(i for i in states if resource in states[i].tables) if is_bytes(resource) else world.numa


def _name(world: World, uid: str) -> str:
    pod = world.ledger.active.get(uid)
    return uid if pod is None else pod.known_name


def _check_cpu_row(world: World, row: Row) -> None:
    ledger = world.ledger.cpu
    held: dict[str, set[int]] = {uid: set(bits(cpus)) for uid, cpus in ledger.pod_entries.items()}
    for uid, containers in ledger.entries.items():
        for cpus in containers.values():
            held.setdefault(uid, set()).update(bits(cpus))
    for cell in row.cells:
        here = {cpu for cpu, numa in world.cpu_numa.items() if numa == cell.numa}
        assert cell.free == len(here & bits(ledger.default) - world.reserved)
        assert cell.allocatable == len(here - world.reserved)
        assert cell.held == {_name(world, uid): len(own & here) for uid, own in held.items() if own & here}
        nodes = frozenset((cell.numa,))
        fits = world.fits({"cpu": row.needed}, nodes) if _count_unchanged(world) else False
        if fits and world.node.cpu.options.full_pcpus_only and not world.cpus_held():
            own = world.cpus() & here
            whole = [core for core in world.cores.values() if core <= own]
            fits = sum(len(core) for core in whole) >= row.needed
            fits = fits and row.needed % (len(world.cpu_numa) // len(world.cores)) == 0
            if world.node.settings.behaviour.physical_cpu_check:
                reserved = set().union(*[core for core in world.cores.values() if core & world.reserved])
                fits = fits and row.needed <= len(bits(ledger.default) - reserved)
        assert cell.fits == (fits and not _nothing_left(world))


def _count_unchanged(world: World) -> bool:
    """A container from before a restart that asks for another number fits nowhere."""
    own = world.own_cpus()
    names = [world.container] if world.container else list(world.ask.cpus)
    return all(len(own[name]) == world.ask.cpus[name] for name in names if name in own)


def _nothing_left(world: World) -> bool:
    """A pod that is managed as a whole must leave CPUs to its containers that ask for none."""
    ask = world.ask
    if world.container or ask.pod_level != "managed":
        return False
    used, shared = 0, False
    for each in ask.pod.all_containers:
        own = ask.cpus[each.name]
        if each in ask.pod.init_containers and not each.restartable:
            if own == 0 and used >= ask.pod_cpus:
                return True
            continue
        used, shared = used + own, shared or own == 0
    return shared and used >= ask.pod_cpus


def _check_memory_row(world: World, row: Row) -> None:
    memory = world.ledger.memory
    for cell in row.cells:
        table = memory.nodes[cell.numa].tables[row.resource]
        assert (cell.free, cell.allocatable) == (table.free, table.allocatable)
        nodes = frozenset((cell.numa,))
        assert cell.fits == (world.amount(row.resource, nodes) >= row.needed and not world.barred(nodes))
        alone: dict[str, int] = {}
        across: set[tuple[str, int, Nodes]] = set()
        for uid in {*memory.entries, *memory.pod_entries}:
            blocks = memory.pod_entries.get(uid) or [b for own in memory.entries.get(uid, {}).values() for b in own]
            sums: dict[Nodes, int] = {}
            for block in blocks:
                if block.type == row.resource and cell.numa in block.numa:
                    sums[frozenset(block.numa)] = sums.get(frozenset(block.numa), 0) + block.size
            for where, size in sums.items():
                if size and len(where) == 1:
                    alone[_name(world, uid)] = size
                elif size:
                    across.add((_name(world, uid), size, where))
        assert dict(cell.held) == alone
        assert {(each.pod, each.amount, frozenset(each.nodes)) for each in cell.across} == across


def _check_device_row(world: World, row: Row) -> None:
    ledger = world.ledger.device
    for cell in row.cells:
        here = {d for d in ledger.devices.get(row.resource, {}) if cell.numa in world.numa_of(row.resource, d)}
        healthy = ledger.healthy.get(row.resource, frozenset())
        assert cell.free == len(here & world.free_devices(row.resource))
        assert cell.allocatable == len(here & healthy)
        held = {}
        for uid, containers in ledger.held.items():
            ids = {each for own in containers.values() if row.resource in own for each in own[row.resource].ids}
            if ids & here:
                held[_name(world, uid)] = len(ids & here)
        assert dict(cell.held) == held
        own = world.own_devices(row.resource)
        nodes = frozenset((cell.numa,))
        expected = world.fits({row.resource: row.needed}, nodes) and (not own or len(own) == row.needed)
        assert cell.fits == (expected or not row.needed)
