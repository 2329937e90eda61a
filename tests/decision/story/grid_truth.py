"""Whether the rows of a story are so: what each NUMA node has, and who holds it."""

from numafit.decision.story.grid import Row
from numafit.decision.story.story import Chapter
from tests.decision.story.world import Nodes, World, bits, is_bytes, needs_of


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
