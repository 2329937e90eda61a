"""How situations read as PodResources: who is shown, with what, in which release."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from numafit.cluster.sim.sockets.releases import SocketRules, lists_active, socket_rules
from numafit.cluster.sim.sockets.resources import allocatable, listed, listed_before, pod_resources
from numafit.cluster.wire import pod_resources_pb2 as wire
from numafit.decision.history.coming import add_pods
from numafit.decision.history.event import ListDevices, StopPlugin
from numafit.decision.history.happen import happen
from numafit.decision.history.situation import Situation, situation_of
from numafit.machine.model import Device
from numafit.managers.protocol import Choices
from numafit.settings.versions import NEWEST_MINOR, OLDEST_MINOR
from numafit.workload.pod import Pod
from tests.decision.strategies import GI, GPU, box, container, cpus, gpus, pod, running, settings

MEMORY = {0: {"memory": "1Gi"}, 1: {"memory": "1Gi"}}
BOX = box(2, 8, memory=8 * GI, devices=gpus(0, 1, None))


def stands(release: str, *pods: Pod, gates: Mapping[str, bool] | None = None) -> Situation:
    ordered = settings(
        release, cpu="static", memory="Static", reserved_memory=MEMORY, topology="best-effort", gates=gates
    )
    if int(release.partition(".")[2]) < 21:
        ordered = replace(ordered, memory_policy="None")
    node, ledger = running(BOX, ordered)
    return add_pods(situation_of(node, ledger, None), pods, Choices).situation


Shown = tuple[str, list[tuple[str, list[str], list[int] | None]], list[int], list[tuple[str, int, list[int]]]]


def nodes(entry: wire.ContainerDevices | wire.ContainerMemory) -> list[int] | None:
    return [node.ID for node in entry.topology.nodes] if entry.HasField("topology") else None


def shown(found: wire.PodResources) -> list[Shown]:
    return [
        (
            own.name,
            [(each.resource_name, list(each.device_ids), nodes(each)) for each in own.devices],
            list(own.cpu_ids),
            [(each.memory_type, each.size, nodes(each) or []) for each in own.memory],
        )
        for own in found.containers
    ]


def test_a_container_is_shown_with_its_devices_cpus_and_memory() -> None:
    wanted = pod("a", cpus("c", "2", {GPU: "3"}), container("d", {"cpu": "100m", "memory": "1Gi"}))
    (found,) = listed(stands("1.36", wanted), ()).pod_resources
    assert (found.name, found.namespace, list(found.cpu_ids)) == ("pod-a", "default", [])
    devices = [(GPU, ["GPU0"], [0]), (GPU, ["GPU1"], [1]), (GPU, ["GPU2"], None)]
    assert shown(found) == [
        ("c", devices, [1, 2], [("memory", GI, [0])]),
        ("d", [], [], [("memory", GI, [0])]),
    ]


def test_a_device_on_two_nodes_has_two_entries() -> None:
    node, ledger = running(box(2, 8, devices=[Device(GPU, "both", (1, 0))]), settings())
    situation = add_pods(situation_of(node, ledger, None), (pod("a", cpus("c", "1", {GPU: "1"})),), Choices).situation
    (found,) = listed(situation, ()).pod_resources
    assert shown(found)[0][1] == [(GPU, ["both"], [0]), (GPU, ["both"], [1])]


@pytest.mark.parametrize(
    ("release", "devices", "shared", "memory"),
    [
        ("1.20", [(GPU, ["GPU0", "GPU2"], [0]), (GPU, ["GPU1"], [1])], [0, 3, 4, 5, 6, 7], []),
        ("1.21", [(GPU, ["GPU0"], [0]), (GPU, ["GPU1"], [1]), (GPU, ["GPU2"], [0])], [0, 3, 4, 5, 6, 7], []),
        ("1.22", [(GPU, ["GPU0"], [0]), (GPU, ["GPU1"], [1]), (GPU, ["GPU2"], [0])], [0, 3, 4, 5, 6, 7], [[0]]),
        ("1.23", [(GPU, ["GPU0"], [0]), (GPU, ["GPU1"], [1]), (GPU, ["GPU2"], None)], [], [[0]]),
    ],
)
def test_early_releases_show_the_shared_pool_and_places_of_devices_otherwise(
    release: str, devices: list[tuple[str, list[str], list[int] | None]], shared: list[int], memory: list[list[int]]
) -> None:
    """1.20 groups devices by NUMA node; up to 1.22 one without a place stands under node 0; memory came with 1.22."""
    wanted = pod("a", cpus("c", "2", {GPU: "3"}), container("d", {"cpu": "100m", "memory": "1Gi"}))
    situation = stands(release, wanted)
    (found,) = listed(situation, [wanted]).pod_resources
    c, d = shown(found)
    assert (c[1], c[2], [place for _, _, place in c[3]]) == (devices, [1, 2], memory)
    assert d[2] == shared


def test_sidecars_are_shown_from_1_30_and_other_init_containers_never() -> None:
    wanted = pod("a", cpus("c", "1"), init=[cpus("i", "1"), cpus("s", "1", restartable=True)])
    for release, names in (("1.29", ["c"]), ("1.30", ["s", "c"]), ("1.36", ["s", "c"])):
        (found,) = listed(stands(release, wanted), [wanted]).pod_resources
        assert [own.name for own in found.containers] == names


def test_all_known_pods_are_listed_up_to_1_33_and_active_ones_since() -> None:
    ended = pod("gone", cpus("c", "1"))
    there = pod("a", cpus("c", "1"))
    for release, names in (("1.33", ["pod-gone", "pod-a"]), ("1.34", ["pod-a"])):
        situation = stands(release, there)
        assert [found.name for found in listed(situation, [ended, there]).pod_resources] == names
    off = stands("1.36", there, gates={"KubeletPodResourcesListUseActivePods": False})
    assert len(listed(off, [ended, there]).pod_resources) == 2


def test_the_version_before_shows_devices_of_app_containers_without_places() -> None:
    wanted = pod("a", cpus("c", "1", {GPU: "1"}), init=[cpus("s", "1", restartable=True)])
    (found,) = listed_before(stands("1.36", wanted), [wanted]).pod_resources
    assert shown(found) == [("c", [(GPU, ["GPU0"], None)], [], [])]


def test_what_a_pod_holds_as_a_whole_is_shown_by_1_37() -> None:
    """A container that shares with its pod shows nothing of its own then; in 1.36 it shows the shared CPUs."""
    gates = {"PodLevelResources": True, "PodLevelResourceManagers": True}
    wanted = pod(
        "a",
        cpus("own", "1"),
        container("rest", requests={"cpu": "1"}),
        whole={"cpu": "3", "memory": "2Gi"},
    )
    for release, whole, rest in (("1.36", [], [2, 3]), ("1.37", [1, 2, 3], [])):
        ordered = settings(
            release,
            cpu="static",
            memory="Static",
            reserved_memory=MEMORY,
            topology="best-effort",
            scope="pod",
            gates=gates,
        )
        node, ledger = running(BOX, ordered)
        situation = add_pods(situation_of(node, ledger, None), (wanted,), Choices).situation
        found = pod_resources(situation, wanted)
        assert list(found.cpu_ids) == whole
        assert [(each.memory_type, each.size) for each in found.memory] == ([("memory", 2 * GI)] if whole else [])
        own, other = shown(found)
        assert (own[2], other[2]) == ([1], rest)


# --- what can be given -----------------------------------------------------------------------------------------------


def test_allocatable_are_healthy_devices_cpus_that_are_not_reserved_and_memory() -> None:
    situation = stands("1.36", pod("a", cpus("c", "2", {GPU: "1"})))
    sick = tuple(replace(device, healthy=device.id != "GPU1") for device in gpus(0, 1, None))
    situation = happen(situation, ListDevices(GPU, sick)).situation
    found = allocatable(situation, situation.node.cpu.allocatable(situation.ledger.cpu))
    assert [(each.resource_name, list(each.device_ids), nodes(each)) for each in found.devices] == [
        (GPU, ["GPU0"], [0]),
        (GPU, ["GPU2"], None),
    ]
    assert list(found.cpu_ids) == [1, 2, 3, 4, 5, 6, 7]
    assert [(each.memory_type, each.size, nodes(each)) for each in found.memory] == [
        ("memory", 7 * GI, [0]),
        ("memory", 7 * GI, [1]),
    ]
    assert not allocatable(happen(situation, StopPlugin(GPU)).situation, 0).devices


def test_allocatable_in_1_22_are_sick_devices_too() -> None:
    situation = stands("1.22")
    sick = tuple(replace(device, healthy=False) for device in gpus(0, 1))
    situation = happen(situation, ListDevices(GPU, sick)).situation
    assert len(allocatable(situation, 0).devices) == 2


def test_a_device_whose_place_names_no_node_is_not_among_the_allocatable_ones() -> None:
    """The kubelet writes an entry for each node that is named (1.21 to 1.37)."""
    node, ledger = running(box(2, 8, devices=[Device(GPU, "odd", ())]), settings())
    assert not allocatable(situation_of(node, ledger, None), 0).devices


def test_policies_none_offer_neither_cpus_nor_memory() -> None:
    node, ledger = running(BOX, settings())
    situation = situation_of(node, ledger, None)
    found = allocatable(situation, node.cpu.allocatable(ledger.cpu))
    assert (list(found.cpu_ids), list(found.memory)) == ([], [])


def test_rules_only_come_with_releases() -> None:
    before = SocketRules()
    for minor in range(OLDEST_MINOR, NEWEST_MINOR + 1):
        ordered = settings(f"1.{minor}")
        rules = socket_rules(ordered)
        assert all(
            now or not then
            for now, then in zip(
                (getattr(rules, name) for name in SocketRules.__struct_fields__),
                (getattr(before, name) for name in SocketRules.__struct_fields__),
                strict=True,
            )
        )
        assert lists_active(ordered) is (minor >= 34)
        before = rules
    assert all(getattr(before, name) for name in SocketRules.__struct_fields__)
