"""One change of a fleet, and the fleet with it."""

import pytest

from numafit.bits import cpuset_text
from numafit.cluster.plan.change import changed_nodes, other_count
from numafit.cluster.plan.planned import PlannedNodes, idle_state
from numafit.cluster.plan.words import KINDS, ChangeReaders, read_change
from numafit.decision.node import Node
from numafit.errors import InputError
from numafit.machine.sketch.line import read_sketch
from numafit.settings.read.loader import ConfigFile
from tests.cluster.plan.fleets import KUBELET, SKETCH, planned

BIG = "4 sockets x 8 cores x 2 threads, 32Gi per numa"
OTHER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 7"
READERS = ChangeReaders(lambda _: read_sketch(BIG), lambda name: ConfigFile(name, OTHER))


def node_with(text: str, nodes: PlannedNodes | None = None) -> Node:
    ((group, _), *_) = changed_nodes(nodes or planned(), read_change(text, READERS)).kinds
    return idle_state(group).node


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("policy=restricted/pod", ("restricted", "pod")),
        ("policy=none", ("none", "container")),
        ("scope=pod", ("single-numa-node", "pod")),
    ],
)
def test_the_topology_manager_gets_another_policy_or_scope(text: str, found: tuple[str, str]) -> None:
    settings = node_with(text).settings
    assert (settings.topology_policy, settings.topology_scope) == found


def test_an_option_comes_with_its_gate_and_goes_again() -> None:
    """`distribute-cpus-across-numa` is alpha until 1.33: its gate is off by itself."""
    old = planned(release="v1.30.0")
    node = node_with("cpu-option=distribute-cpus-across-numa", old)
    assert node.cpu.options.distribute_cpus_across_numa
    assert node.settings.gates["CPUManagerPolicyAlphaOptions"]
    full = planned(KUBELET[:-1] + ", cpuManagerPolicyOptions: {full-pcpus-only: 'true'}}")
    assert not node_with("cpu-option=full-pcpus-only=false", full).cpu.options.full_pcpus_only


def test_a_memory_manager_comes_with_the_reservation_that_it_wants() -> None:
    """What the kubelet reserves in all, here its eviction threshold, on the first NUMA node; without it it would not
    start."""
    node = node_with("memory-manager=Static")
    (reserved,) = node.settings.reserved_memory
    assert (reserved.numa_node, str(reserved.limits["memory"])) == (0, "100Mi")
    assert node.memory is not None
    assert node.memory.static


def test_a_static_cpu_manager_comes_with_reserved_cpus() -> None:
    node = node_with("cpu-manager=static", planned("{}"))
    assert node.cpu.static
    assert cpuset_text(node.cpu.reserved) == "0,8"


@pytest.mark.parametrize(
    ("text", "reserved"),
    [("reserved-cores=2", "0-1,8-9"), ("reserved-cores=1/numa", "0,4,8,12"), ("reserved-cpus=3", "3")],
)
def test_other_cpus_are_reserved(text: str, reserved: str) -> None:
    assert cpuset_text(node_with(text).cpu.reserved) == reserved


def test_another_number_of_numa_nodes_keeps_what_the_machine_has() -> None:
    """CPUs, memory, huge pages and devices in equal parts; as many cores are reserved as before."""
    fleet = planned(sketch=f"{SKETCH}, hugepages 1Gi 4")
    before, after = idle_state(fleet.kinds[0][0]).node, node_with("numa=4", fleet)
    assert [own.hugepages for own in after.machine.numa_nodes] == [{1 << 30: 2}] * 4
    assert len(after.machine.numa_nodes) == 4
    assert len(after.machine.cpus) == len(before.machine.cpus)
    assert sum(own.memory for own in after.machine.numa_nodes) == sum(own.memory for own in before.machine.numa_nodes)
    assert [own.numa for own in after.machine.devices] == [(0,), (1,), (2,), (3,)]
    assert after.cpu.reserved.bit_count() == before.cpu.reserved.bit_count()
    assert after.settings.topology_policy == "single-numa-node"


def test_another_machine_keeps_the_kubelet_with_its_memory_manager() -> None:
    static = changed_nodes(planned(), read_change("memory-manager=Static", READERS))
    node = node_with("machine=big", static)
    assert len(node.machine.cpus) == 64
    assert node.cpu.static
    assert cpuset_text(node.cpu.reserved) == "0,32"
    assert node.memory is not None
    assert node.memory.static


def test_a_release_and_a_whole_configuration_are_changes_too() -> None:
    assert node_with("release=1.30").settings.version.minor == 30
    assert node_with("kubelet=other.yaml").settings.topology_policy == "none"


@pytest.mark.parametrize(
    ("value", "count"), [("12", 12), ("+3", 13), ("-3", 7), ("+10%", 11), ("+1%", 11), ("-15%", 8), ("-9", 1)]
)
def test_more_and_fewer_nodes_are_rounded_away_from_what_there_is(value: str, count: int) -> None:
    assert other_count(10, value) == count


@pytest.mark.parametrize("value", ["-10", "-90", "-100%", "-91%"])
def test_no_fleet_is_left_without_a_node(value: str) -> None:
    """It is refused, as `nodes=0` is, not played with one node."""
    with pytest.raises(InputError, match="of 10 nodes none is left"):
        other_count(10, value)


@pytest.mark.parametrize("wanted", [3, 5, 32])
def test_cpus_that_cannot_be_split_so_are_told(wanted: int) -> None:
    with pytest.raises(InputError, match=f"the 16 CPUs of box0 cannot be split into {wanted} equal parts"):
        node_with(f"numa={wanted}")


def test_more_nodes_are_those_of_before_and_others() -> None:
    before = planned(counts=(4, 2))
    after = changed_nodes(before, read_change("nodes=+50%", READERS))
    assert [names for _, names in after.kinds] == [
        ("box0-0", "box0-1", "box0-2", "box0-3", "box0-added-0", "box0-added-1"),
        ("box1-0", "box1-1", "box1-added-0"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        *(f"{kind}=" for kind in KINDS),
        "policy=strict",
        "policy=restricted/node",
        "scope=node",
        "cpu-option=fast",
        "memory-manager=static",
        "reserved-cores=0",
        "reserved-cores=x/numa",
        "reserved-cpus=5-3",
        "numa=0",
        "numa=1e3",
        "nodes=+",
        "nodes=10%",
        "nodes=++3",
        "pods=small",
        "pods=cpus-per-gpu=0",
        "scheduler=random",
        "release=2.0",
        "polic=none",
        "policy",
    ],
)
def test_what_is_no_change_is_told(text: str) -> None:
    with pytest.raises(InputError):
        read_change(text, READERS)


def test_a_kubelet_that_would_not_start_is_told() -> None:
    with pytest.raises(InputError, match="does not start"):
        node_with("reserved-cpus=99")
    with pytest.raises(InputError, match="these are all cores of box0"):
        node_with("reserved-cores=4/numa")
    with pytest.raises(InputError, match="NUMA node 0 of box0 has 4 cores"):
        node_with("reserved-cores=5")
