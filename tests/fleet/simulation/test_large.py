"""Large pods that are looked for, and how many of them still fit."""

from numafit.fleet.simulation.large import RoomCounter, large_pod, large_pods
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.verdicts import tried
from numafit.quantity import parse_quantity
from tests.fleet.fleets import GPU, pod
from tests.fleet.simulation.nodes import idle


def test_they_are_made_for_the_node_with_most_devices() -> None:
    """Three quarters of the CPUs and the memory that are due to them; all devices of a node only where it may be."""
    found = large_pods([idle("restricted"), idle(gpus=1)])
    amounts = [(own.name, str(own.pod.containers[0].requests["cpu"])) for own in found]
    assert amounts == [("4 GPUs", "10"), ("2 GPUs", "4"), ("NUMA node", "4")]
    assert [own.name for own in large_pods([idle("single-numa-node")])] == ["2 GPUs", "NUMA node"]


def test_without_devices_a_numa_node_is_what_is_large() -> None:
    assert [own.name for own in large_pods([idle(gpus=0)])] == ["NUMA node"]


def test_without_nodes_there_are_none() -> None:
    assert large_pods([]) == ()


def test_a_node_is_filled_until_its_kubelet_refuses() -> None:
    """Two of four GPUs are free after the first, on both NUMA nodes: by sums one more would fit."""
    large = large_pod("2 GPUs", {"cpu": parse_quantity("2"), "memory": parse_quantity("1Gi"), GPU: parse_quantity("2")})
    counter = RoomCounter(large, SchedulerView())
    state = idle()
    assert counter.count(state) == 2
    for name in ("a", "b"):
        # The first takes a GPU of NUMA node 0; 7 CPUs then leave no room for the second beside it.
        state = tried(state, pod(name, "7", gpus=1))[1] or state
    assert len(state.ledger.active) == 2
    assert counter.count(state) == 0
