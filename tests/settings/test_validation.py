"""The static validation of a configuration."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from numafit.quantity import parse_quantity
from numafit.replay.cases.validation import config_case
from numafit.settings.config import KubeletConfig
from numafit.settings.gates import resolve_gates
from numafit.settings.settings import ReservedMemory
from numafit.settings.validation import validate
from numafit.settings.versions import parse_version

ORACLE = Path(__file__).resolve().parents[2].parent / "shared" / "oracle"
HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"


def errors(release: str, **fields: Any) -> tuple[str, ...]:
    config, version = KubeletConfig(**fields), parse_version(release)
    found = validate(config, version, resolve_gates(version, config.feature_gates))
    return tuple(str(error) for error in found)


@pytest.mark.parametrize("version", ["v1.27.3", "v1.34.11", "v1.36.4"])
def test_recorded_configurations_have_the_recorded_outcome(version: str) -> None:
    """Every recording of the kubelet's decoding, gates and validation."""
    path = ORACLE / version / "validation.jsonl.gz"
    if not path.exists():
        pytest.skip("the recordings of the kubelet are not here")
    with gzip.open(path, "rt") as lines:
        cases = [case for case in map(json.loads, lines) if case["input"]["kind"] == "config"]
    assert cases
    for case in cases:
        given = case["input"]
        outcome = config_case(given["spec"], given["config"]["featureGates"], parse_version(version))
        assert (case["id"], outcome) == (case["id"], case["expect"])


@pytest.mark.parametrize("minor", range(20, 38))
def test_the_defaults_are_valid_in_every_release(minor: int) -> None:
    """An empty file starts a kubelet."""
    assert config_case(HEAD, {}, parse_version(f"1.{minor}.0")) == {"error": None}


def test_a_bad_topology_policy_and_scope_are_reported_in_this_order() -> None:
    """The texts of 1.24 and later, and those before."""
    assert errors("1.24.0", topology_manager_policy="None", topology_manager_scope="Pod") == (
        'invalid configuration: topologyManagerPolicy (--topology-manager-policy) "None" must be one of: '
        '["none" "best-effort" "restricted" "single-numa-node"]',
        'invalid configuration: topologyManagerScope (--topology-manager-scope) "Pod" must be one of: '
        '"container", or "pod"',
    )
    assert errors("1.23.17", topology_manager_policy="None", topology_manager_scope="Pod") == (
        "invalid configuration: topologyManagerPolicy non-allowable value: None",
        "invalid configuration: topologyManagerScope non-allowable value: Pod",
    )


def test_a_topology_policy_needs_its_gate_up_to_1_26() -> None:
    """The gate is locked on in 1.27 and gone in 1.29."""
    off = {"TopologyManager": False}
    assert errors("1.26.0", topology_manager_policy="restricted", topology_manager_scope="pod", feature_gates=off) == (
        "invalid configuration: topologyManagerPolicy restricted requires feature gate TopologyManager",
        "invalid configuration: topologyManagerScope pod requires feature gate TopologyManager",
    )


def test_numbers_of_pods_are_not_negative() -> None:
    """maxPods and podsPerCore."""
    assert errors("1.36.4", max_pods=-1, pods_per_core=-2) == (
        "invalid configuration: maxPods (--max-pods) -1 must not be a negative number",
        "invalid configuration: podsPerCore (--pods-per-core) -2 must not be a negative number",
    )


def test_enforcement_needs_cgroups_per_qos() -> None:
    """One error before everything else up to 1.30, later one for each value but none."""
    given = {"cgroups_per_qos": False, "max_pods": -1, "enforce_node_allocatable": ("pods",)}
    negative = "invalid configuration: maxPods (--max-pods) -1 must not be a negative number"
    assert errors("1.30.0", **given) == (
        f"invalid configuration: {ENFORCE} is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true",
        negative,
    )
    assert errors("1.31.0", **given) == (
        negative,
        'invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained in '
        + ENFORCE,
    )
    assert errors("1.36.4", cgroups_per_qos=False, enforce_node_allocatable=("none",)) == ()
    assert errors("1.20.1", cgroups_per_qos=False, enforce_node_allocatable=()) == ()


@pytest.mark.parametrize(
    ("release", "when"),
    [
        ("1.36.4", '"kube-reserved" or "kube-reserved-compressible" included in'),
        ("1.31.0", '"kube-reserved" contained in'),
        ("1.23.0", "'kube-reserved' contained in"),
    ],
)
def test_an_enforced_reservation_needs_its_cgroup(release: str, when: str) -> None:
    """Three wordings: up to 1.23, up to 1.31, later."""
    assert errors(release, enforce_node_allocatable=("pods", "kube-reserved")) == (
        f"invalid configuration: kubeReservedCgroup (--kube-reserved-cgroup) must be specified when {when} {ENFORCE}",
    )


def test_enforcements_contradict_repeat_and_stand_alone() -> None:
    """1.36: contradictions first, then value by value."""
    given = ("system-reserved", "system-reserved-compressible", "none", "pods", "pods", "foo")
    assert errors("1.36.4", enforce_node_allocatable=given, system_reserved_cgroup="/s") == (
        'invalid configuration: both "system-reserved" and "system-reserved-compressible" cannot be specified together '
        f"in {ENFORCE}",
        f'invalid configuration: {ENFORCE} may not contain additional enforcements when "none" is specified',
        f'invalid configuration: duplicated enforcements "pods" in {ENFORCE}',
        f'invalid configuration: option "foo" specified for {ENFORCE}. Valid options are "pods", "system-reserved", '
        '"system-reserved-compressible", "kube-reserved", "kube-reserved-compressible" or "none"',
    )


def test_a_repeated_enforcement_is_fine_before_1_31() -> None:
    """And `none` is quoted otherwise before 1.24."""
    assert errors("1.30.0", enforce_node_allocatable=("pods", "pods")) == ()
    assert errors("1.23.0", enforce_node_allocatable=("none", "pods")) == (
        f"invalid configuration: {ENFORCE} may not contain additional enforcements when 'none' is specified",
    )


@pytest.mark.parametrize(
    ("release", "first", "second"),
    [
        (
            "1.36.4",
            "invalid configuration: can't use",
            "invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) 5-3, error: "
            'invalid range "5-3" (5 > 3)',
        ),
        (
            "1.26.0",
            "invalid configuration: can't use",
            "invalid configuration: unable to parse reservedSystemCPUs (--reserved-cpus) 5-3, error: "
            'invalid range "5-3" (5 >= 3)',
        ),
        (
            "1.22.0",
            "can't use",
            'unable to parse reservedSystemCPUs (--reserved-cpus), error: invalid range "5-3" (5 >= 3)',
        ),
    ],
)
def test_reserved_cpus_are_checked_twice(release: str, first: str, second: str) -> None:
    """Against the cgroups and as a list; both report."""
    assert errors(release, reserved_system_cpus="5-3", kube_reserved_cgroup="/k") == (
        f"{first} reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) "
        "or kubeReservedCgroup (--kube-reserved-cgroup)",
        second,
    )


@pytest.mark.parametrize(("release", "prefix"), [("1.24.0", "invalid configuration: "), ("1.23.0", "")])
def test_reserved_memory_is_checked_item_by_item(release: str, prefix: str) -> None:
    """Within an item in byte order, where the kubelet has none; node numbers and page sizes are not looked at."""
    zero, one = parse_quantity("0"), parse_quantity("1")
    items = (
        ReservedMemory(-1, {"memory": zero, "cpu": one, "hugepages-3Mi": one}),
        ReservedMemory(-1, {"memory": one}),
    )
    assert errors(release, reserved_memory=items) == (
        f'{prefix}the limit type "cpu" for NUMA node -1 is not supported, '
        "only [memory hugepages-<HugePageSize>] is accepted",
        f'{prefix}reserved memory may not be zero for NUMA node -1 and resource "memory"',
        f'{prefix}the reserved memory has a duplicate value for NUMA node -1 and resource "memory"',
    )


def test_a_locked_gate_in_a_file_crashes_the_kubelet_since_1_32() -> None:
    """It is met while defaults are filled in; before, it is an ordinary error."""
    spec = {**HEAD, "featureGates": {"DevicePluginCDIDevices": False}}
    locked = "cannot set feature gate DevicePluginCDIDevices to false, feature is locked to true"
    assert config_case(spec, {}, parse_version("1.31.0")) == {"featureGateError": locked}
    assert config_case(spec, {}, parse_version("1.32.0")) == {
        "panic": f"failed to merge global and in-flight KubeletConfiguration while setting defaults, error: {locked}"
    }


def test_the_same_problem_is_told_once_in_the_joined_text() -> None:
    """Go's aggregate drops repeated texts; the list keeps them."""
    limits = [{"numaNode": 0, "limits": {"memory": "0"}}] * 3
    outcome = config_case({**HEAD, "reservedMemory": limits}, {}, parse_version("1.36.4"))
    zero = 'invalid configuration: reserved memory may not be zero for NUMA node 0 and resource "memory"'
    double = 'invalid configuration: the reserved memory has a duplicate value for NUMA node 0 and resource "memory"'
    assert outcome == {"error": f"[{zero}, {double}]", "errors": [zero, zero, double, zero, double]}


INVALID = "invalid configuration: "
HIGH = "imageGCHighThresholdPercent (--image-gc-high-threshold)"
LOW = "imageGCLowThresholdPercent (--image-gc-low-threshold)"


@pytest.mark.parametrize("release", ["1.20", "1.36.4", "1.37"])
def test_images_are_kept_up_to_a_lower_and_an_upper_share(release: str) -> None:
    """The default of the lower one is 80, so an upper one alone may be refused (all releases)."""
    assert errors(release, image_gc_high_threshold_percent=70) == (f"{INVALID}{LOW} 80 must be less than {HIGH} 70",)
    assert errors(release, image_gc_high_threshold_percent=101, image_gc_low_threshold_percent=-1) == (
        f"{INVALID}{HIGH} 101 must be between 0 and 100, inclusive",
        f"{INVALID}{LOW} -1 must be between 0 and 100, inclusive",
    )


def test_images_pulled_in_parallel_are_not_serialized() -> None:
    """Whoever sets the number alone need not say so (1.27 and later)."""
    spec = {**HEAD, "maxParallelImagePulls": 3}
    assert config_case(spec, {}, parse_version("1.36.4")) == {"error": None}
    assert errors("1.36.4", max_parallel_image_pulls=3) == (
        f"{INVALID}maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) "
        "is set to false",
    )
    assert errors("1.36.4", max_parallel_image_pulls=0) == (
        f"{INVALID}maxParallelImagePulls 0 must be a positive number",
    )


def test_critical_pods_have_a_part_of_the_time_for_a_shutdown() -> None:
    """The texts of 1.24 and later, and those before."""
    periods = {"shutdown_grace_period": "10s", "shutdown_grace_period_critical_pods": "1m30s"}
    assert errors("1.24", **periods) == (
        f"{INVALID}shutdownGracePeriodCriticalPods 1m30s must be <= shutdownGracePeriod 10s",
    )
    assert errors("1.23", **periods) == (
        f"{INVALID}ShutdownGracePeriod 10s must be >= 0, ShutdownGracePeriodCriticalPods 1m30s must be >= 0, and "
        "ShutdownGracePeriodCriticalPods 1m30s must be <= ShutdownGracePeriod 10s",
    )
    assert errors("1.36.4", shutdown_grace_period="100ms") == (
        f"{INVALID}shutdownGracePeriod 100ms must be either zero or otherwise >= 1 sec",
    )
    assert errors("1.20", shutdown_grace_period="10s") == (
        f"{INVALID}Specifying ShutdownGracePeriod or ShutdownGracePeriodCriticalPods requires feature gate "
        "GracefulNodeShutdown",
    )


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("1.23", "MemorySwap.SwapBehavior All must be one of: LimitedSwap, UnlimitedSwap"),
        ("1.29", 'memorySwap.swapBehavior "All" must be one of: "", "LimitedSwap", or "UnlimitedSwap"'),
        ("1.33", 'memorySwap.swapBehavior "All" must be one of: "", "LimitedSwap" or "NoSwap"'),
    ],
)
def test_swap_is_used_in_one_of_two_ways(release: str, text: str) -> None:
    """UnlimitedSwap went with 1.30; before, the gate NodeSwap was off by default."""
    swap = {"memory_swap": {"swapBehavior": "All"}}
    assert errors(release, **swap, feature_gates={"NodeSwap": True}) == (f"{INVALID}{text}",)
    assert errors("1.29", **swap) == (
        f"{INVALID}memorySwap.swapBehavior cannot be set when NodeSwap feature flag is disabled",
    )
    assert errors("1.36.4", memory_swap={"swapBehavior": "UnlimitedSwap"})


def test_logs_of_containers_are_turned_over_by_at_least_one_worker_into_at_least_two_files() -> None:
    """Workers and interval since 1.30, files since 1.33."""
    fields = {
        "container_log_max_files": 1,
        "container_log_max_workers": 0,
        "container_log_monitor_interval": "2.9s",
    }
    found = (
        f"{INVALID}containerLogMaxWorkers must be greater than or equal to 1",
        f"{INVALID}containerLogMonitorInterval must be a positive time duration greater than or equal to 3s",
        f"{INVALID}containerLogMaxFiles must be greater than 1",
    )
    assert (errors("1.29", **fields), errors("1.30", **fields), errors("1.33", **fields)) == ((), found[:2], found)


def test_problems_of_all_kinds_come_in_the_order_of_the_checks() -> None:
    """Of 1.36."""
    found = errors(
        "1.36.4",
        max_pods=-1,
        topology_manager_scope="node",
        image_gc_high_threshold_percent=70,
        enforce_node_allocatable=("odd",),
        container_log_max_files=0,
        shutdown_grace_period="1ns",
    )
    starts = [text.removeprefix(INVALID).split()[0] for text in found]
    assert starts == [
        "imageGCLowThresholdPercent",
        "maxPods",
        "topologyManagerScope",
        "shutdownGracePeriod",
        "option",
        "containerLogMaxFiles",
    ]
