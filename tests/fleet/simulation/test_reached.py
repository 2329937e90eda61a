"""How near to each other it is what pods were given."""

from collections.abc import Mapping

from msgspec.structs import replace

from numafit.cluster.plan.planned import idle_state
from numafit.cluster.sim.file import SimulatedGroup
from numafit.cluster.sim.node_object import NodeMark
from numafit.cluster.sim.table import usual_config
from numafit.decision.decision import Decision, Placement
from numafit.decision.node import Node
from numafit.fleet.simulation.outcome import Alignment
from numafit.fleet.simulation.reached import AlignmentCounter
from numafit.ledger.block import Block
from numafit.ledger.ledger import Ledger
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Machine
from numafit.machine.sketch.line import read_sketch
from numafit.settings.versions import DEFAULT_VERSION
from tests.fleet.fleets import pod

DGX = machine_named("dgx-h100")
"""Two NUMA nodes at a distance of 21, four GPUs each, all behind NVSwitch; CPUs 0 to 55 are on the first."""
NEAR, FAR = 1 << 1, 1 << 60
GPU, NIC = "nvidia.com/gpu", "example.com/nic"
Devices = Mapping[str, tuple[int, ...]]


def node_of(machine: Machine) -> Node:
    group = SimulatedGroup("x", None, machine, usual_config(machine), DEFAULT_VERSION, NodeMark())
    return idle_state(group).node


def gpus(*numbers: int) -> Devices:
    return {f"GPU{number}": (number // 4,) for number in numbers}


def given(cpus: int | None = None, memory: tuple[tuple[int, ...], ...] = (), **devices: Devices) -> Placement:
    """`memory`: the NUMA nodes of each block."""
    blocks = tuple(Block(numa, "memory", 1 << 30) for numa in memory) or None
    named = {"gpu": GPU, "nic": NIC}
    return Placement((None, True), cpus, blocks, {named[kind]: own for kind, own in devices.items()})


def found(*containers: Placement, machine: Machine = DGX) -> Alignment:
    counter, node = AlignmentCounter(), node_of(machine)
    for number, own in enumerate(containers):
        counter.admitted("x", node, Decision(pod(str(number)), "Guaranteed", True, Ledger(), containers={"a": own}))
    return counter.found()


def test_memory_is_near_where_all_of_it_is_at_the_cpus() -> None:
    """One that has no CPUs to itself, or no memory that is pinned, is not asked."""
    told = found(
        given(NEAR, ((0,),)),
        given(NEAR, ((0,), (1,))),
        given(NEAR, ((0, 1),)),
        given(NEAR | FAR, ((0, 1),)),
        given(FAR, ((0,),)),
        given(NEAR),
        given(None, ((0,),)),
    )
    assert (told.cpus, told.cpus_together) == (6, 5)
    assert (told.memory, told.memory_near) == (5, 2)


def test_devices_are_as_far_as_the_machine_tells() -> None:
    """The mean over a container's devices, then over containers; one that sits nowhere does not count."""
    assert found(given(NEAR, gpu=gpus(0))).device_distance == 10.0
    assert found(given(NEAR, gpu=gpus(4))).device_distance == 21.0
    told = found(given(NEAR, gpu=gpus(0, 4)), given(FAR, gpu=gpus(4)), given(NEAR, nic={"n": ()}), given(NEAR))
    assert (told.devices, told.devices_near, told.device_distance) == (2, 1, (15.5 + 10.0) / 2)


def test_the_nearest_pair_counts_where_cpus_or_a_device_are_on_several_numa_nodes() -> None:
    told = found(given(NEAR | FAR, gpu=gpus(4)), given(FAR, nic={"n": (0, 1)}))
    assert (told.devices, told.devices_near, told.device_distance) == (2, 2, 10.0)


def test_without_distances_the_next_numa_node_is_at_20() -> None:
    """As Linux has it where the firmware says nothing."""
    machine = read_sketch("2 sockets x 4 cores, 16Gi per numa")
    bare = replace(machine, numa_nodes=tuple(replace(own, distances=None) for own in machine.numa_nodes))
    # Firmware may name a NUMA node of a device that has no CPUs and no memory.
    for node, distance in ((0, 10.0), (1, 20.0), (7, 20.0)):
        told = found(given(1 << 1, nic={"n": (node,)}), machine=bare if node < 2 else machine)
        assert told.device_distance == distance


def test_gpus_are_linked_as_well_as_the_best_set_of_as_many() -> None:
    """Behind NVSwitch NVIDIA's plugin sees the way over PCIe: 20 within a NUMA node, 10 across. The best four are on
    one NUMA node, with 6 pairs of 20; two and two have 2 pairs of 20 and 4 of 10."""
    assert found(given(gpu=gpus(0, 1))).link_quality == 1.0
    assert found(given(gpu=gpus(3, 4))).link_quality == 0.5
    assert found(given(gpu=gpus(4, 5, 6, 7))).link_quality == 1.0
    assert found(given(gpu=gpus(0, 1, 4, 5))).link_quality == 80 / 120
    told = found(given(NEAR, gpu=gpus(0, 1)), given(NEAR, gpu=gpus(0, 4)), given(NEAR, gpu=gpus(0)), given(NEAR))
    assert (told.gpu_sets, told.link_quality) == (2, 0.75)


def test_what_is_no_set_of_gpus_is_not_asked_for_its_links() -> None:
    told = found(given(NEAR, gpu=gpus(0), nic={"n": (0,), "m": (1,)}), given(NEAR, nic={"n": (0,), "m": (1,)}))
    assert (told.gpu_sets, told.link_quality) == (0, None)


def test_where_nothing_was_given_nothing_is_told() -> None:
    nothing = Alignment(cpus=0, cpus_together=0, memory=0, memory_near=0, devices=0, devices_near=0)
    assert found() == nothing
    assert found(given()) == nothing
