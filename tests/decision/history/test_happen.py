"""One event after the other."""

from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.decision.decide import load_of
from numafit.decision.history.coming import Outcome
from numafit.decision.history.event import (
    AddPods,
    Beginning,
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
from numafit.quantity import Quantity
from numafit.workload.pod import CRITICAL
from tests.advice.stages import stage
from tests.decision.lives import played, verdicts, wants
from tests.decision.strategies import (
    GI,
    GPU,
    NIC,
    SEED_BOX,
    box,
    container,
    cpus,
    pod,
    running,
    settings,
)

STATIC = settings(cpu="static")


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
