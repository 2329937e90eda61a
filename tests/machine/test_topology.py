"""The CPU topology that the kubelet makes of a machine."""

import pytest
from hypothesis import given

from numafit.bits import mask_of
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.machine.topology import Part, TopologyError, cpu_topology
from numafit.settings.versions import behaviour_of, parse_version
from tests.machine.shapes import machines, of_cores, regular

V120, V121, V131, V136 = (behaviour_of(parse_version(text)) for text in ("1.20", "1.21", "1.31", "1.36"))


def test_a_core_is_named_after_its_lowest_cpu() -> None:
    """Kubelet, all versions: the core id is the lowest CPU id among the threads, not what the operating system says."""
    topology = cpu_topology(regular(2, 2, 4, 2), V136)
    assert topology.cores == {0: mask_of([0, 4]), 1: mask_of([1, 5]), 2: mask_of([2, 6]), 3: mask_of([3, 7])}
    assert topology.cpu_core == {0: 0, 4: 0, 1: 1, 5: 1, 2: 2, 6: 2, 3: 3, 7: 3}


def test_cores_of_equal_number_in_two_numa_nodes_are_two_cores() -> None:
    """Kubelet, all versions: the operating system's core id is unique only within NUMA node and socket."""
    cpus = (Cpu(id=0, core=7, socket=0, numa=0), Cpu(id=1, core=7, socket=0, numa=1))
    topology = cpu_topology(Machine(cpus=cpus, numa_nodes=(NumaNode(id=0), NumaNode(id=1))), V136)
    assert topology.cores == {0: 0b01, 1: 0b10}


def test_quotients_round_down() -> None:
    """Kubelet, all versions: on a hybrid part of 3 CPUs and 2 cores there is one CPU per core."""
    topology = cpu_topology(of_cores((0, 0, 0, (0, 1)), (0, 0, 1, (2,))), V136)
    assert (topology.cpus_per_core, topology.cpus_per_socket, topology.cpus_per_uncore) == (1, 3, 1)
    assert topology.core_size == 0


def test_a_core_without_uncore_cache_counts_under_its_socket() -> None:
    """Kubelet 1.32 and later; before there are no uncore caches at all."""
    machine = regular(2, 2, 4)
    assert cpu_topology(machine, V136).uncore_caches == {0: 0b0011, 1: 0b1100}
    assert cpu_topology(machine, V131).uncore_caches == {}


def test_cpus_per_socket_divides_by_numa_nodes_in_1_20() -> None:
    """Kubelet 1.20 counts NUMA nodes, CPUs or not, where it says sockets; 1.21 counts sockets."""
    machine = regular(4, 2, 16)
    assert cpu_topology(machine, V120).cpus_per_socket == 4
    assert cpu_topology(machine, V121).cpus_per_socket == 8


def test_the_number_of_sockets_is_taken_from_the_source_if_it_states_one() -> None:
    """Kubelet 1.21 and later: /proc/cpuinfo decides, and with it which level stands above the other."""
    machine = regular(2, 2, 4)
    stated = Machine(cpus=machine.cpus, numa_nodes=machine.numa_nodes, sockets=1)
    assert cpu_topology(machine, V136).numa_first
    assert not cpu_topology(stated, V136).numa_first


def test_offline_cpus_and_nodes_without_cpus_do_not_count() -> None:
    """Kubelet, all versions: neither adds a CPU; a NUMA node without CPUs is no NUMA node of the CPU manager."""
    cpus = (Cpu(id=0, core=0, socket=0, numa=0), Cpu(id=1, core=1, socket=0, numa=1, online=False))
    topology = cpu_topology(Machine(cpus=cpus, numa_nodes=(NumaNode(id=0), NumaNode(id=1))), V136)
    assert (topology.cpus, topology.num_cpus, topology.num_numa_nodes) == (1, 1, 1)


def test_a_machine_without_cpus_is_refused() -> None:
    """Kubelet, all versions."""
    with pytest.raises(TopologyError, match=r"^could not detect number of cpus$"):
        cpu_topology(Machine(cpus=(), numa_nodes=(NumaNode(id=0),)), V136)


def test_a_cpu_that_stands_in_a_core_twice_is_refused() -> None:
    """Kubelet, all versions."""
    cpu = Cpu(id=0, core=0, socket=0, numa=0)
    with pytest.raises(TopologyError, match=r"^cpus provided are not unique$"):
        cpu_topology(Machine(cpus=(cpu, cpu), numa_nodes=(NumaNode(id=0),)), V136)


def test_a_socket_across_numa_nodes_is_a_part_of_both() -> None:
    """What lies in the parent is told apart from the whole."""
    topology = cpu_topology(of_cores((0, 0, 0, (0,)), (1, 0, 0, (1,))), V136)
    assert topology.numa_sockets == {0: (Part(0, 0b11, 0b01),), 1: (Part(0, 0b11, 0b10),)}


def test_cpus_are_found_by_numa_node_by_socket_and_by_core() -> None:
    """Ids that are not there give nothing, except that a sibling of an unknown CPU is an error (1.27 and later)."""
    topology = cpu_topology(regular(4, 2, 4, 2), V136)
    assert topology.cpus_of_numa_nodes(0b10001) == mask_of([0, 4])
    assert topology.cpus_of_sockets_at(0b0001) == mask_of([0, 1, 4, 5])
    assert topology.with_siblings(0b1) == mask_of([0, 4])
    with pytest.raises(TopologyError, match=r"^unknown CPU ID: 9$"):
        topology.with_siblings(1 << 9)


@given(machines())
def test_each_level_divides_the_cpus(machine: Machine) -> None:
    """Every CPU is in exactly one core, NUMA node, socket and uncore cache."""
    topology = cpu_topology(machine, V136)
    for level in (topology.cores, topology.numa_nodes, topology.sockets, topology.uncore_caches):
        assert sum(level.values()) == topology.cpus
        assert sum(cpus.bit_count() for cpus in level.values()) == topology.num_cpus
