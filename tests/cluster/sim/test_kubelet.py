"""A simulated kubelet: what is decided, how pods live, and what is to be told of them."""

from msgspec.structs import replace

from numafit.cluster.sim.bound import NEVER, ContainerState, KnownStatus, PlayedContainer, PodManner
from numafit.cluster.sim.status import pod_status, style_of
from numafit.decision.history.event import ListDevices, RestartKubelet, StartPlugin, StopPlugin
from numafit.machine.model import Device
from numafit.managers.device.plugin import Plugin
from numafit.quantity import parse_quantity
from numafit.workload.pod import CRITICAL, Pod
from tests.cluster.sim.nodes import GPU, STRICT, bound, from_spec, kubelet, pod, uid


def test_an_admitted_pod_waits_runs_and_ends_when_it_is_deleted() -> None:
    node = kubelet()
    node.add([bound(pod("a", cpu="2", gpu="1"))], 100.0)
    played = node.pods[uid("a")]
    assert (played.phase, played.containers["c"].state.reason) == ("Pending", "ContainerCreating")
    assert node.changed == {uid("a")}
    node.changed.clear()
    assert node.due == 100.5
    node.advance(100.5)
    assert (played.phase, played.containers["c"].state.kind, node.changed) == ("Running", "running", {uid("a")})
    assert uid("a") in node.situation.ledger.cpu.entries

    node.update(bound(pod("a", cpu="2", gpu="1"), generation=2, deleting=True), 110.0)
    assert (played.phase, played.over, played.containers["c"].state.code) == ("Failed", True, 137)
    assert not node.situation.ledger.active
    # the CPU manager finds it some seconds later
    assert uid("a") in node.situation.ledger.cpu.entries
    node.advance(120.0)
    assert not node.situation.ledger.cpu.entries
    node.forget(uid("a"), 121.0)
    assert not node.pods


def test_a_rejected_pod_has_failed_with_reason_and_message_of_its_release() -> None:
    for release, before in (("1.36.4", "Pod was rejected: "), ("1.27", "Pod ")):
        node = kubelet(release=release)
        node.add([bound(pod("wide", cpu="9"))], 100.0)
        played = node.pods[uid("wide")]
        assert (played.phase, played.reason) == ("Failed", "TopologyAffinityError")
        assert played.message == f"{before}Resources cannot be allocated with Topology locality"
        assert played.rejected
        assert not node.situation.ledger.active


def test_what_a_rejected_pod_had_got_is_free_after_the_next_look_of_the_cpu_manager() -> None:
    """Its init container has two CPUs when the other one finds no place; nobody else comes or goes."""
    node = kubelet()
    first, wide = (
        {"name": name, "image": "i:1", "resources": {"limits": {"cpu": cpu, "memory": "64Mi"}}}
        for name, cpu in (("first", "2"), ("wide", "9"))
    )
    node.add([bound(from_spec("a", {"initContainers": [first], "containers": [wide]}))], 100.0)
    assert node.pods[uid("a")].rejected
    assert uid("a") in node.situation.ledger.cpu.entries
    assert node.due == 110.0
    node.advance(110.0)
    assert not node.situation.ledger.cpu.entries


def test_pods_that_come_at_once_are_decided_by_the_time_of_their_creation() -> None:
    node = kubelet()
    late, early = bound(pod("a", cpu="7"), "2026-11-16T10:00:02Z"), bound(pod("z", cpu="7"), "2026-11-16T10:00:01Z")
    node.add([late, early, bound(pod("m", cpu="7"), "2026-11-16T10:00:03Z")], 100.0)
    assert [node.pods[uid(name)].phase for name in ("z", "a", "m")] == ["Pending", "Pending", "Failed"]


def test_a_pod_with_a_run_time_ends_by_itself_and_frees_what_it_held() -> None:
    node = kubelet()
    manner = PodManner(NEVER, run_seconds=5, exit_code=3)
    node.add([bound(pod("a", cpu="2"), manner=manner)], 100.0)
    node.advance(101.0)
    assert node.due == 106.0
    node.advance(106.0)
    played = node.pods[uid("a")]
    state = played.containers["c"].state
    assert (played.phase, state.reason, state.code) == ("Failed", "Error", 3)
    assert not node.situation.ledger.active


def test_a_container_that_ends_is_started_again_at_once_and_then_after_longer_and_longer_pauses() -> None:
    node = kubelet()
    node.add([bound(pod("a", cpu="2"), manner=PodManner(run_seconds=1))], 100.0)
    played = node.pods[uid("a")]
    starts: list[tuple[float, int]] = []
    while len(starts) < 5:
        now = node.due
        assert now is not None
        before = played.containers["c"].restarts, played.containers["c"].state.kind
        node.advance(now)
        life = played.containers["c"]
        if life.state.kind == "running" and (life.restarts, "running") != before:
            starts.append((now, life.restarts))
        if life.state.kind == "waiting":
            assert life.state.reason == "CrashLoopBackOff"
            assert life.last is not None
            assert life.last.kind == "terminated"
        assert played.phase == "Running"
    assert starts == [(100.5, 0), (101.5, 1), (112.5, 2), (133.5, 3), (174.5, 4)]
    assert uid("a") in node.situation.ledger.active


def test_init_containers_end_and_sidecars_run() -> None:
    spec = {
        "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
        "containers": [{"name": "c"}],
    }
    node = kubelet()
    node.add([bound(from_spec("a", spec))], 100.0)
    played = node.pods[uid("a")]
    assert {own.state.reason for own in played.containers.values()} == {"PodInitializing"}
    node.advance(101.0)
    states = {name: own.state.kind for name, own in played.containers.items()}
    assert states == {"i": "terminated", "s": "running", "c": "running"}


def test_a_critical_pod_sends_others_away() -> None:
    node = kubelet()
    node.add([bound(pod("a", cpu="7")), bound(pod("b", cpu="7"), "2026-11-16T10:00:01Z")], 100.0)
    node.advance(101.0)
    urgent = replace(from_spec("urgent", {"containers": [{"name": "c", "resources": {"requests": {"cpu": "8"}}}]}))
    node.add([bound(replace(urgent, priority=CRITICAL), "2026-11-16T10:00:02Z")], 102.0)
    gone = [own for own in node.pods.values() if own.preempted]
    assert {(own.phase, own.reason, own.message) for own in gone} == {
        ("Failed", "Preempting", "Preempted in order to admit critical pod")
    }
    assert node.pods[uid("urgent")].admitted


def burstable(name: str, *cpus: str) -> Pod:
    containers = [
        {"name": f"c{i}", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}} for i, cpu in enumerate(cpus)
    ]
    return from_spec(name, {"containers": containers})


def test_a_resize_of_several_containers_is_decided_once() -> None:
    node = kubelet()
    node.add([bound(burstable("a", "1", "1"))], 100.0)
    node.advance(101.0)
    node.update(bound(burstable("a", "2", "3"), generation=2), 102.0)
    played = node.pods[uid("a")]
    assert [own.requests["cpu"] for own in played.pod.containers] == [parse_quantity("2"), parse_quantity("3")]
    assert played.resize is not None
    assert not played.resize.pending
    node.advance(103.0)
    assert played.resize is None
    # more than there is: it is put off, and tried again when another one goes
    node.add([bound(burstable("b", "9"))], 104.0)
    node.update(bound(burstable("a", "2", "8"), generation=3), 105.0)
    assert played.resize is not None
    assert (played.resize.pending, played.resize.reason) == (True, "Deferred")
    node.forget(uid("b"), 106.0)
    assert not played.resize.pending
    assert played.pod.containers[1].requests["cpu"] == parse_quantity("8")


def test_a_resize_that_no_kubelet_does_is_infeasible_until_it_is_taken_back() -> None:
    node = kubelet()
    node.add([bound(pod("a", cpu="2"))], 100.0)
    node.update(bound(pod("a", cpu="3"), generation=2), 102.0)
    told = node.pods[uid("a")].resize
    assert told is not None
    assert told.reason == "Infeasible"
    node.update(bound(pod("a", cpu="2"), generation=3), 103.0)
    assert node.pods[uid("a")].resize is None


def test_those_who_ran_before_run_on_where_they_were() -> None:
    """A simulation that begins again over the state files of the one before."""
    first = kubelet()
    first.add([bound(pod("a", cpu="2"))], 100.0)
    first.add([bound(pod("b", cpu="2"), "2026-11-16T10:00:01Z")], 101.0)
    first.advance(102.0)
    first.forget(uid("a"), 103.0)
    second = kubelet()
    second.situation = replace(second.situation, ledger=first.situation.ledger)
    old = first.pods[uid("b")]
    known = KnownStatus("Running", started=101.0, containers=dict(old.containers))
    second.begin(
        [
            bound(pod("b", cpu="2"), "2026-11-16T10:00:01Z", known=known),
            bound(pod("c", cpu="2"), "2026-11-16T10:00:09Z"),
        ],
        200.0,
    )
    held = second.situation.ledger.cpu.entries
    assert held[uid("b")] == first.situation.ledger.cpu.entries[uid("b")]
    assert second.pods[uid("b")].containers["c"].state.started == 102.0
    assert second.pods[uid("b")].started == 101.0
    assert second.pods[uid("c")].phase == "Pending"
    second.advance(201.0)
    assert second.pods[uid("c")].phase == "Running"


def test_pods_that_have_ended_are_not_admitted_again() -> None:
    node = kubelet()
    node.begin([bound(pod("a", cpu="9"), known=KnownStatus("Failed", "TopologyAffinityError", "x", 50.0))], 100.0)
    assert not node.changed
    assert not node.situation.ledger.active
    node.update(bound(pod("a", cpu="9"), known=None, deleting=True), 101.0)
    assert node.changed == {uid("a")}


def test_a_restart_of_the_kubelet_admits_all_again() -> None:
    node = kubelet()
    node.add([bound(pod("a", cpu="2"))], 100.0)
    node.advance(101.0)
    before = node.situation.ledger.cpu.entries
    node.changed.clear()
    node.happen(RestartKubelet(), 110.0)
    assert node.situation.ledger.cpu.entries == before
    assert node.pods[uid("a")].containers["c"].state.started == 101.0


def test_plugins_change_what_the_node_offers() -> None:
    node = kubelet()
    node.node_changed = False
    node.happen(StopPlugin(GPU), 100.0)
    assert node.node_changed
    node.node_changed = False
    node.add([bound(pod("a", cpu="1"))], 101.0)
    assert not node.node_changed
    node.happen(StartPlugin(GPU, (Device(GPU, "g9", (0,)),)), 102.0)
    assert node.node_changed


def test_a_kubelet_that_crashes_is_started_again_until_the_cause_is_gone() -> None:
    """A device that a pod holds is no longer listed: such a kubelet does not survive its start (1.36)."""
    node = kubelet()
    node.add([bound(pod("a", cpu="2", gpu="1"))], 100.0)
    node.advance(101.0)
    node.happen(ListDevices(GPU, (Device(GPU, "GPU1", (1,)),)), 102.0)
    node.happen(RestartKubelet(), 103.0)
    assert node.situation.down
    assert "nil pointer" in node.crash
    node.add([bound(pod("b", cpu="2"))], 104.0)
    assert node.pods[uid("b")].phase == "Pending"
    assert not node.pods[uid("b")].admitted
    # what others say of it meanwhile is not told again: there is no status of its kubelet's yet
    node.changed.clear()
    node.update(bound(pod("b", cpu="2"), gates={"example.com/ok": "True"}), 104.0)
    assert not node.changed
    node.advance(113.0)
    assert node.situation.down
    node.forget(uid("a"), 114.0)
    node.advance(124.0)
    assert not node.situation.down
    assert node.crash == ""
    assert node.pods[uid("b")].admitted


def test_a_plugin_of_somebody_else_takes_the_place_of_the_machines() -> None:
    node = kubelet()
    node.use_plugin(GPU, Plugin(allocate_error="no device today"))
    node.add([bound(pod("a", cpu="2", gpu="1"))], 100.0)
    assert "no device today" in node.pods[uid("a")].message


def test_what_a_rejected_pod_was_given_before_is_found_by_the_cpu_managers_loop() -> None:
    """Its first container had its CPUs when the second one was refused (all releases)."""
    node = kubelet()
    limits = ({"cpu": "2", "memory": "64Mi"}, {"cpu": "9", "memory": "64Mi"})
    containers = [
        {"name": name, "image": "i:1", "resources": {"limits": own}} for name, own in zip("cd", limits, strict=True)
    ]
    node.add([bound(from_spec("a", {"containers": containers}))], 100.0)
    assert node.pods[uid("a")].phase == "Failed"
    assert uid("a") in node.situation.ledger.cpu.entries
    node.advance(110.0)
    assert not node.situation.ledger.cpu.entries


def test_a_status_of_some_containers_only_is_nobodys() -> None:
    """Somebody wrote it who is no kubelet: the pod is decided as one that nobody has seen."""
    node = kubelet()
    known = KnownStatus("Running", started=90.0, containers={"other": PlayedContainer(ContainerState("running"))})
    node.begin([bound(pod("a", cpu="2"), known=known, deleting=True)], 100.0)
    played = node.pods[uid("a")]
    assert (played.phase, played.over, set(played.containers)) == ("Failed", True, {"c"})


def test_a_device_that_falls_sick_is_told_of_the_pod_that_holds_it() -> None:
    """What its plugin listed last counts: not whether the plugin is still there, nor whether it lists it at all."""
    node = kubelet({**STRICT, "featureGates": {"ResourceHealthStatus": True}})
    side = {"name": "side", "image": "i:1", "restartPolicy": "Always", "resources": {"limits": {GPU: "1"}}}
    spec = {
        "initContainers": [side],
        "containers": [{"name": "c", "image": "i:1", "resources": {"limits": {GPU: "1"}}}],
    }
    node.add([bound(from_spec("a", spec))], 100.0)
    node.advance(101.0)

    def told() -> list[str]:
        style = style_of(node.situation.node.settings)
        status = pod_status(node.pods[uid("a")], style, node.situation.ledger.device, "", 102.0)
        assert "allocatedResourcesStatus" not in status["initContainerStatuses"][0]
        (own,) = status["containerStatuses"][0]["allocatedResourcesStatus"]
        return [each["health"] for each in own["resources"]]

    assert told() == ["Healthy"]
    listed = tuple(node.situation.ledger.device.devices[GPU].values())
    for healthy, expected in ((False, "Unhealthy"), (True, "Healthy")):
        node.changed.clear()
        node.happen(ListDevices(GPU, tuple(replace(own, healthy=healthy) for own in listed)), 102.0)
        assert node.changed == {uid("a")}
        assert told() == [expected]
    node.happen(StopPlugin(GPU), 103.0)
    assert told() == ["Healthy"]
