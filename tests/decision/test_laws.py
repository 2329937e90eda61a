"""What must hold on every node, whatever comes and goes."""

from collections.abc import Iterator, Sequence
from copy import deepcopy

from hypothesis import given
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decision import Decision
from numafit.decision.files import state_files
from numafit.decision.life import reconcile, release, start_containers
from numafit.decision.node import Node
from numafit.decision.start import again, start
from numafit.ledger.ledger import Ledger, MemoryLedger
from numafit.managers.device.manager import without_stale
from numafit.managers.protocol import TOPOLOGY_AFFINITY, Choices
from numafit.workload.pod import Pod
from tests.decision.strategies import CALM, OFTEN, Ordered, Step, histories, nodes, pods, running

EXACT = nodes(
    versions=("1.20.1", "1.32.13", "1.34.11", "1.36.4"), policies=("none", "single-numa-node"), preferences=CALM
)
"""Where memory groups never overlap. Before 1.32 they may; best-effort and restricted may put a container on one node
of a group, and then what each gives back depends on the other (all releases)."""


def play(node: Node, ledger: Ledger, history: Sequence[Step]) -> Iterator[Decision]:
    """Pods come and go; a crash ends it."""
    for step in history:
        active = list(ledger.active)
        if step.leaves and active:
            ledger = release(ledger, active[step.leaves % len(active)])
        decision = admit(node, ledger, step.pod)
        yield decision
        if decision.panic:
            return
        ledger = start_containers(node, decision.ledger, step.pod.uid)[0] if decision.admitted else decision.ledger


def played(ordered: Ordered, history: Sequence[Step]) -> tuple[Node, Ledger]:
    """A node after a history."""
    node, ledger = begun(ordered)
    for decision in play(node, ledger, history):
        ledger = decision.ledger
    return node, ledger


def begun(ordered: Ordered) -> tuple[Node, Ledger]:
    return running(ordered.machine, ordered.settings, ordered.plugins)


def cleaned(node: Node, ledger: Ledger) -> Ledger:
    """Every manager has removed stale state, and no pod is remembered as pending (1.22.1 to 1.31)."""
    ledger = replace(ledger, cpu=replace(ledger.cpu, pending=None), memory=replace(ledger.memory, pending=None))
    ledger = without_stale(reconcile(node, ledger))
    return ledger if node.memory is None else node.memory.without_stale(ledger, Choices())


def sums(memory: MemoryLedger) -> object:
    """Assignments and groups node by node; bytes only as sums over a group, for inside one they may drift."""
    groups: dict[tuple[tuple[int, ...], str], tuple[int, int]] = {}
    for node in memory.nodes.values():
        for name, table in node.tables.items():
            free, reserved = groups.get((node.cells, name), (0, 0))
            groups[node.cells, name] = free + table.free, reserved + table.reserved
    return [(i, node.assignments, node.cells) for i, node in memory.nodes.items()], groups


def holdings(ledger: Ledger) -> object:
    """What pods hold and what is free, without what is only remembered."""
    device = ledger.device
    return (
        (ledger.cpu.default, ledger.cpu.entries),
        (sums(ledger.memory), ledger.memory.entries),
        (device.held, {resource: ids for resource, ids in device.allocated.items() if ids}),
        (ledger.active, ledger.affinity),
    )


def lasting(ordered: Ordered, pod: Pod) -> set[str]:
    """The containers of a pod that run at the same time, and so may share nothing."""
    sidecars = ordered.settings.behaviour.sidecars
    return {each.name for each in pod.containers} | {
        each.name for each in pod.init_containers if each.restartable and sidecars
    }


@given(nodes(), histories())
def test_no_cpu_is_held_twice(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """Not by two pods, nor by two containers that run at a time, nor by a pod and the shared pool, and never a
    reserved one; and none is lost (1.20 to 1.36)."""
    node, ledger = begun(ordered)
    everything = ledger.cpu.default
    running_together = {step.pod.uid: lasting(ordered, step.pod) for step in history}
    for decision in play(node, ledger, history):
        taken = 0
        for uid, containers in decision.ledger.cpu.entries.items():
            own = together = 0
            for name, cpus in containers.items():
                own |= cpus
                if name in running_together[uid]:
                    assert cpus & together == 0
                    together |= cpus
            assert own & (taken | decision.ledger.cpu.default | node.cpu.reserved) == 0
            taken |= own
        assert taken | decision.ledger.cpu.default == everything


@given(nodes(preferences=CALM), histories(devices=OFTEN))
def test_no_device_is_held_twice(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """Not by two pods, nor by two containers that run at a time; and what is held is out of what is free."""
    node, ledger = begun(ordered)
    running_together = {step.pod.uid: lasting(ordered, step.pod) for step in history}
    for decision in play(node, ledger, history):
        device = decision.ledger.device
        holders: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for uid, containers in device.held.items():
            for name, resources in containers.items():
                holder = (uid, name if name in running_together[uid] else "")
                for resource, held in resources.items():
                    assert held.ids <= device.allocated[resource]
                    for each in held.ids:
                        holders.setdefault((resource, each), set()).add(holder)
        for pairs in holders.values():
            assert len({uid for uid, _ in pairs}) == 1
            assert len([name for _, name in pairs if name]) <= 1


@given(nodes(), histories())
def test_no_byte_is_given_beyond_what_is_allocatable(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """On each NUMA node free and reserved bytes make up the allocatable ones (1.21 to 1.36)."""
    node, ledger = begun(ordered)
    for decision in play(node, ledger, history):
        tables = [table for each in decision.ledger.memory.nodes.values() for table in each.tables.values()]
        assert [table.free + table.reserved for table in tables] == [table.allocatable for table in tables]
        assert all(table.free >= 0 and table.reserved >= 0 for table in tables)


@given(EXACT, histories())
def test_the_blocks_of_the_containers_add_up_to_the_bytes_taken(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """Over all nodes and per type; what containers reuse of init containers, these no longer hold (1.32 and later)."""
    node, ledger = begun(ordered)
    for decision in play(node, ledger, history):
        memory = decision.ledger.memory
        held: dict[str, int] = {}
        for containers in memory.entries.values():
            for block in (block for blocks in containers.values() for block in blocks):
                held[block.type] = held.get(block.type, 0) + block.size
        taken: dict[str, int] = {}
        for each in memory.nodes.values():
            for name, table in each.tables.items():
                taken[name] = taken.get(name, 0) + table.reserved
        assert taken == {name: held.get(name, 0) for name in taken}


@given(EXACT, histories(3), pods("guest", OFTEN))
def test_a_pod_that_comes_and_goes_leaves_nothing(ordered: Ordered, history: tuple[Step, ...], guest: Pod) -> None:
    """Admit, release and the removal of stale state give back every CPU, byte and device; a rejected pod's leftovers
    vanish in the same way."""
    node, ledger = played(ordered, history)
    before = cleaned(node, ledger)
    decision = admit(node, before, guest)
    if not decision.panic:
        assert holdings(cleaned(node, release(decision.ledger, guest.uid))) == holdings(before)


@given(EXACT, histories(4))
def test_a_node_without_pods_is_as_it_was_at_the_start(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """When the last pod is gone, the shared pool, the memory of each node and the free devices are complete again."""
    node, ledger = played(ordered, history)
    for uid in list(ledger.active):
        ledger = release(ledger, uid)
    assert holdings(cleaned(node, ledger)) == holdings(begun(ordered)[1])


@given(EXACT, histories(4))
def test_state_files_survive_a_start_byte_for_byte(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """Written, read at a start, and written again from what was read (1.20, 1.32 and later)."""
    node, ledger = played(ordered, history)
    files = state_files(node, ledger)
    known = start(again(node, files, active={}))
    read = known.restored
    read = replace(read, cpu=replace(read.cpu, file=None), memory=replace(read.memory, file=None))
    assert state_files(node, known.ledger) == files


@given(nodes(), histories(3), pods("guest"))
def test_admitting_changes_nothing_but_what_it_returns(ordered: Ordered, history: tuple[Step, ...], guest: Pod) -> None:
    """The ledger given stays as it was, and the same question gets the same answer."""
    node, ledger = played(ordered, history)
    before = deepcopy(ledger)
    first = admit(node, ledger, guest)
    assert ledger == before
    assert admit(node, ledger, guest) == first


@given(nodes(policies=("none", "best-effort")), histories())
def test_policies_none_and_best_effort_never_reject_for_topology(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """They admit every merged hint; an allocation may still fail (1.20 to 1.36)."""
    node, ledger = begun(ordered)
    for decision in play(node, ledger, history):
        assert decision.reason != TOPOLOGY_AFFINITY
        assert all(step.admit for step in decision.merges or ())


@given(nodes(), histories())
def test_a_decision_says_yes_or_gives_a_reason(ordered: Ordered, history: tuple[Step, ...]) -> None:
    """Exactly one of: admitted and active, rejected with reason and message, or a crash."""
    node, ledger = begun(ordered)
    for decision in play(node, ledger, history):
        rejected = bool(decision.reason and decision.message)
        assert [decision.admitted, rejected, bool(decision.panic)].count(True) == 1
        assert (decision.pod.uid in decision.ledger.active) == decision.admitted
