"""One event after the other."""

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.decision.decide import load_of
from numafit.decision.history.coming import Outcome
from numafit.decision.history.event import (
    AddPods,
    Beginning,
    Event,
    ExitContainer,
    ForgetPlugin,
    ListCapacity,
    ListDevices,
    Reconcile,
    RemovePods,
    RestartKubelet,
    StartKubelet,
    StartPlugin,
    StopKubelet,
    StopPlugin,
)
from numafit.decision.history.happen import happen
from numafit.decision.history.lines import read_events
from numafit.decision.history.situation import Situation, situation_of
from numafit.decision.simulation import Simulation, play_events
from numafit.machine.model import Device
from numafit.managers.device.plugin import plugins_of
from numafit.quantity import Quantity, quantity_of
from numafit.workload.pod import CRITICAL, Pod
from tests.advice.stages import BOX, stage
from tests.decision.strategies import (
    GI,
    GPU,
    NIC,
    SEED_BOX,
    amounts,
    box,
    container,
    cpus,
    gpus,
    memory,
    pod,
    running,
    settings,
)

STATIC = settings(cpu="static")


def played(begin: Situation, *events: Event) -> Simulation:
    return play_events(begin, events)


def verdicts(simulation: Simulation) -> list[tuple[str, str, str]]:
    """(at what, pod, verdict) of each decision."""
    return [
        (step.event, step.decision.pod.uid, step.decision.reason or step.decision.panic or "admitted")
        for step in simulation.steps
    ]


def last(outcome: Outcome) -> Situation:
    return outcome.situation


# --- pods ------------------------------------------------------------------------------------------------------------


def test_pods_of_one_event_come_one_after_the_other() -> None:
    node, ledger = running(box(1, 4), STATIC)
    one, two = pod("one", cpus("app", "2")), pod("two", cpus("app", "2"))
    simulation = played(situation_of(node, ledger, None), AddPods((one, two)))
    assert verdicts(simulation) == [("add", "one", "admitted"), ("add", "two", "UnexpectedAdmissionError")]


def test_who_went_for_a_critical_pod_no_longer_counts() -> None:
    """Nor do its containers wait to be started; the next pod is judged without it."""
    node, ledger = running(box(1, 8), STATIC)
    offered = {"cpu": Quantity(4), "pods": Quantity(2)}
    small, large = (pod(uid, container("app", {}, requests={"cpu": cpu})) for uid, cpu in (("s", "1"), ("l", "3")))
    critical = replace(pod("vip", container("app", {}, requests={"cpu": "2"})), priority=CRITICAL)
    simulation = played(situation_of(node, ledger, offered), AddPods((small, large)), AddPods((critical,)))
    after = simulation.happened[-1].after
    assert list(after.ledger.active) == ["s", "vip"]
    assert after.load == load_of(node.settings, after.ledger.active.values())


def test_the_load_follows_who_comes_and_goes() -> None:
    on = stage()
    one, two = (pod(uid, container("app", {"cpu": "8"})) for uid in ("one", "two"))
    simulation = played(on.situation, AddPods((one,)), AddPods((two,)), RemovePods((one,)), AddPods((two,)))
    assert verdicts(simulation) == [("add", "one", "admitted"), ("add", "two", "OutOfcpu"), ("add", "two", "admitted")]
    assert (simulation.end.load.pods, simulation.end.load.amounts["cpu"]) == (1, 8000)


def test_a_tick_of_the_loop_frees_what_gone_pods_held() -> None:
    node, ledger = running(box(1, 4), STATIC)
    one = pod("one", cpus("app", "2"))
    simulation = played(situation_of(node, ledger, None), AddPods((one,)), RemovePods((one,)), Reconcile())
    assert [cpuset_text(each.after.ledger.cpu.default) for each in simulation.happened] == ["0,3", "0,3", "0-3"]


def test_a_pod_comes_again_only_if_the_first_one_is_no_more() -> None:
    """Admitted, it keeps another of its name out; rejected, its controller makes the next one."""
    node, ledger = running(box(1, 4), STATIC)
    begin = situation_of(node, ledger, None)
    pods = [pod("a", cpus("app", "2")), pod("b", cpus("app", "2"))]
    text = "add a\nadd a b\nremove a\nadd b"
    named = [replace(each, name=each.uid) for each in pods]
    simulation = played(begin, *read_events(text, "events", named))
    refused = "UnexpectedAdmissionError"
    assert verdicts(simulation) == [("add", "a", "admitted"), ("add", "b", refused), ("add", "b#2", "admitted")]
    assert [each.void for each in simulation.happened] == ["", "default/a is there already", "", ""]


# --- the kubelet stops and starts ------------------------------------------------------------------------------------


def test_what_stands_between_stop_and_start_happens_while_the_kubelet_is_down() -> None:
    """The new pod is decided at the start, and what the deleted one held still counts then."""
    node, ledger = running(box(1, 4), STATIC)
    old, new, later = (pod(uid, cpus("app", "2")) for uid in ("old", "new", "later"))
    simulation = played(
        situation_of(node, ledger, None),
        AddPods((old,)),
        StopKubelet(),
        RemovePods((old,)),
        AddPods((new,)),
        StartKubelet(),
        AddPods((later,)),
    )
    assert verdicts(simulation) == [
        ("add", "old", "admitted"),
        ("restart", "new", "UnexpectedAdmissionError"),
        ("add", "later", "admitted"),
    ]


def test_pods_that_a_kubelet_never_came_back_for_are_not_decided() -> None:
    node, ledger = running(box(1, 4), STATIC)
    new, brief = pod("new", cpus("app", "2")), pod("brief", cpus("app", "1"))
    events = (StopKubelet(), AddPods((new, brief)), RemovePods((brief,)))
    simulation = played(situation_of(node, ledger, None), *events)
    assert (simulation.steps, simulation.undecided) == ((), (new,))


def test_what_cannot_happen_says_why() -> None:
    node, ledger = running(SEED_BOX, STATIC)
    begin = situation_of(node, ledger, None)
    absent = pod("absent", cpus("app", "2"))
    stopped = last(happen(begin, StopKubelet()))
    assert [
        happen(begin, StartKubelet()).void,
        happen(stopped, StopKubelet()).void,
        happen(stopped, Reconcile()).void,
        happen(begin, StopPlugin(NIC)).void,
        happen(begin, ForgetPlugin(GPU)).void,
        happen(begin, ForgetPlugin(NIC)).void,
        happen(stopped, ForgetPlugin(GPU)).void,
        happen(begin, ListDevices(NIC, ())).void,
        happen(begin, StartPlugin(NIC, (), again=True)).void,
        happen(begin, ExitContainer(absent, "app")).void,
        happen(begin, Reconcile()).void,
    ] == [
        "it runs already",
        "it is down already",
        "the kubelet is down",
        f"no plugin of {NIC} runs",
        f"the plugin of {GPU} is there",
        f"the kubelet knows no plugin of {NIC}",
        "the kubelet is down",
        f"no plugin of {NIC} runs (plugin-start starts one)",
        f"no plugin of {NIC} was there (plugin-start starts one)",
        "default/pod-absent does not run",
        "",
    ]


def test_a_kubelet_that_crashes_is_down_until_it_is_started_and_meets_the_same_pod() -> None:
    """A huge page size that no NUMA node lists crashes the memory manager (all releases)."""
    ordered = settings(memory="Static", reserved_memory={0: {"memory": "1Gi"}})
    node, ledger = running(box(1, 4, memory=9 * GI), ordered)
    bad = pod("bad", container("app", {"cpu": "1", "memory": "1Gi", "hugepages-32Mi": "32Mi"}))
    good = pod("good", cpus("app", "1"))
    simulation = played(
        situation_of(node, ledger, None),
        AddPods((bad,)),
        AddPods((good,)),
        RestartKubelet(),
        RemovePods((bad,)),
        StartKubelet(),
    )
    assert [(each.crash != "", each.after.down) for each in simulation.happened] == [
        (True, True),
        (False, True),
        (True, True),
        (False, True),
        (False, False),
    ]
    assert verdicts(simulation)[-1] == ("restart", "good", "admitted")


def test_a_static_pod_over_which_the_kubelet_crashes_is_tried_once_at_the_next_start() -> None:
    """It waits, and was not refused."""
    ordered = settings(memory="Static", reserved_memory={0: {"memory": "1Gi"}})
    node, ledger = running(box(1, 4, memory=9 * GI), ordered)
    bad = replace(pod("bad", container("app", {"cpu": "1", "memory": "1Gi", "hugepages-32Mi": "32Mi"})), static=True)
    crashed = happen(situation_of(node, ledger, None), AddPods((bad,))).situation
    assert (crashed.down, crashed.waiting, crashed.refused) == (True, (bad,), ())
    again = happen(crashed, StartKubelet())
    assert [step.decision.pod for step in again.steps] == [bad]
    assert (again.situation.waiting, again.situation.refused) == ((bad,), ())


def test_a_kubelet_that_does_not_start_says_why_and_stays_down() -> None:
    """Every other CPU is exclusive, so the shared pool is empty (1.32 and later)."""
    node, ledger = running(box(1, 4), settings(cpu="static", options={"strict-cpu-reservation": "true"}))
    greedy, later = pod("p", cpus("app", "3")), pod("later", container("app"))
    simulation = played(situation_of(node, ledger, None), AddPods((greedy,)), RestartKubelet(), AddPods((later,)))
    assert [each.crash for each in simulation.happened] == ["", "default cpuset cannot be empty", ""]
    assert simulation.undecided == (later,)
    assert simulation.end.unstarted == ()
    rebooted = played(situation_of(node, ledger, None), AddPods((greedy,)), RestartKubelet(Beginning(reboot=True)))
    assert rebooted.end.unstarted == (("p", ("app",)),)


# --- plugins ---------------------------------------------------------------------------------------------------------


def wants(uid: str, count: int = 1, resource: str = GPU) -> Pod:
    return pod(uid, container("app", {resource: str(count)}))


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
    assert list(simulation.after.device.held["p"]["app"][GPU].ids) != []


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


# --- the node object -------------------------------------------------------------------------------------------------


def test_a_resource_that_somebody_lists_counts_like_any_other() -> None:
    """It outlives the kubelet."""
    on = stage()
    thing = "nobody.io/thing"
    one, two, three = (wants(uid, count, thing) for uid, count in (("one", 2), ("two", 2), ("three", 2)))
    listing = ListCapacity(thing, Quantity(3))
    simulation = played(on.situation, AddPods((one,)), listing, AddPods((two,)), RestartKubelet(), AddPods((three,)))
    assert verdicts(simulation) == [
        ("add", "one", "admitted"),
        ("add", "two", f"OutOf{thing}"),
        ("restart", "one", "admitted"),
        ("add", "three", f"OutOf{thing}"),
    ]


def test_a_reboot_admits_everybody_again() -> None:
    on = stage()
    one = pod("one", cpus("app", "2", {GPU: "1"}))
    simulation = played(on.situation, AddPods((one,)), RestartKubelet(Beginning("late", reboot=True)))
    assert verdicts(simulation) == [("add", "one", "admitted"), ("restart", "one", "UnexpectedAdmissionError")]
