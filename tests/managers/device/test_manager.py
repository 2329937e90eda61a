"""The device manager: hints, what a container holds, and what the state file lags behind."""

import pytest
from msgspec.structs import replace

from numafit.decision.node import Node
from numafit.errors import KubeletPanic
from numafit.ledger.ledger import DeviceLedger, Held, Hint, Ledger
from numafit.machine.model import Device, Machine
from numafit.managers.device.manager import free_devices, is_plugin_resource, without_stale, written
from numafit.managers.device.plugin import Plugin
from numafit.managers.protocol import PluginCall
from numafit.workload.pod import Pod
from tests.decision.strategies import GPU, NIC, SEED_BOX, box, call_for, container, gpus, pod, running, settings
from tests.managers.refusals import Words, words


def held(*ids: str, node: int = 0) -> Held:
    return Held({node: ids}, frozenset(ids), b"")


def holding(ledger: Ledger, uid: str, app: Held, *, active: bool = True) -> Ledger:
    """Container `app` of a pod has devices of GPU."""
    device = replace(
        ledger.device,
        held={**ledger.device.held, uid: {"app": {GPU: app}}},
        allocated={GPU: ledger.device.allocated.get(GPU, frozenset()) | app.ids},
    )
    known = {**ledger.active, uid: pod(uid, container("app"))} if active else ledger.active
    return replace(ledger, device=device, active=known)


def wants(count: str, uid: str = "p") -> Pod:
    return pod(uid, container("app", {GPU: count}))


def hints(node: Node, ledger: Ledger, wanted: Pod) -> object:
    """Those of the first app container; the pod scope says the same for a pod of one container."""
    call = call_for(node, ledger, wanted)
    found = node.device.hints(call, wanted.containers[0])
    assert node.device.pod_hints(call) == found
    return found


# --- hints -----------------------------------------------------------------------------------------------------------

ANY = ((1, True), (2, True), (3, False))


@pytest.mark.parametrize(
    ("free", "wanted", "expected"),
    [
        ((0, 1, 2), "1", ANY),
        ((0, 1, 2), "2", ((2, True), (3, False))),
        ((0, 1, 2), "3", ((3, True),)),
        ((0, 1), "1", ANY),
        ((0, 1), "2", ((3, False),)),
        ((0, 1), "3", ()),
        ((1,), "1", ((2, True), (3, False))),
        ((1,), "2", ()),
        ((1,), "3", ()),
        ((0, 1, 2), "0", ANY),
    ],
)
def test_hints_on_the_box_of_three_gpus(free: tuple[int, ...], wanted: str, expected: tuple[Hint, ...]) -> None:
    """GPU0 on node 0, GPU1 and GPU2 on node 1. Capacity decides on preferred; a request for none is one too."""
    node, ledger = running(SEED_BOX, settings())
    taken = [f"GPU{i}" for i in range(3) if i not in free]
    if taken:
        ledger = holding(ledger, "old", held(*taken))
    assert hints(node, ledger, wants(wanted)) == {GPU: expected}


@pytest.mark.parametrize(("version", "expected"), [("1.35", ((2, True), (3, False))), ("1.36", ((2, True),))])
def test_since_1_36_masks_are_made_only_of_nodes_that_have_a_device(version: str, expected: tuple[Hint, ...]) -> None:
    """Two GPUs, both on node 1 of two. This changes merges, CPU sets and at times the verdict."""
    node, ledger = running(box(2, 4, devices=gpus(1, 1)), settings(version))
    assert hints(node, ledger, wants("1")) == {GPU: expected}


@pytest.mark.parametrize(
    ("version", "numa", "expected"),
    [("1.25", (), ()), ("1.26", (), None), ("1.20", None, None), ("1.36", None, None)],
)
def test_devices_without_a_node_have_no_preference(
    version: str, numa: tuple[int, ...] | None, expected: tuple[Hint, ...] | None
) -> None:
    """Up to 1.25 a topology that names no node counts as one, and no mask can satisfy it."""
    node, ledger = running(box(2, 4, devices=[Device(GPU, "GPU0", numa)]), settings(version))
    assert hints(node, ledger, wants("1")) == {GPU: expected}


@pytest.mark.parametrize("nowhere", [7, -1, 64, 2**63 - 1, -(2**63)])
def test_a_device_outside_the_machine_is_in_no_mask(nowhere: int) -> None:
    """The plugin names a node that the machine does not have, which may be any number (all releases)."""
    for version in ("1.20", "1.36"):
        node, ledger = running(box(2, 4, devices=gpus(0, nowhere)), settings(version))
        assert hints(node, ledger, wants("2")) == {GPU: ()}


def test_other_resources_have_no_hints() -> None:
    """No plugin ever registered it; the map is empty, not nil (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    assert hints(node, ledger, pod("p", container("app", {NIC: "1", "cpu": "2"}))) == {}


@pytest.mark.parametrize(
    ("app", "wanted", "expected"),
    [
        (held("GPU1", node=1), "1", ((2, True), (3, False))),
        (held("GPU0", "GPU1"), "2", ((3, False),)),
        (held("GPU0"), "2", ()),
    ],
)
def test_a_container_that_has_its_devices_gets_hints_for_just_these(
    app: Held, wanted: str, expected: tuple[Hint, ...]
) -> None:
    """With another number than asked for it cannot be satisfied (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    assert hints(node, holding(ledger, "p", app), wants(wanted)) == {GPU: expected}


def test_devices_to_reuse_must_lie_inside_the_mask_and_count() -> None:
    """The init container has GPU0 on node 0: for two GPUs the app needs node 0, too (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    wanted = pod("p", container("app", {GPU: "2"}), init=[container("setup", {GPU: "1"})])
    call = call_for(node, ledger, wanted, (0b01, True))
    assert node.device.allocate(call, wanted.init_containers[0]) is None
    assert call.ledger.device.reuse == {GPU: frozenset({"GPU0"})}
    assert node.device.hints(call, wanted.containers[0]) == {GPU: ((3, False),)}


@pytest.mark.parametrize(("version", "panics"), [("1.33", False), ("1.34", True)])
def test_a_device_that_is_held_and_no_longer_listed_crashes_the_kubelet_from_1_34_on(
    version: str, panics: bool
) -> None:
    """A nil pointer; before it counted as a device without topology."""
    node, ledger = running(SEED_BOX, settings(version))
    ledger = holding(ledger, "p", held("GPU1", node=1))
    ledger = replace(ledger, device=node.device.listed(ledger.device, GPU, gpus(0)))
    if panics:
        with pytest.raises(KubeletPanic, match="nil pointer dereference"):
            hints(node, ledger, wants("1"))
    else:
        assert hints(node, ledger, wants("1")) == {GPU: ()}


# --- allocation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "numa", "place"),
    [
        ("1.22", None, {0: ("GPU0",)}),
        ("1.23", None, {-1: ("GPU0",)}),
        ("1.36", (), {-1: ("GPU0",)}),
        ("1.36", (0, 1), {0: ("GPU0",), 1: ("GPU0",)}),
    ],
)
def test_a_device_is_stored_under_each_of_its_nodes(
    version: str, numa: tuple[int, ...] | None, place: dict[int, tuple[str, ...]]
) -> None:
    """One without a node under -1, up to 1.22 under 0."""
    node, ledger = running(box(2, 4, devices=[Device(GPU, "GPU0", numa)]), settings(version))
    call = call_for(node, ledger, wants("1"))
    assert node.device.allocate(call, call.ask.pod.containers[0]) is None
    assert call.ledger.device.held == {"p": {"app": {GPU: Held(place, frozenset({"GPU0"}), b"")}}}
    assert call.plugin_calls == [PluginCall("allocate", GPU, ("GPU0",))]


def test_the_state_file_is_written_once_per_container() -> None:
    """After all its resources; a container that gets nothing does not write (all releases)."""
    machine = box(2, 4, devices=[*gpus(0), Device(NIC, "nic0", (0,))])
    node, ledger = running(machine, settings())
    call = call_for(node, ledger, pod("p", container("app", {GPU: "1", NIC: "1"}), container("idle", {GPU: "0"})))
    assert node.device.allocate(call, call.ask.pod.containers[0]) is None
    device = call.ledger.device
    assert device.written == (device.held, device.healthy)
    assert node.device.allocate(call, call.ask.pod.containers[1]) is None
    assert call.ledger.device.written is device.written


def test_when_a_later_resource_fails_the_earlier_one_stays_held_but_unwritten() -> None:
    """GPU comes after NIC in this order; the kubelet's own is random (all releases)."""
    machine = box(2, 4, devices=[*gpus(0), Device(NIC, "nic0", (0,))])
    node, ledger = running(machine, settings())
    call = call_for(node, ledger, pod("p", container("app", {GPU: "2", NIC: "1"})))
    assert words(node.device.allocate(call, call.ask.pod.containers[0])) == Words(
        f"requested number of devices unavailable for {GPU}. Requested: 2, Available: 1"
    )
    assert call.ledger.device.held == {"p": {"app": {NIC: held("nic0")}}}
    assert call.ledger.device.written == ledger.device.written


def test_an_allocation_that_the_plugin_refuses_blocks_nothing() -> None:
    """The sets are made anew from what pods hold; the text is the plugin's (all releases)."""
    node, ledger = running(SEED_BOX, settings(), {GPU: Plugin(allocate_error="rpc error: code = Unknown desc = no")})
    blocked = replace(ledger, device=replace(ledger.device, allocated={GPU: frozenset({"GPU2"})}))
    call = call_for(node, blocked, wants("2"))
    assert words(node.device.allocate(call, call.ask.pod.containers[0])) == Words("rpc error: code = Unknown desc = no")
    assert (call.ledger.device.allocated, call.plugin_calls) == ({}, [])


@pytest.mark.parametrize(("version", "app"), [("1.28", {"GPU0", "GPU1"}), ("1.29", {"GPU1", "GPU2"})])
def test_sidecars_keep_their_devices_from_1_29_on(version: str, app: set[str]) -> None:
    """Before they count as init containers that end, and the app container takes their devices again."""
    node, ledger = running(SEED_BOX, settings(version))
    wanted = pod("p", container("app", {GPU: "2"}), init=[container("side", {GPU: "1"}, restartable=True)])
    call = call_for(node, ledger, wanted)
    assert [node.device.allocate(call, each) for each in wanted.all_containers] == [None, None]
    assert call.ledger.device.held["p"]["app"][GPU].ids == app


def test_what_a_pod_may_reuse_is_forgotten_when_another_one_allocates() -> None:
    """There is one table, for the pod that allocated last, whether it wants devices or not (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    first = pod("first", container("app"), init=[container("setup", {GPU: "1"})])
    call = call_for(node, ledger, first)
    assert [node.device.allocate(call, each) for each in first.all_containers] == [None, None]
    assert (call.ledger.device.reuse_pod, call.ledger.device.reuse) == ("first", {GPU: frozenset({"GPU0"})})
    call = call_for(node, call.ledger, pod("second", container("app")))
    assert node.device.allocate(call, call.ask.pod.containers[0]) is None
    assert (call.ledger.device.reuse_pod, call.ledger.device.reuse) == ("second", {})


def test_a_managed_pod_gets_no_devices_at_admission() -> None:
    """They are allocated when its containers are created (1.36 with PodLevelResourceManagers, pod scope)."""
    node, ledger = running(SEED_BOX, settings())
    call = call_for(node, ledger, wants("1"))
    assert node.device.allocate_pod(call) is None
    assert call.ledger.device == ledger.device


# --- the ledger ------------------------------------------------------------------------------------------------------


def test_a_list_from_the_plugin_replaces_the_one_before_and_writes_the_file() -> None:
    """Unhealthy devices are known and not free; a resource without a healthy one is still a plugin's (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    sick = Device(GPU, "GPU0", (0,), healthy=False)
    device = node.device.listed(ledger.device, GPU, (sick,))
    assert (device.devices, device.healthy) == ({GPU: {"GPU0": sick}}, {GPU: frozenset()})
    assert (device.written, device.file) == (({}, {GPU: frozenset()}), None)
    assert (is_plugin_resource(device, GPU), free_devices(device, GPU)) == (True, frozenset())


def test_devices_of_pods_that_are_gone_are_free_but_the_file_still_has_them() -> None:
    """It is written by an allocation or a plugin, not by the removal of stale pods (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    ledger = holding(ledger, "gone", held("GPU0"), active=False)
    ledger = replace(ledger, device=written(ledger.device))
    after = without_stale(ledger)
    assert (after.device.held, after.device.allocated) == ({}, {})
    assert after.device.written == ledger.device.written
    assert hints(node, ledger, wants("3")) == {GPU: ((3, True),)}


def test_the_sets_are_made_anew_only_when_a_pod_goes() -> None:
    """Ids that a failed pick left blocked stay so, until some pod with devices is gone (all releases)."""
    _, ledger = running(SEED_BOX, settings())
    blocked = replace(ledger, device=replace(ledger.device, allocated={GPU: frozenset({"GPU2"})}))
    assert without_stale(blocked) is blocked
    gone = holding(blocked, "gone", held("GPU0"), active=False)
    assert without_stale(gone).device.allocated == {}
    not_ready = replace(gone, ready=False)
    assert without_stale(not_ready) is not_ready


def test_a_resource_known_from_the_state_file_is_a_plugin_s() -> None:
    """Registered, or held by somebody (all releases)."""
    assert is_plugin_resource(DeviceLedger(healthy={GPU: frozenset()}), GPU)
    assert is_plugin_resource(DeviceLedger(allocated={GPU: frozenset()}), GPU)
    assert not is_plugin_resource(DeviceLedger(), GPU)


def test_a_machine_of_one_node_has_one_hint() -> None:
    """Nothing to choose (all releases)."""
    machine: Machine = box(1, 4, devices=gpus(0))
    node, ledger = running(machine, settings("1.20"))
    assert hints(node, ledger, wants("1")) == {GPU: ((1, True),)}
