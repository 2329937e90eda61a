"""What counts as lying together."""

from numafit.advice.alignment import crossing, floating, given_to, is_aligned
from numafit.advice.stage import Stage
from numafit.machine.model import Device
from tests.advice.stages import stage
from tests.decision.strategies import GI, GPU, box, container, cpus, memory, pod


def best_effort(scope: str = "container") -> Stage:
    return stage(topology_manager_policy="best-effort", topology_manager_scope=scope)


def test_a_container_that_needs_two_nodes_is_aligned_on_two() -> None:
    """9 CPUs on nodes of 8: nobody could do better."""
    on = best_effort()
    decision = on.decide(on.ledger, pod("a", container("app", {"cpu": "9", "memory": "20Gi"})))
    assert (given_to(on.node, decision)[0].nodes, is_aligned(on.node, decision)) == (0b11, True)


def test_reserved_cpus_do_not_count_as_room() -> None:
    """Each node has 8 CPUs; with 4 reserved on both, 5 lie rightly on two nodes."""
    on = stage(
        topology_manager_policy="best-effort",
        reserved_system_cpus="0-1,4-5,8-9,12-13",
        memory_manager_policy="None",
        reserved_memory=(),
    )
    decision = on.decide(on.ledger, pod("a", cpus("app", "5")))
    assert (given_to(on.node, decision)[0].nodes, crossing(on.node, decision)) == (0b11, ())


def test_the_unit_is_the_container_or_in_the_pod_scope_the_pod() -> None:
    two = pod("a", cpus("x", "6"), cpus("y", "6"))
    units = {}
    for scope in ("container", "pod"):
        on = best_effort(scope)
        units[scope] = [(unit.unit, unit.amounts["cpu"]) for unit in given_to(on.node, on.decide(on.ledger, two))]
    assert units == {"container": [("x", 6), ("y", 6)], "pod": [("", 12)]}


def test_a_device_between_two_nodes_is_near_to_both() -> None:
    """A device that names nodes 0 and 1 does not make a pod cross them."""
    on = stage(box(2, 8, 2, memory=16 * GI, devices=(Device(GPU, "between", (0, 1)),)))
    decision = on.decide(on.ledger, pod("a", cpus("app", "4", {GPU: "1"})))
    assert [unit.nodes.bit_count() for unit in given_to(on.node, decision)] == [1]


def test_only_whole_cpus_in_the_shared_pool_float() -> None:
    """Less than one CPU belongs there; and with the CPU policy none all CPUs are shared."""
    loose = pod("a", container("app", {"cpu": "1500m", "memory": "1Gi"}), memory("side", "1Gi"))
    on, off = stage(), stage(cpu_manager_policy="none")
    assert floating(on.node, on.decide(on.ledger, loose)) == ("app",)
    assert floating(off.node, off.decide(off.ledger, loose)) == ()
