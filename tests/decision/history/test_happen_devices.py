"""Events of plugins, and of containers that start again."""

import pytest
from msgspec.structs import replace

from numafit.decision.history.event import (
    AddPods,
    Beginning,
    Event,
    ExitContainer,
    ForgetPlugin,
    ListDevices,
    RemovePods,
    RestartKubelet,
    StartKubelet,
    StartPlugin,
    StopKubelet,
    StopPlugin,
)
from numafit.decision.history.situation import situation_of
from numafit.machine.model import Device
from numafit.managers.device.plugin import plugins_of
from numafit.quantity import quantity_of
from tests.advice.stages import BOX
from tests.decision.lives import played, verdicts, wants
from tests.decision.strategies import (
    GI,
    GPU,
    NIC,
    SEED_BOX,
    amounts,
    box,
    cpus,
    gpus,
    memory,
    pod,
    running,
    settings,
)

# --- plugins ---------------------------------------------------------------------------------------------------------


def test_devices_that_fall_sick_are_given_to_nobody() -> None:
    node, ledger = running(SEED_BOX, settings())
    sick = tuple(replace(device, healthy=False) for device in gpus(0, 1, 1))
    simulation = played(situation_of(node, ledger, None), ListDevices(GPU, sick), AddPods((wants("p"),)))
    assert verdicts(simulation) == [("add", "p", "UnexpectedAdmissionError")]


def test_a_plugin_that_ended_offers_nothing_until_it_is_back() -> None:
    node, ledger = running(SEED_BOX, settings())
    simulation = played(
        situation_of(node, ledger, None),
        StopPlugin(GPU),
        AddPods((wants("p"),)),
        RestartKubelet(),
        AddPods((wants("q"),)),
        StartPlugin(GPU, gpus(0, 1), again=True),
        AddPods((wants("r"),)),
    )
    refused = "UnexpectedAdmissionError"
    assert verdicts(simulation) == [("add", "p", refused), ("add", "q", refused), ("add", "r", "admitted")]


@pytest.mark.parametrize("gone", [StopPlugin(GPU), RestartKubelet(Beginning("never"))])
def test_a_resource_that_was_given_up_stays_in_the_node_object_with_nothing_of_it(gone: Event) -> None:
    """All releases: the device manager passes it by then, and the sum of the node does not."""
    node, ledger = running(SEED_BOX, settings())
    simulation = played(
        situation_of(node, ledger, amounts({"cpu": "32", "memory": "64Gi", "pods": "110"})),
        gone,
        AddPods((wants("p"),)),
        ForgetPlugin(GPU),
        AddPods((wants("q"),)),
        RestartKubelet(Beginning("never")),
        AddPods((wants("r"),)),
        StartPlugin(GPU, gpus(0, 1), again=True),
        AddPods((wants("s"),)),
    )
    refused, short = "UnexpectedAdmissionError", f"OutOf{GPU}"
    assert [verdict for _, _, verdict in verdicts(simulation)] == [refused, short, short, "admitted"]
    message = f"Node didn't have enough resource: {GPU}, requested: 1, used: 0, capacity: 0"
    assert simulation.steps[1].decision.message == message
    known = [GPU in each.after.ledger.device.healthy for each in simulation.happened]
    assert known == [True, True, False, False, False, False, True, True]


def test_who_holds_a_device_keeps_it_when_its_resource_is_given_up() -> None:
    """At the next start, too; nobody else is given one, and the manager says so."""
    node, ledger = running(SEED_BOX, settings())
    simulation = played(
        situation_of(node, ledger, amounts({"cpu": "32", "memory": "64Gi", "pods": "110"})),
        AddPods((wants("p"),)),
        StopPlugin(GPU),
        ForgetPlugin(GPU),
        AddPods((wants("q"),)),
        RestartKubelet(),
    )
    refused = "UnexpectedAdmissionError"
    assert verdicts(simulation) == [("add", "p", "admitted"), ("add", "q", refused), ("restart", "p", "admitted")]
    assert simulation.happened[-1].after.node_allocatable[GPU] == quantity_of(0)


def test_a_plugin_that_was_never_there_offers_a_new_resource() -> None:
    """A request for it was dropped before."""
    node, ledger = running(SEED_BOX, settings())
    plugin = StartPlugin(NIC, (Device(NIC, "nic0", (0,)),))
    simulation = played(
        situation_of(node, ledger, None), AddPods((wants("early", 1, NIC),)), plugin, AddPods((wants("p", 2, NIC),))
    )
    assert verdicts(simulation) == [("add", "early", "admitted"), ("add", "p", "UnexpectedAdmissionError")]


def test_a_plugin_that_starts_while_the_kubelet_is_down_registers_with_the_next_one() -> None:
    node, ledger = running(SEED_BOX, settings())
    plugin = StartPlugin(NIC, (Device(NIC, "nic0", (0,)),))
    simulation = played(situation_of(node, ledger, None), StopKubelet(), plugin, StartKubelet())
    assert [NIC in each.after.ledger.device.healthy for each in simulation.happened] == [False, False, True]


def test_a_gpu_that_was_not_there_before_is_given_like_any_other() -> None:
    """The plugin of NVIDIA numbers what it lists."""
    machine = replace(BOX, devices=gpus(0, 1))
    ordered = settings(topology="restricted")
    node, ledger = running(machine, ordered, plugins_of(machine))
    new = (*gpus(0), Device(GPU, "GPU-new", (1,)))
    simulation = played(situation_of(node, ledger, None), ListDevices(GPU, new), AddPods((wants("p", 2),)))
    assert simulation.after.device.held["p"]["app"][GPU].ids == {"GPU0", "GPU-new"}


# --- containers ------------------------------------------------------------------------------------------------------


def test_a_pod_admitted_before_its_plugin_gets_the_device_when_its_container_starts_again() -> None:
    """Without any hint: the device may be on another NUMA node, and then the next restart rejects the pod (1.36)."""
    node, ledger = running(box(2, 8), settings(cpu="static", topology="restricted"))
    early = pod("early", cpus("app", "3", {NIC: "1"}))
    simulation = played(
        situation_of(node, ledger, None),
        AddPods((early,)),
        StartPlugin(NIC, (Device(NIC, "nic1", (1,)),)),
        ExitContainer(early, "app"),
        RestartKubelet(),
    )
    held = [each.after.ledger.device.held.get("early", {}).get("app", {}).keys() for each in simulation.happened]
    assert [list(resources) for resources in held] == [[], [], [NIC], [NIC]]
    assert verdicts(simulation) == [("add", "early", "admitted"), ("restart", "early", "TopologyAffinityError")]


def test_a_container_without_a_device_for_it_waits_until_there_is_one() -> None:
    """The kubelet tries again and again."""
    node, ledger = running(box(2, 8), settings())
    early, other = wants("early", 1, NIC), wants("other", 1, NIC)
    one = (Device(NIC, "nic0", (0,)),)
    simulation = played(
        situation_of(node, ledger, None),
        AddPods((early,)),
        StartPlugin(NIC, one),
        AddPods((other,)),
        ExitContainer(early, "app"),
        RemovePods((other,)),
    )
    assert [each.after.unstarted for each in simulation.happened[-2:]] == [(("early", ("app",)),), ()]
    assert list(simulation.after.device.held) == ["early"]


def test_memory_charged_again_at_a_restart_is_freed_when_the_container_starts_again() -> None:
    """Reuse is computed anew at that moment (1.22 to 1.36)."""
    ordered = settings(memory="Static", reserved_memory={0: {"memory": "1Gi"}})
    node, ledger = running(box(1, 4, memory=11 * GI), ordered)
    wanted = pod("p", memory("app", "1Gi"), init=[memory("setup", "4Gi")])
    simulation = played(
        situation_of(node, ledger, None), AddPods((wanted,)), RestartKubelet(), ExitContainer(wanted, "app")
    )
    reserved = [each.after.ledger.memory.nodes[0].tables["memory"].reserved for each in simulation.happened]
    assert reserved == [GI, 5 * GI, GI]


def test_a_container_that_exits_while_the_kubelet_is_down_is_started_by_the_next_one() -> None:
    ordered = settings(memory="Static", reserved_memory={0: {"memory": "1Gi"}})
    node, ledger = running(box(1, 4, memory=11 * GI), ordered)
    wanted = pod("p", memory("app", "1Gi"), init=[memory("setup", "4Gi")])
    events = (AddPods((wanted,)), StopKubelet(), ExitContainer(wanted, "app"), StartKubelet())
    simulation = played(situation_of(node, ledger, None), *events)
    assert simulation.after.memory.nodes[0].tables["memory"].reserved == GI


def test_an_init_container_that_has_ended_does_not_exit() -> None:
    """But for a sidecar, which runs as long as its pod."""
    node, ledger = running(box(1, 4, memory=11 * GI), settings())
    wanted = pod(
        "p", memory("app", "1Gi"), init=[memory("setup", "4Gi"), replace(memory("side", "1Gi"), restartable=True)]
    )
    events = (AddPods((wanted,)), ExitContainer(wanted, "setup"), ExitContainer(wanted, "side"))
    simulation = played(situation_of(node, ledger, None), *events)
    assert [each.void for each in simulation.happened[1:]] == [
        f"container setup of {wanted.full_name} has ended already",
        "",
    ]


def test_devices_of_a_pod_that_is_managed_as_a_whole_are_given_when_its_containers_start() -> None:
    """PodLevelResourceManagers at pod scope: nothing at admission, and held from then on (1.36)."""
    gates = {"PodLevelResources": True, "PodLevelResourceManagers": True}
    machine = replace(BOX, devices=gpus(0, 1))
    ordered = settings(
        cpu="static",
        memory="Static",
        reserved_memory={0: {"memory": "512Mi"}},
        topology="restricted",
        scope="pod",
        gates=gates,
    )
    node, ledger = running(machine, ordered)
    wanted = pod("p", cpus("app", "2", {GPU: "1"}), whole={"cpu": "2", "memory": "1Gi"})
    simulation = played(situation_of(node, ledger, None), AddPods((wanted,)))
    assert simulation.steps[0].decision.containers["app"].devices == {}
    assert list(simulation.after.device.held) == ["p"]
