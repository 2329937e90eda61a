"""The steps of a kubelet's start: their order, what is left out, and what goes on after a refusal."""

import pytest
from msgspec.structs import replace

from numafit.bits import parse_cpuset
from numafit.decision.admit import admit
from numafit.decision.files import state_files
from numafit.decision.node import Node
from numafit.decision.start import UNKNOWN, Start, again, examined, start
from numafit.errors import InputError, StartError
from numafit.ledger.files.cpu import CpuFile, cpu_bytes
from numafit.ledger.files.memory import memory_bytes
from numafit.ledger.ledger import DeviceLedger, MemoryFile
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.machine.model import Device, Machine
from numafit.managers.device.plugin import Plugin
from numafit.quantity import Quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.settings import Settings
from numafit.settings.versions import parse_version
from tests.decision.strategies import GI, GPU, NIC, SEED_BOX, box, container, cpus, gpus, pod, running, settings
from tests.settings.words import arguments_of_words

NEWEST = parse_version("1.36.4")


def node_of(machine: Machine, ordered: Settings) -> Node:
    return start(Start(machine=machine, settings=ordered), "node").node


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
    node = node_of(SEED_BOX, settings(version, gates=gates))
    assert node.managers == ((node.device, node.cpu, node.memory) if there else (node.device, node.cpu))


def test_the_topology_manager_is_made_before_the_cpu_manager_and_that_before_the_memory_manager() -> None:
    """An error of one hides those of the next (all releases)."""
    found = []
    for topology, cpu, memory in (("odd", "odd", "odd"), ("none", "odd", "odd"), ("none", "none", "odd")):
        with pytest.raises(StartError) as caught:
            node_of(SEED_BOX, settings(topology=topology, cpu=cpu, memory=memory))
        found.append(caught.value.stage)
    assert found == ["topologymanager.NewManager", "cpumanager.NewManager", "memorymanager.NewManager"]


def test_the_cpu_manager_starts_before_the_memory_manager() -> None:
    """Both files are of another policy; the first one is named (all releases)."""
    node = node_of(SEED_BOX, settings(cpu="static"))
    files = {CPU_FILE: cpu_bytes(CpuFile("none", ""), "v2"), MEMORY_FILE: memory_bytes(MemoryFile("Static"), "v1")}
    with pytest.raises(StartError) as caught:
        start(again(node, files))
    assert caught.value.stage == "cpumanager.Start"
    with pytest.raises(StartError) as caught:
        start(again(node, {MEMORY_FILE: files[MEMORY_FILE]}))
    assert caught.value.stage == "memorymanager.Start"


def test_a_node_without_files_starts_empty() -> None:
    """All CPUs shared, all memory free, no device known before a plugin comes (all releases)."""
    known = start(
        Start(
            machine=box(2, 28, memory=11 * GI),
            settings=settings(cpu="static", memory="Static", reserved_memory={0: {"memory": "1Gi"}}),
        )
    )
    assert known.restored.cpu.default == parse_cpuset("0-27")
    assert known.restored.memory.nodes == known.node.idle_memory
    assert known.device_state == (DeviceLedger(), "")


@pytest.mark.parametrize("text", ["{", '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1}'])
def test_a_device_file_that_cannot_be_read_does_not_stop_the_kubelet(text: str) -> None:
    """It is logged, and the kubelet goes on without (all releases)."""
    known = start(Start(machine=SEED_BOX, settings=settings(), files={DEVICE_FILE: text}))
    assert known.device_state[1]
    assert known.restored.device == DeviceLedger(file=text)


def test_plugins_register_with_the_devices_of_their_resource() -> None:
    """Each list is written to the state file, also an empty one (all releases)."""
    sick = Device(GPU, "GPU1", (1,), healthy=False)
    machine = box(2, 4, devices=[*gpus(0), sick])
    known = start(Start(machine=machine, settings=settings(), plugins={GPU: Plugin(), NIC: Plugin()}))
    device = known.ledger.device
    assert device.devices == {GPU: {"GPU0": gpus(0)[0], "GPU1": sick}, NIC: {}}
    assert device.healthy == {GPU: frozenset({"GPU0"}), NIC: frozenset()}
    assert device.connected == frozenset({GPU, NIC})
    assert device.written == ({}, device.healthy)


def test_pods_that_are_there_are_known_at_the_start_without_being_admitted() -> None:
    """In the order given: the oldest first (all releases)."""
    pods = {uid: pod(uid, container("app")) for uid in ("b", "a")}
    known = start(Start(machine=SEED_BOX, settings=settings(), active=pods))
    assert list(known.ledger.active) == ["b", "a"]


def test_without_being_told_the_pods_that_are_there_are_those_of_the_state_files() -> None:
    """What a container holds stands for what it asked for."""
    node, ledger = running(SEED_BOX, settings(cpu="static"))
    held = admit(node, ledger, pod("p", cpus("app", "3", {GPU: "2"}))).ledger
    known = start(again(node, state_files(node, held)))
    assert {uid: [each.limits for each in own.containers] for uid, own in known.active.items()} == {
        "p": [{"cpu": Quantity(3), GPU: Quantity(2)}]
    }
    assert known.ledger.active == known.active


# --- the walk ---


def test_the_whole_start_goes_from_texts_to_a_ledger() -> None:
    """File, drop-in and flags; the values of all steps are there afterwards."""
    sources = ConfigSources(
        ConfigFile("k.yaml", "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 7\n"),
        arguments=tuple(arguments_of_words(["--pods-per-core=2"])),
    )
    known = start(Start(version=NEWEST, sources=sources, machine=box(2, 28, memory=GI)))
    assert all(getattr(known, field) is not UNKNOWN for field in Start.__struct_fields__)
    assert (known.config.max_pods, known.config.pods_per_core, str(known.allocatable["pods"])) == (7, 2, "7")


def test_a_start_goes_on_where_it_was_left() -> None:
    """Values that are known are not found out again."""
    given = Start(version=NEWEST, config=KubeletConfig(), machine=SEED_BOX)
    half = start(given, "node")
    assert (half.cpu_state, half.ledger) == (UNKNOWN, UNKNOWN)
    whole = start(half)
    assert whole.node is half.node
    assert whole == start(given)


def test_settings_alone_make_a_ledger_but_nothing_allocatable() -> None:
    """As a recording gives them: what is offered to pods stands in a configuration."""
    known = start(Start(machine=SEED_BOX, settings=settings()))
    assert (known.allocatable, known.valid) == (UNKNOWN, UNKNOWN)
    assert known.ledger.device.connected == frozenset({GPU})


BAD = KubeletConfig(cpu_manager_policy="odd", memory_manager_policy="odd", kube_reserved={"cpu": "99"})


def test_the_kubelet_stops_at_its_first_refusal() -> None:
    with pytest.raises(StartError, match="unknown policy") as caught:
        start(Start(version=NEWEST, config=BAD, machine=SEED_BOX))
    assert caught.value.stage == "cpumanager.NewManager"


def test_an_examination_goes_on_with_every_step_whose_values_stand() -> None:
    """The state of a manager that cannot be made is not looked at; that of the devices is."""
    found = examined(Start(version=NEWEST, config=BAD, machine=SEED_BOX, files={DEVICE_FILE: "{"}))
    assert [refusal.step for refusal in found.refusals] == ["cpu", "memory", "allocatable"]
    assert found.skipped == (
        *("flags", "file", "merged"),
        *("node", "cpu_state", "memory_state", "active", "restored", "ledger"),
    )
    assert found.known.device_state[1]
    with pytest.raises(StartError, match="unknown policy"):
        found.started()


@pytest.mark.parametrize(
    ("config", "step"),
    [
        (KubeletConfig(feature_gates={"No": True}), "gates"),
        (KubeletConfig(max_pods=-1), "valid"),
        (KubeletConfig(kube_reserved={"gold": "1"}), "settings"),
    ],
)
def test_after_a_configuration_that_is_refused_no_manager_is_made(config: KubeletConfig, step: str) -> None:
    found = examined(Start(version=NEWEST, config=config, machine=SEED_BOX))
    assert [refusal.step for refusal in found.refusals] == [step]
    assert {"cpu", "memory", "topology", "node"} <= set(found.skipped)


def test_the_eviction_manager_is_made_after_the_others_and_before_state_files_are_read() -> None:
    """A soft threshold without its grace period (all releases)."""
    config = KubeletConfig(eviction_soft={"memory.available": "1Gi"})
    with pytest.raises(StartError) as caught:
        start(Start(version=NEWEST, config=config, machine=SEED_BOX, files={CPU_FILE: "{"}))
    assert (caught.value.stage, caught.value.message) == (
        "kubelet.NewMainKubelet",
        "failed to create kubelet: grace period must be specified for the soft eviction threshold memory.available",
    )
    with pytest.raises(StartError, match="unknown policy"):
        start(Start(version=NEWEST, config=replace(config, cpu_manager_policy="odd"), machine=SEED_BOX))


def test_a_step_can_be_left_out() -> None:
    """Nothing is said of what needs it, either."""
    found = examined(Start(version=NEWEST, config=BAD, machine=SEED_BOX), {"allocatable", "memory"})
    assert [refusal.step for refusal in found.refusals] == ["cpu"]


def test_numa_nodes_beyond_the_kubelets_masks_are_refused_before_the_managers() -> None:
    """A limit of numafit, not an error of the kubelet."""
    machine = replace(SEED_BOX, numa_nodes=(replace(SEED_BOX.numa_nodes[0], id=64), *SEED_BOX.numa_nodes[1:]))
    with pytest.raises(InputError, match="end at NUMA node 63"):
        start(Start(version=NEWEST, config=BAD, machine=machine))
