"""What a pod asks of the managers."""

import pytest

from numafit.managers.ask import Ask, ask_of
from numafit.workload.pod import Container, Pod
from tests.decision.strategies import GI, GPU, MI, container, cpus, memory, pod, settings

BOTH_GATES = {"PodLevelResources": True, "PodLevelResourceManagers": True}


def ask(wanted: Pod, version: str = "1.36", gates: dict[str, bool] | None = None) -> Ask:
    return ask_of(wanted, settings(version, gates=gates))


@pytest.mark.parametrize(
    ("request_text", "exclusive"),
    [("2", 2), ("2000m", 2), ("2.0", 2), ("1500m", 0), ("0.5", 0), ("1001m", 0)],
)
def test_only_whole_cpus_are_exclusive(request_text: str, exclusive: int) -> None:
    """ceil(value) * 1000 = ceil(milli); everything else runs in the shared pool (all releases)."""
    assert ask(pod("p", cpus("app", request_text))).cpus == {"app": exclusive}


def test_absurdly_many_cpus_are_whole_as_far_as_64_bits_can_tell() -> None:
    """Both sides of the comparison are int64: 10^16 wraps on both, `10P` on one only (all releases)."""
    assert ask(pod("p", cpus("plain", "10000000000000000"), cpus("peta", "10P"))).cpus == {"plain": 10**16, "peta": 0}


def test_mixed_pods_are_decided_container_by_container() -> None:
    """A Guaranteed pod with one fractional container: the other still gets exclusive CPUs (all releases)."""
    found = ask(pod("p", cpus("whole", "3"), cpus("part", "500m")))
    assert (found.qos, found.cpus, found.pod_cpus) == ("Guaranteed", {"whole": 3, "part": 0}, 3)


def test_a_burstable_pod_asks_for_devices_only() -> None:
    """CPU and memory are pinned for Guaranteed pods only, devices for all (all releases)."""
    loose = container("app", {"cpu": "4", "memory": "1Gi", GPU: "1"}, requests={"cpu": "2", "memory": "1Gi", GPU: "1"})
    found = ask(pod("p", loose))
    assert (found.qos, found.guaranteed, found.cpus, found.devices) == (
        "Burstable",
        False,
        {"app": 0},
        {"app": {GPU: 1}},
    )


SIDECAR = pod(
    "p",
    cpus("app", "2", {GPU: "1"}),
    init=[cpus("side", "3", {GPU: "2"}, restartable=True), cpus("setup", "4", {GPU: "1"})],
)


@pytest.mark.parametrize(
    ("version", "pod_cpus", "pod_memory", "pod_devices", "ordinary"),
    [
        ("1.27", 4, 1 * GI, 2, frozenset({"side", "setup"})),
        ("1.28", 4, 1 * GI, 3, frozenset({"side", "setup"})),
        ("1.29", 7, 2 * GI, 3, frozenset({"setup"})),
        ("1.36", 7, 2 * GI, 3, frozenset({"setup"})),
    ],
)
def test_sidecars_count_from_1_29_on(
    version: str, pod_cpus: int, pod_memory: int, pod_devices: int, ordinary: frozenset[str]
) -> None:
    """Before they are ordinary init containers; only the device manager's sum over a pod knows them in 1.28."""
    found = ask(SIDECAR, version)
    assert (found.pod_cpus, found.pod_memory, found.pod_devices, found.ordinary_init) == (
        pod_cpus,
        {"memory": pod_memory},
        {GPU: pod_devices},
        ordinary,
    )


def test_the_pod_needs_the_peak_of_its_init_containers_or_the_sum_of_the_others() -> None:
    """Init containers run one after the other (all releases)."""
    wanted = pod("p", cpus("a", "2"), cpus("b", "2"), init=[cpus("first", "3"), cpus("second", "5")])
    assert ask(wanted).pod_cpus == 5
    assert ask(pod("p", cpus("a", "2"), cpus("b", "4"), init=[cpus("first", "5")])).pod_cpus == 6


def test_a_memory_type_that_only_init_containers_want_is_no_part_of_the_pod_s_request() -> None:
    """Pod scope: only types of app containers are kept (1.21 to 1.36)."""
    wanted = pod("p", memory("app", "1Gi"), init=[memory("setup", "3Gi", {"hugepages-2Mi": "8Mi"})])
    found = ask(wanted)
    assert found.memory == {"setup": {"memory": 3 * GI, "hugepages-2Mi": 8 * MI}, "app": {"memory": GI}}
    assert found.pod_memory == {"memory": 3 * GI}


@pytest.mark.parametrize("place", ["init", "app"])
def test_a_quantity_that_is_no_int64_makes_the_request_unknown(place: str) -> None:
    """`1.5Gi` is whole in bytes, yet the kubelet's AsInt64 fails on it (1.21 to 1.36)."""
    odd, good = memory("odd", "1.5Gi"), memory("good", "1Gi")
    wanted = pod("p", good, init=[odd]) if place == "init" else pod("p", odd, init=[good])
    found = ask(wanted)
    assert (found.memory, found.pod_memory) == ({"odd": None, "good": {"memory": GI}}, None)


def test_devices_are_rounded_up_and_a_request_for_none_stays() -> None:
    """Limits count, and zero devices are still part of the hints (all releases). CPUs and memory are no devices."""
    limits = {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "2Mi", GPU: "1500m", "example.com/none": "0"}
    found = ask(pod("p", container("app", limits)))
    assert found.devices == {"app": {GPU: 2, "example.com/none": 0}}
    assert found.pod_devices == {GPU: 2, "example.com/none": 0}


@pytest.mark.parametrize(
    ("version", "gates", "expected"),
    [
        ("1.33", {"PodLevelResources": True}, "none"),
        ("1.34", {}, "skipped"),
        ("1.34", {"PodLevelResources": False}, "none"),
        ("1.36", {}, "skipped"),
        ("1.36", {"PodLevelResources": False}, "skipped"),
        ("1.36", BOTH_GATES, "managed"),
    ],
)
def test_pods_with_pod_level_resources_are_ignored_skipped_or_managed(
    version: str, gates: dict[str, bool], expected: str
) -> None:
    """1.32 and 1.33 treat them like others, 1.34 skips them while the gate is on, 1.36 can manage them as a whole."""
    wanted = pod("p", cpus("app", "1"), whole={"cpu": "2", "memory": "2Gi"})
    assert ask(wanted, version, gates).pod_level == expected
    assert ask(pod("p", cpus("app", "1")), version, gates).pod_level == "none"


def test_in_a_managed_pod_only_containers_with_both_resources_fixed_have_a_request() -> None:
    """Requests of cpu and memory that are not zero and equal the limits (1.36 with PodLevelResourceManagers)."""
    loose = container("loose", {"cpu": "2", "memory": "1Gi"}, requests={"cpu": "2"})
    wanted = pod(
        "p",
        cpus("own", "2"),
        loose,
        container("bare"),
        whole={"cpu": "6", "memory": "4Gi", "hugepages-2Mi": "0"},
    )
    found = ask(wanted, gates=BOTH_GATES)
    assert (found.qos, found.cpus, found.memory) == (
        "Guaranteed",
        {"own": 2, "loose": 0, "bare": 0},
        {"own": {"memory": GI}, "loose": {}, "bare": {}},
    )
    assert (found.pod_cpus, found.pod_memory) == (6, {"memory": 4 * GI})


RESIZED = container("app", {"cpu": "4", "memory": "2Gi"}, allocated={"cpu": "2", "memory": "1Gi"})
RESIZED_SIDECAR = container("side", {"cpu": "4", "memory": "2Gi"}, restartable=True, allocated={"cpu": "1"})


@pytest.mark.parametrize(
    ("version", "gate", "app", "side"),
    [
        ("1.26", True, 4, 4),
        ("1.27", True, 2, 4),
        ("1.27", False, 4, 4),
        ("1.32", True, 2, 4),
        ("1.33", True, 2, 1),
        ("1.34", True, 2, 1),
        ("1.35", True, 4, 4),
    ],
)
def test_while_a_resize_is_under_way_the_allocated_resources_count(
    version: str, gate: bool, app: int, side: int
) -> None:
    """With InPlacePodVerticalScaling, 1.27 to 1.34; of sidecars from 1.33 on; later the spec holds them already."""
    found = ask(pod("p", RESIZED, init=[RESIZED_SIDECAR]), version, {"InPlacePodVerticalScaling": gate})
    assert found.cpus == {"app": app, "side": side}


def test_a_container_whose_status_has_no_allocated_resources_asks_for_nothing() -> None:
    """A status is there, its allocatedResources are empty: no exclusive CPU (1.27 to 1.34 with the gate)."""
    known = Container("app", RESIZED.requests, RESIZED.limits, allocated={})
    found = ask(pod("p", known), "1.34", {"InPlacePodVerticalScaling": True})
    assert (found.cpus, found.memory) == ({"app": 0}, {"app": {}})
