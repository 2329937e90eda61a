"""Whether what a story says of a manager that refuses or crashes is so."""

from numafit.decision.decision import (
    Crash,
    Decision,
    ManagerRefused,
)
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
from tests.decision.story.world import World, bits, is_bytes, needs_of


def check_refused(world: World, decision: Decision, refused: ManagerRefused) -> None:
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
        check_budget(world, cause.resource, cause.budget, cause.used)
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


def check_budget(world: World, resource: str, budget: int, used: int) -> None:
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


def check_crash(world: World, crash: Crash) -> None:
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
