"""What a pod takes of a node's room for large ones, and which node is chosen by that."""

from collections.abc import Collection, Mapping

import pytest
from msgspec.structs import replace

from numafit.decision.start import Start, start
from numafit.fleet.fleet import Fleet
from numafit.fleet.places import places
from numafit.fleet.room import freedom_of, room_of
from numafit.fleet.state import NodeState, state_of
from numafit.fleet.verdicts import VerdictMemory, tried
from numafit.machine.model import Cpu, Device, Link, Machine, NumaNode
from numafit.quantity import parse_quantity
from numafit.settings.gates import default_gates
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.versions import KubeVersion
from numafit.workload.pod import Container, Pod
from tests.fleet.fleets import GI, GPU, pod
from tests.fleet.simulation.nodes import idle

MI = 1 << 20
PAGES = "hugepages-2Mi"
ALLOCATABLE = {
    "cpu": parse_quantity("16"),
    "memory": parse_quantity("28Gi"),
    PAGES: parse_quantity("4Gi"),
    GPU: parse_quantity("4"),
    "pods": parse_quantity("110"),
}


def four_nodes(links: bool = True) -> NodeState:
    """Four NUMA nodes on two sockets, each with 4 CPUs, 8 GiB and 1 GiB of huge pages beside; four GPUs on no NUMA node
    that anybody knows, of which the first two are linked, and the last two."""
    cpus = tuple(Cpu(id=own, core=own, socket=own // 8, numa=own // 4) for own in range(16))
    nodes = tuple(NumaNode(own, 9 * GI, {2 * MI: 512}, (10,) * own + (10,) * (4 - own)) for own in range(4))
    gpus = tuple(Device(GPU, f"gpu-{own}", kind="gpu") for own in range(4))
    joined = (Link("gpu-0", "gpu-1", "NV4"), Link("gpu-2", "gpu-3", "NV4")) if links else ()
    version, reserved = KubeVersion(1, 36, 0), parse_quantity("1Gi")
    settings = Settings(
        version=version,
        cpu_policy="static",
        memory_policy="Static",
        reserved_memory=(ReservedMemory(3, {"memory": reserved}),),
        topology_policy="best-effort",
        gates=default_gates(version),
        reservation={"cpu": parse_quantity("1"), "memory": reserved},
    )
    machine = Machine(cpus=cpus, numa_nodes=nodes, devices=gpus, links=joined)
    known = start(Start(machine=machine, settings=settings))
    return state_of(f"four-{links}", known.node, known.ledger, ALLOCATABLE)


def with_taken(
    state: NodeState, cpus: Collection[int] = (), gpus: Collection[int] = (), pages: Mapping[int, int] | None = None
) -> NodeState:
    """These are held, by nobody: CPUs, GPUs, and halves of the huge pages of NUMA nodes."""
    ledger = state.ledger
    taken = sum(1 << own for own in cpus)
    held = {GPU: frozenset(f"gpu-{own}" for own in gpus)}
    nodes = dict(ledger.memory.nodes)
    for numa, part in (pages or {}).items():
        table = nodes[numa].tables[PAGES]
        table = replace(table, free=table.free - part * GI // 2, reserved=part * GI // 2)
        nodes[numa] = replace(nodes[numa], tables={**nodes[numa].tables, PAGES: table})
    after = replace(
        ledger,
        cpu=replace(ledger.cpu, default=ledger.cpu.default & ~taken),
        device=replace(ledger.device, allocated={**ledger.device.allocated, **held}),
        memory=replace(ledger.memory, nodes=nodes),
    )
    return state_of(state.kind, state.node, after, ALLOCATABLE)


def chosen(state_a: NodeState, state_b: NodeState, own: Pod) -> str:
    """The first of two nodes; where they lose alike, `a`."""
    fleet = Fleet().reported("a", state_a).reported("b", state_b)
    return places(fleet, own, VerdictMemory()).places[0].node


def test_a_pod_without_cpus_of_its_own_takes_room_of_the_node_as_a_whole() -> None:
    """It is on no NUMA node, and a large pod that wants the whole node does not fit beside it."""
    state = idle("restricted")
    _, after = tried(state, pod("shared", "3500m", "4Gi", limits=False))
    assert after is not None
    assert after.ledger.cpu.default == state.ledger.cpu.default
    assert room_of(after) < room_of(state)
    assert freedom_of(after)["cpu"] < freedom_of(state)["cpu"]


def test_a_whole_socket_is_worth_more_than_two_halves() -> None:
    """As many NUMA nodes are taken, of one socket and of two."""
    state = four_nodes()
    assert room_of(with_taken(state, cpus=range(8, 16))) > room_of(with_taken(state, cpus=range(4, 12)))


def test_a_pod_goes_where_the_socket_is_broken_already() -> None:
    """It takes what is left of NUMA node 0 on both; the other NUMA node of that socket is free on `whole` only, and as
    many CPUs are in all."""
    whole, broken = with_taken(four_nodes(), cpus=range(8, 12)), with_taken(four_nodes(), cpus=range(4, 8))
    assert chosen(whole, broken, pod("small", "3", "1Gi")) == "b"
    assert chosen(broken, whole, pod("small", "3", "1Gi")) == "a"


def test_a_linked_set_of_gpus_is_worth_more_than_two_halves() -> None:
    set_left, halves = with_taken(four_nodes(), gpus=(0, 1)), with_taken(four_nodes(), gpus=(0, 2))
    assert room_of(set_left) > room_of(halves)
    unlinked = four_nodes(links=False)
    assert room_of(with_taken(unlinked, gpus=(0, 1))) == room_of(with_taken(unlinked, gpus=(0, 2)))


def test_a_pod_with_a_gpu_goes_where_a_linked_set_is_broken_already() -> None:
    """As many GPUs are free on both."""
    own = pod("one", "2", "1Gi", gpus=1)
    set_left, halves = with_taken(four_nodes(), gpus=(0, 1)), with_taken(four_nodes(), gpus=(0, 2))
    assert chosen(set_left, halves, own) == "b"
    unlinked = four_nodes(links=False)
    # Without links they lose alike, and the name decides.
    assert chosen(with_taken(unlinked, gpus=(0, 1)), with_taken(unlinked, gpus=(0, 2)), own) == "a"


def test_huge_pages_of_a_whole_numa_node_are_worth_more_than_halves_of_two() -> None:
    state = four_nodes()
    assert room_of(with_taken(state, pages={0: 2})) > room_of(with_taken(state, pages={0: 1, 1: 1}))
    assert room_of(with_taken(state, pages={0: 1})) < room_of(state)


@pytest.mark.parametrize("whole_first", [True, False])
def test_a_pod_with_huge_pages_goes_where_those_of_its_numa_node_are_broken_already(whole_first: bool) -> None:
    amounts = {name: parse_quantity(text) for name, text in (("cpu", "3"), ("memory", "1Gi"), (PAGES, "512Mi"))}
    own = Pod("huge", "huge", (Container("app", amounts, amounts),))
    # The CPUs of NUMA node 0 alone are left on both, and as many huge pages as a whole.
    broken = with_taken(four_nodes(), cpus=range(4, 16), pages={0: 1})
    whole = with_taken(four_nodes(), cpus=range(4, 16), pages={1: 1})
    first, second = (whole, broken) if whole_first else (broken, whole)
    assert chosen(first, second, own) == ("b" if whole_first else "a")
