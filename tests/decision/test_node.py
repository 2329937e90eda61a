"""A node as its kubelet makes it at start."""

import pytest
from msgspec.structs import replace

from numafit.bits import parse_cpuset
from numafit.decision.node import CPU_FILE, DEVICE_FILE, MEMORY_FILE, new_node, register, start
from numafit.errors import StartError
from numafit.ledger.files.cpu import CpuFile, cpu_bytes
from numafit.ledger.files.device import DeviceEntry, DeviceFile, device_bytes
from numafit.ledger.files.memory import memory_bytes
from numafit.ledger.ledger import DeviceLedger, Held, MemoryFile
from numafit.machine.model import Device
from numafit.managers.device.plugin import Plugin
from tests.decision.strategies import GI, GPU, NIC, SEED_BOX, box, container, gpus, pod, settings


@pytest.mark.parametrize(
    ("version", "gates", "there"),
    [
        ("1.20", {}, False),
        ("1.21", {}, False),
        ("1.21", {"MemoryManager": True}, True),
        ("1.22", {}, True),
        ("1.31", {"MemoryManager": False}, False),
        ("1.36", {}, True),
    ],
)
def test_the_memory_manager_came_with_1_21_behind_a_gate(version: str, gates: dict[str, bool], there: bool) -> None:
    """Off in 1.21, on from 1.22, without a gate since 1.36."""
    node = new_node(SEED_BOX, settings(version, gates=gates))
    assert node.managers == ((node.device, node.cpu, node.memory) if there else (node.device, node.cpu))


def test_the_topology_manager_is_made_before_the_cpu_manager_and_that_before_the_memory_manager() -> None:
    """An error of one hides those of the next (all releases)."""
    found = []
    for topology, cpu, memory in (("odd", "odd", "odd"), ("none", "odd", "odd"), ("none", "none", "odd")):
        with pytest.raises(StartError) as caught:
            new_node(SEED_BOX, settings(topology=topology, cpu=cpu, memory=memory))
        found.append(caught.value.stage)
    assert found == ["topologymanager.NewManager", "cpumanager.NewManager", "memorymanager.NewManager"]


def test_the_cpu_manager_starts_before_the_memory_manager() -> None:
    """Both files are of another policy; the first one is named (all releases)."""
    node = new_node(SEED_BOX, settings(cpu="static"))
    files = {CPU_FILE: cpu_bytes(CpuFile("none", ""), "v2"), MEMORY_FILE: memory_bytes(MemoryFile("Static"), "v1")}
    with pytest.raises(StartError) as caught:
        start(node, files)
    assert caught.value.stage == "cpumanager.Start"
    with pytest.raises(StartError) as caught:
        start(node, {MEMORY_FILE: files[MEMORY_FILE]})
    assert caught.value.stage == "memorymanager.Start"


def test_a_node_without_files_starts_empty() -> None:
    """All CPUs shared, all memory free, no device known before a plugin comes (all releases)."""
    node = new_node(
        box(2, 28, memory=11 * GI), settings(cpu="static", memory="Static", reserved_memory={0: {"memory": "1Gi"}})
    )
    started = start(node)
    assert started.ledger.cpu.default == parse_cpuset("0-27")
    assert started.ledger.memory.nodes == node.idle_memory
    assert (started.ledger.device, started.device_file_error) == (DeviceLedger(), "")


def test_devices_that_containers_hold_are_restored_and_those_of_a_plugin_wait_for_it() -> None:
    """A resource from the file is known, with no healthy device, until its plugin is back (all releases)."""
    content = DeviceFile(
        (DeviceEntry("p", "app", GPU, {0: ("GPU0",), 1: ("GPU1",)}, b""),), {GPU: ("GPU0", "GPU1"), NIC: ()}
    )
    text = device_bytes(content)
    started = start(new_node(SEED_BOX, settings()), {DEVICE_FILE: text})
    assert started.ledger.device == DeviceLedger(
        held={"p": {"app": {GPU: Held({0: ("GPU0",), 1: ("GPU1",)}, frozenset({"GPU0", "GPU1"}), b"")}}},
        allocated={GPU: frozenset({"GPU0", "GPU1"})},
        healthy={GPU: frozenset(), NIC: frozenset()},
        file=text,
    )


@pytest.mark.parametrize("text", ["{", '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1}'])
def test_a_device_file_that_cannot_be_read_does_not_stop_the_kubelet(text: str) -> None:
    """It is logged, and the kubelet goes on without (all releases)."""
    started = start(new_node(SEED_BOX, settings()), {DEVICE_FILE: text})
    assert started.device_file_error
    assert started.ledger.device == DeviceLedger(file=text)


def test_an_entry_whose_answer_cannot_be_decoded_is_left_out() -> None:
    """The kubelet logs it and goes on with the others (all releases)."""
    good = DeviceEntry("p", "app", GPU, {0: ("GPU0",)}, b"")
    bad = replace(good, pod_uid="q", response=b"\xff")
    text = device_bytes(DeviceFile((bad, good), {}))
    assert set(start(new_node(SEED_BOX, settings()), {DEVICE_FILE: text}).ledger.device.held) == {"p"}


def test_plugins_register_with_the_devices_of_their_resource() -> None:
    """Each list is written to the state file, also an empty one (all releases)."""
    sick = Device(GPU, "GPU1", (1,), healthy=False)
    machine = box(2, 4, devices=[*gpus(0), sick])
    node = new_node(machine, settings(), {GPU: Plugin(), NIC: Plugin()})
    device = register(node, start(node).ledger, machine.devices).device
    assert device.devices == {GPU: {"GPU0": gpus(0)[0], "GPU1": sick}, NIC: {}}
    assert device.healthy == {GPU: frozenset({"GPU0"}), NIC: frozenset()}
    assert device.connected == frozenset({GPU, NIC})
    assert device.written == ({}, device.healthy)


def test_active_pods_are_known_at_the_start_without_being_admitted() -> None:
    """In the order given: the oldest first (all releases)."""
    pods = [pod("b", container("app")), pod("a", container("app"))]
    assert list(start(new_node(SEED_BOX, settings()), active=pods).ledger.active) == ["b", "a"]
