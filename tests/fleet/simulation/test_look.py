"""How a fleet stands at some moments: sums over nodes, of which those in equal states are looked at once."""

from numafit.decision.decide import decide
from numafit.fleet.look.usage import usage_of
from numafit.fleet.simulation.large import large_pod
from numafit.fleet.simulation.look import FleetLooker
from numafit.fleet.simulation.outcome import FleetMoment
from numafit.fleet.simulation.run import fleet_of
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.state import NodeState, state_of
from numafit.quantity import parse_quantity
from tests.fleet.fleets import ALLOCATABLE, GI, GPU, pod
from tests.fleet.simulation.nodes import idle, named

LARGE = large_pod("1 GPU", {"cpu": parse_quantity("4"), "memory": parse_quantity("1Gi"), GPU: parse_quantity("1")})


def holding(*pods: tuple[str, int]) -> NodeState:
    """(CPUs, GPUs)"""
    state = idle("restricted")
    ledger = state.ledger
    for number, (cpus, gpus) in enumerate(pods):
        decision = decide(state.node, ledger, pod(f"p{number}", cpus, gpus=gpus), ALLOCATABLE, evicts=False)
        assert decision.admitted
        ledger = decision.ledger
    return state_of("restricted-2", state.node, ledger, ALLOCATABLE)


def moment(nodes: dict[str, NodeState]) -> FleetMoment:
    looker = FleetLooker([LARGE], SchedulerView())
    looker.look(fleet_of(nodes), 5.0, 3, 4)
    return looker.moments[0]


def test_what_is_stranded_is_summed_over_all_nodes_whether_equal_or_not() -> None:
    """All 7 CPUs of a NUMA node are held, and its two GPUs are free; on another node the two GPUs are held, and the
    CPUs are free."""
    no_cpus, no_gpus, bare = holding(("7", 0)), holding(("1", 2)), idle("restricted")
    assert no_cpus.key != no_gpus.key
    states = [no_cpus] * 3 + [no_gpus] * 2 + [bare]
    found = moment({f"n{number}": state for number, state in enumerate(states)})
    usages = [usage_of(state) for state in states]
    assert found.stranded_gpus == sum(own.gpus.stranded for own in usages) == 3 * 2
    assert found.stranded_cpus == sum(own.cpus.stranded for own in usages) > 0
    assert found.stranded_memory == sum(own.memory.stranded for own in usages) >= 3 * 14 * GI
    assert (found.largest, found.largest_gpus) == (8, 2)
    assert (found.at, found.waiting, found.rejections) == (5.0, 3, 4)


def test_large_pods_and_what_is_asked_for_are_counted_over_all_nodes() -> None:
    """Two of four CPUs and a GPU fit each idle node; one that holds 7 of the 15 CPUs takes one less."""
    one = moment(named(1, idle("restricted")))
    many = moment({**named(4, idle("restricted")), "x": holding(("7", 1))})
    assert many.large == (4 * one.large[0] + moment({"x": holding(("7", 1))}).large[0],)
    assert (one.used_cpus, one.used_devices) == (0.0, 0.0)
    assert (many.used_cpus, many.used_devices) == (7 / (5 * 15), 1 / (5 * 4))


def test_what_is_left_is_a_mean_over_moments() -> None:
    looker = FleetLooker([LARGE], SchedulerView())
    full = holding(("7", 2), ("8", 2))
    for nodes in (named(1, idle("restricted")), named(1, full)):
        looker.look(fleet_of(nodes), 0.0, 0, 0)
    first = looker.moments[0].large[0]
    (left,) = looker.left()
    assert looker.moments[1].large == (0,)
    assert (left.mean, left.least, left.none) == (first / 2, 0, 0.5)
