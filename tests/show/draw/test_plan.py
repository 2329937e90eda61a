"""A machine sorted for drawing."""

from hypothesis import given

from numafit.bits import mask_of
from numafit.machine.model import Cache, Cpu, Device, Link, Machine, NumaNode
from numafit.show.draw.plan import plan_of
from tests.machine.strategies import any_machines
from tests.show.draw.boxes import few


@few
@given(machine=any_machines())
def test_each_cpu_node_and_device_has_one_place(machine: Machine) -> None:
    """Nothing is lost and nothing is drawn twice; offline CPUs and MIG slices are counted."""
    plan = plan_of(machine)
    nodes = [node for package in plan.packages for node in package.nodes]
    drawn = sorted(cpu for node in nodes for cpu in node.cpus)
    assert sorted([*drawn, *plan.offline]) == sorted(cpu.id for cpu in machine.cpus)
    ids = [node.numa.id for node in (*nodes, *plan.memory_nodes)]
    assert len(ids) == len(set(ids))
    assert {node.id for node in machine.numa_nodes} <= set(ids)
    bundles = [bundle for node in (*nodes, *plan.memory_nodes) for bundle in node.bundles] + list(plan.unplaced)
    devices = sum(len(bundle.devices) for bundle in bundles)
    assert devices + sum(plan.slices.values()) == len(machine.devices)


def test_cores_part_at_the_highest_cache_that_is_smaller_than_the_node() -> None:
    """An L3 over the whole node is the node's; two L2 of two cores each make two groups."""
    cpus = tuple(Cpu(i, i, 0, 0) for i in range(4))
    caches = (
        Cache(3, "unified", 8 << 20, mask_of(range(4))),
        Cache(2, "unified", 1 << 20, mask_of((0, 1))),
        Cache(2, "unified", 1 << 20, mask_of((2, 3))),
        *(Cache(1, "data", 32 << 10, 1 << i) for i in range(4)),
    )
    node = plan_of(Machine(cpus, (NumaNode(0),), caches=caches)).packages[0].nodes[0]
    assert node.caches == ("L3 8Mi",)
    assert [(group.label, [core.id for core in group.cores]) for group in node.groups] == [
        ("L2 1Mi", [0, 1]),
        ("L2 1Mi", [2, 3]),
    ]


def test_uncore_caches_group_cores_when_no_size_is_known() -> None:
    """cAdvisor tells their ids only."""
    cpus = tuple(Cpu(i, i, 0, 0, i // 2) for i in range(4))
    groups = plan_of(Machine(cpus, (NumaNode(0),))).packages[0].nodes[0].groups
    assert [group.label for group in groups] == ["uncore cache 0", "uncore cache 1"]


def test_a_cache_over_several_nodes_belongs_to_the_package() -> None:
    """Sub-NUMA clustering: one L3 per socket, two nodes in it."""
    cpus = tuple(Cpu(i, i, 0, i // 2) for i in range(4))
    caches = (Cache(3, "unified", 8 << 20, mask_of(range(4))),)
    package = plan_of(Machine(cpus, (NumaNode(0), NumaNode(1)), caches=caches)).packages[0]
    assert package.caches == ("L3 8Mi",)
    assert [node.caches for node in package.nodes] == [(), ()]


def test_devices_of_one_switch_or_pix_link_are_one_bundle() -> None:
    """Either way of telling joins them, also over a third."""
    devices = (
        Device("", "a", (0,), switch="s"),
        Device("", "b", (0,)),
        Device("", "c", (0,), switch="s"),
        Device("", "d", (0,)),
    )
    machine = Machine(numa_nodes=(NumaNode(0),), devices=devices, links=(Link("b", "c", "PIX"), Link("a", "d", "PXB")))
    bundles = plan_of(machine).memory_nodes[0].bundles
    assert [[device.id for device in bundle.devices] for bundle in bundles] == [["a", "b", "c"], ["d"]]
