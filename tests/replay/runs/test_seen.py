"""What the result of a run tells of each event."""

from typing import Any

from numafit.replay.runs.seen import decision, decisions_seen, node_seen

UID = "0bd7c406-41ec-4a66-ba79-0c6a8f54b9de"


def status(uid: str, phase: str = "Running") -> dict[str, Any]:
    return {"phase": phase, "uid": uid}


def denied(uid: str, reason: str, message: str, operation: str = "add") -> str:
    fields = f'podUID="{uid}" pod="default/x" reason="{reason}" message="{message}" operation="{operation}"'
    return f'I1115 15:47:07.379775 897 allocation_manager.go:619] "Pod admission denied" {fields}'


def test_a_pod_that_came_tells_its_verdict_without_what_the_status_puts_before_it() -> None:
    step = {"op": "add", "pod": "a", "uid": UID, "reason": "OutOfcpu", "message": "Pod was rejected: Node is full"}
    assert decisions_seen([step], 0, static=False)["decisions"] == [
        decision(UID, "a", "admission", False, "OutOfcpu", "Node is full")
    ]


def test_at_a_restart_all_that_ran_are_admitted_again_and_the_log_tells_who_is_not() -> None:
    """One that ran and is refused ends as Succeeded, since its containers end with 0."""
    before = {"pods": {"a": status("1"), "b": status("2"), "c": status("3", "Failed"), "gone": status("4")}}
    pods = {"a": status("1"), "b": status("2", "Succeeded"), "c": status("3", "Failed"), "d": status("5")}
    log = [denied("2", "OutOfpods", r"said \"no\"")]
    step = {"op": "restart", "remove": ["gone"], "add": ["d"], "pods": pods, "log": log}
    assert decisions_seen([before, step], 1, static=False)["decisions"] == [
        decision("1", "a", "admission"),
        decision("5", "d", "admission"),
        decision("2", "b", "admission", False, "OutOfpods", 'said "no"'),
    ]


def test_a_standalone_kubelet_tries_refused_static_pods_again() -> None:
    before = {"pods": {"c": status("3", "Failed")}}
    step = {"op": "restart", "pods": {"c": status("3")}}
    assert decisions_seen([before, step], 1, static=True)["decisions"] == [decision("3", "c", "admission")]


def test_victims_stand_in_the_log() -> None:
    log = [f'I1115 x.go:1] "Preempting pod to free up resources" pod="default/b" podUID="{UID}" requestingPod="x/y"']
    step = {"op": "add", "pod": "crit", "uid": "1", "reason": None, "pods": {"b": status(UID)}, "log": log}
    assert decisions_seen([step], 0, static=False)["decisions"][1] == decision(
        UID, "b", "eviction", False, "Preempting", "Preempted in order to admit critical pod"
    )


def test_a_resize_is_allocated_or_refused_by_the_log() -> None:
    allocated = 'I1115 allocation_manager.go:264] "Pod resize successfully allocated" pod="default/a"'
    refused = denied("1", "Infeasible", "never", "resize")
    step = {"op": "resize", "pod": "a", "pods": {"a": status("1")}}
    assert decisions_seen([step | {"log": [allocated]}], 0, static=False)["decisions"] == [decision("1", "a", "resize")]
    assert decisions_seen([step | {"log": [refused, refused]}], 0, static=False)["decisions"] == [
        decision("1", "a", "resize", False, "Infeasible", "never")
    ]
    waits = denied("1", "OutOfcpu", "not now", "resize")
    assert decisions_seen([step | {"log": [waits]}], 0, static=False)["decisions"] == [
        decision("1", "a", "resize", False, "Deferred", "not now")
    ]
    forbidden = {"api": {"status": 403, "message": "too much"}}
    assert decisions_seen([step | forbidden], 0, static=False)["decisions"] == [
        decision("1", "a", "resize", False, "Forbidden", "too much")
    ]
    invalid = {"status": 422, "message": "another class"}
    assert decisions_seen([step | {"api": invalid}], 0, static=False)["decisions"] == [
        decision("1", "a", "resize", False, "Invalid", "another class")
    ]


def test_a_resize_back_to_what_is_allocated_ends_the_waiting_and_one_that_changes_nothing_is_no_decision() -> None:
    """The second was seen live in 1.36.4, seed 19."""
    waits = {"resize": [{"type": "PodResizePending", "reason": "Deferred", "message": "not now"}]}
    step = {"op": "resize", "pod": "a", "pods": {"a": status("1")}, "api": {"status": 200}}
    before = {"op": "resize", "pods": {"a": status("1") | waits}}
    assert decisions_seen([before, step], 1, static=False)["decisions"] == [decision("1", "a", "resize")]
    assert decisions_seen([{"pods": {"a": status("1")}}, step], 1, static=False)["decisions"] == []


def test_what_waits_tells_a_refusal_that_is_not_logged() -> None:
    """Seen live in 1.34.4, seed 201: releases before 1.36 log this one otherwise."""
    waits = {"resize": [{"type": "PodResizePending", "reason": "Infeasible", "message": "never"}]}
    step = {"op": "resize", "pod": "a", "pods": {"a": status("1") | waits}, "api": {"status": 200}}
    assert decisions_seen([step], 0, static=False)["decisions"] == [
        decision("1", "a", "resize", False, "Infeasible", "never")
    ]


def test_what_waits_is_refused_at_the_event_that_asked_for_it() -> None:
    """It is tried again and again, and each time the log says so."""
    allocated = 'I1115 allocation_manager.go:264] "Pod resize successfully allocated" pod="default/a"'
    step = {"op": "remove", "pods": {"a": status("1")}, "log": [denied("1", "Deferred", "not now", "resize")]}
    assert decisions_seen([step], 0, static=False)["decisions"] == []
    step["log"].append(allocated)
    assert decisions_seen([step], 0, static=False)["decisions"] == [decision("1", "a", "resize")]


def test_a_crash_tells_of_no_node() -> None:
    step = {"op": "restart", "crash": {"exit": 1, "text": "the end"}, "cpu_manager_state": {"policyName": "static"}}
    assert decisions_seen([step], 0, static=False) == {"crash": "the end"}
    assert node_seen([step], 0) == {}


def test_the_node_after_an_event_is_its_state_files_and_its_allocatable() -> None:
    state = {"policyName": "static", "defaultCpuSet": "0-3"}
    step = {"cpu_manager_state": state, "device_checkpoint": None, "node_allocatable": {"cpu": "3"}}
    assert node_seen([step], 0) == {"files": {"cpu_manager_state": state}, "allocatable": {"cpu": "3"}}


def test_of_pods_that_are_there_it_is_seen_what_they_have_and_who_waits_for_more() -> None:
    """Who has ended is not there."""
    waits = status("1") | {"resize": [{"type": "PodResizePending", "reason": "Deferred"}]}
    goes_on = status("2") | {"resize": [{"type": "PodResizeInProgress"}]}
    state = {"data": '{"entries":{"1":{"ContainerResources":{"c":{"requests":{"cpu":"1"}}}}}}'}
    pods = {"a": waits, "b": goes_on, "c": status("3", "Succeeded")}
    assert node_seen([{"op": "add", "pods": pods, "allocated_pods_state": state}], 0) == {
        "files": {},
        "allocated": {"1": {"c": {"requests": {"cpu": "1"}}}, "2": None},
        "waiting": ["1"],
    }


def test_nobody_decides_between_a_crash_and_the_next_start() -> None:
    """A pod that comes waits, and has no reason."""
    crash = {"op": "add", "pod": "a", "uid": "1", "crash": {"exit": 2, "text": "panic"}, "pods": {}}
    waits = {"op": "add", "pod": "b", "uid": "2", "reason": None, "pods": {"b": status("2", "Pending")}}
    again = {"op": "restart", "pods": {"b": status("2")}}
    comes = {"op": "add", "pod": "c", "uid": "3", "reason": None, "pods": {}}
    steps = [crash, waits, again, comes]
    assert decisions_seen(steps, 0, static=False) == {"crash": "panic"}
    assert (decisions_seen(steps, 1, static=False), node_seen(steps, 1)) == ({"decisions": []}, {})
    assert decisions_seen(steps, 2, static=False)["decisions"] == [decision("2", "b", "admission")]
    assert decisions_seen(steps, 3, static=False)["decisions"] == [decision("3", "c", "admission")]


def test_a_resize_to_what_the_pod_asks_for_already_is_no_decision_though_the_last_one_waits() -> None:
    """The API server changes nothing then: the kubelet hears of nothing, and the condition of before stays."""
    condition = {"type": "PodResizePending", "status": "True", "reason": "Infeasible", "message": "no"}
    pods = {"a": {**status(UID), "resize": [condition]}}
    step = {"op": "resize", "pod": "a", "pods": pods, "log": [], "api": {"status": 200, "message": None, "same": True}}
    assert decisions_seen([{"pods": pods}, step], 1, static=False)["decisions"] == []
