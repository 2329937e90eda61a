"""Reservation, capacity and the settings of the managers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import StartError
from numafit.machine.model import Cpu, Device, Machine, NumaNode
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.allocatable import allocatable_of, capacity_of, check_capacity, reservation_of, settings_of
from numafit.settings.config import KubeletConfig
from numafit.settings.gates import default_gates, resolve_gates
from numafit.settings.settings import Settings
from numafit.settings.versions import parse_version

GIB = 1 << 30
NEWEST = parse_version("1.36.4")
MACHINE = Machine(
    cpus=tuple(Cpu(id=i, core=i, socket=0, numa=i // 4) for i in range(8)),
    numa_nodes=(NumaNode(id=0, memory=8 * GIB, hugepages={2 << 20: 512}), NumaNode(id=1, memory=8 * GIB)),
    memory=15 * GIB,
)


def reservation(release: str = "1.36.4", **fields: Any) -> dict[str, str]:
    found = reservation_of(KubeletConfig(**fields), MACHINE, parse_version(release))
    return {name: str(quantity) for name, quantity in found.items()}


def ordered(config: KubeletConfig, release: str = "1.36.4") -> Settings:
    version = parse_version(release)
    return settings_of(config, MACHINE, version, resolve_gates(version, config.feature_gates))


def refusal(release: str = "1.36.4", **fields: Any) -> tuple[str, str]:
    with pytest.raises(StartError) as refused:
        ordered(KubeletConfig(**fields), release)
    return refused.value.stage, refused.value.message


def test_capacity_counts_cpus_and_takes_the_memory_of_the_machine() -> None:
    """MemTotal, not the sum over NUMA nodes; huge pages over all nodes."""
    assert {name: str(quantity) for name, quantity in capacity_of(MACHINE).items()} == {
        "cpu": "8",
        "memory": "15Gi",
        "hugepages-2Mi": "1Gi",
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"kube_reserved": {"cpu": "100m"}, "system_reserved": {"cpu": "100m"}}, {"cpu": "200m"}),
        (
            {
                "kube_reserved": {"cpu": "2", "memory": "1Gi"},
                "system_reserved": {"cpu": "2", "memory": "1Gi"},
                "eviction_hard": {"memory.available": "2Gi"},
            },
            {"cpu": "4", "memory": "4Gi"},
        ),
        (
            {
                "kube_reserved": {"cpu": "2", "memory": "2Gi"},
                "system_reserved": {"cpu": "2", "memory": "2Gi"},
                "reserved_system_cpus": "0-3",
                "eviction_hard": {"memory.available": "100Mi"},
            },
            {"cpu": "4", "memory": "4196Mi"},
        ),
        ({"reserved_system_cpus": "0,4", "kube_reserved": {"cpu": "5"}}, {"cpu": "2"}),
        ({"system_reserved": {"memory": "0"}, "kube_reserved": {"memory": "1024Mi", "pid": "9"}}, {"memory": "1Gi"}),
        ({"eviction_hard": {"memory.available": "1Gi"}, "ignore_eviction": True}, {}),
    ],
)
def test_system_kube_and_threshold_add_up(fields: dict[str, Any], expected: dict[str, str]) -> None:
    """The explicit list of CPUs replaces both cpu amounts; the first summand that is not zero gives the format."""
    assert reservation(**fields) == expected


def test_the_managers_get_what_the_configuration_says() -> None:
    """Policy names pass unchecked: the managers refuse them."""
    config = KubeletConfig(cpu_manager_policy="Static", reserved_system_cpus="0", root_dir="/k")
    assert ordered(config) == Settings(
        version=NEWEST,
        cpu_policy="Static",
        gates=default_gates(NEWEST),
        reserved_cpus="0",
        reservation={"cpu": Quantity(1)},
        state_dir="/k",
    )


def test_a_manager_whose_gate_is_off_does_not_exist() -> None:
    """CPUManager can be switched off up to 1.25, MemoryManager up to 1.31."""
    off = {"CPUManager": False, "MemoryManager": False}
    config = KubeletConfig(
        cpu_manager_policy="static",
        cpu_manager_policy_options={"x": "y"},
        memory_manager_policy="Static",
        feature_gates=off,
    )
    settings = ordered(config, "1.25.0")
    assert (settings.cpu_policy, settings.cpu_options, settings.memory_policy) == ("none", {}, "None")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"reserved_system_cpus": "0,9"}, "reserved-cpus: 0,9 is not a subset of online-cpus: 0-7"),
        (
            {"kube_reserved": {"cpu": "x"}},
            '--kube-reserved value failed to parse: failed to parse quantity "x" for "cpu" resource: '
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            {"system_reserved": {"memory": "-1Gi"}},
            '--system-reserved value failed to parse: resource quantity for "memory" cannot be negative: -1Gi',
        ),
        ({"kube_reserved": {"foo": "1"}}, '--kube-reserved value failed to parse: cannot reserve "foo" resource'),
        ({"eviction_hard": {"foo": "1"}}, "unsupported eviction signal foo"),
        (
            {"qos_reserved": {"memory": "150%"}},
            '--qos-reserved value failed to parse: failed to parse percentage "150%" for "memory" resource: '
            "percentage must be between 0 and 100",
        ),
    ],
)
def test_a_bad_reservation_keeps_the_kubelet_from_starting(fields: dict[str, Any], message: str) -> None:
    """1.27 and later."""
    assert refusal(**fields) == ("kubelet.run", message)


def test_before_1_27_a_bad_reservation_is_not_named() -> None:
    """Only the inner error is told."""
    assert refusal("1.26.0", kube_reserved={"foo": "1"})[1] == 'cannot reserve "foo" resource'
    assert refusal("1.26.0", kube_reserved={"cpu": "1K"})[1] == "unable to parse quantity's suffix"


def test_before_1_22_reserved_cpus_are_compared_with_the_number_of_cpus() -> None:
    """And a reversed range, which those releases take for an empty list, crashes them."""
    assert refusal("1.21.0", reserved_system_cpus="0,8")[1] == 'Invalid cpuset "0,8" specified by --reserved-cpus'
    assert refusal("1.21.0", reserved_system_cpus="5-3")[1] == "runtime error: index out of range [0] with length 0"


@pytest.mark.parametrize(
    ("release", "gates"),
    [("1.27.3", '"TopologyManagerPolicyOptions"'), ("1.26.0", '"TopologyManager", "TopologyManagerPolicyOptions"')],
)
def test_topology_options_need_their_gate(release: str, gates: str) -> None:
    """Even an empty map does; the gate is off in 1.26 and 1.27, and locked on since 1.36."""
    message = refusal(release, topology_manager_policy_options={"a": "b"})[1]
    assert message == f"topology manager policy options map[a:b] require feature gates {gates} enabled"
    assert refusal(release, topology_manager_policy_options={})[1].startswith("topology manager policy options map[] ")


def test_cpu_options_need_their_gate() -> None:
    """Off by default in 1.22; locked on since 1.33."""
    assert refusal("1.22.17", cpu_manager_policy_options={"full-pcpus-only": "true"})[1] == (
        'CPU Manager policy options map[full-pcpus-only:true] require feature gates "CPUManager", '
        '"CPUManagerPolicyOptions" enabled'
    )


def test_a_reservation_above_the_capacity_stops_the_start() -> None:
    """Quantities print as Go structs; up to 1.29 with what would remain."""
    above = {"cpu": Quantity(9), "memory": parse_quantity("16Gi") + Quantity(0)}
    with pytest.raises(StartError) as refused:
        check_capacity(above, MACHINE, NEWEST)
    assert refused.value.message == (
        'invalid Node Allocatable configuration. Resource "cpu" has a reservation of {{9 0} {<nil>}  DecimalSI} '
        "but capacity of {{8000 -3} {<nil>}  DecimalSI}. Expected capacity >= reservation. "
        'Resource "memory" has a reservation of {{17179869184 0} {<nil>}  BinarySI} '
        "but capacity of {{16106127360 0} {<nil>}  BinarySI}. Expected capacity >= reservation."
    )
    with pytest.raises(StartError) as refused:
        check_capacity({"cpu": Quantity(9)}, MACHINE, parse_version("1.29.0"))
    assert refused.value.message == (
        'invalid Node Allocatable configuration. Resource "cpu" has an allocatable of {{9 0} {<nil>}  DecimalSI}, '
        "capacity of {{-1000 -3} {<nil>}  DecimalSI}"
    )


def test_allocatable_leaves_out_reservation_and_huge_pages() -> None:
    """Memory is floored at zero; a device plugin offers its healthy devices; podsPerCore lowers maxPods."""
    machine = Machine(
        cpus=MACHINE.cpus,
        numa_nodes=MACHINE.numa_nodes,
        memory=MACHINE.memory,
        devices=(Device("gpu", "a"), Device("gpu", "b", healthy=False)),
    )
    config = KubeletConfig(kube_reserved={"cpu": "1500m", "memory": "4Gi"}, pods_per_core=3)
    assert {name: str(quantity) for name, quantity in allocatable_of(config, machine, NEWEST).items()} == {
        "cpu": "6500m",
        "memory": "10Gi",
        "hugepages-2Mi": "1Gi",
        "pods": "24",
        "gpu": "1",
    }
    greedy = KubeletConfig(kube_reserved={"memory": "1Ti"})
    assert allocatable_of(greedy, machine, NEWEST)["memory"].is_zero


@given(
    st.dictionaries(st.sampled_from(("cpu", "memory")), st.integers(0, 1 << 40).map(str)),
    st.dictionaries(st.sampled_from(("cpu", "memory")), st.integers(0, 1 << 40).map(str)),
)
def test_a_reservation_is_the_sum_of_its_parts(kube: dict[str, str], system: dict[str, str]) -> None:
    """Zero sums are left out."""
    sums = {name: int(kube.get(name, "0")) + int(system.get(name, "0")) for name in ("cpu", "memory")}
    found = reservation_of(KubeletConfig(kube_reserved=kube, system_reserved=system), MACHINE, NEWEST)
    assert {name: quantity.value() for name, quantity in found.items()} == {k: v for k, v in sums.items() if v}
