"""The events of a run in the words of an event file."""

from typing import Any

from numafit.replay.runs.steps import BASE, RunStep, changed, played

POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "x"}, {"name": "y"}]}}
TICKING = {"cpuManagerReconcilePeriod": "1s"}
ONCE = {
    "metadata": {"name": "once"},
    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "command": ["exit-0"]}]},
}


def lines_of(*events: dict[str, Any]) -> list[tuple[str, ...]]:
    return [step.lines for step in played({"pods": [POD, ONCE], "events": list(events)}, TICKING).steps]


def test_each_event_of_a_run_has_its_line_and_ends_with_a_tick() -> None:
    devices = ["!g0@0", "n1@2+3"]
    resources = {"requests": {"cpu": "4"}, "limits": {"cpu": "4", "memory": "1Gi"}}
    assert lines_of(
        {"op": "add", "pod": "a"},
        {"op": "remove", "pods": ["a", "b"]},
        {"op": "devices", "resource": "lab.io/gpu", "devices": devices},
        {"op": "plugin-start", "resource": "lab.io/gpu", "devices": devices},
        {"op": "plugin-restart", "resource": "lab.io/gpu", "devices": []},
        {"op": "plugin-stop", "resource": "lab.io/gpu"},
        {"op": "resize", "pod": "a", "container": "x", "resources": resources},
        {"op": "exit", "pod": "a", "container": "y"},
        {"op": "node-capacity", "resource": "nobody.io/thing", "amount": 3},
    ) == [
        ("add a", "reconcile"),
        ("remove a b", "reconcile"),
        ("devices lab.io/gpu !g0@0,n1@2+3", "reconcile"),
        ("plugin-start lab.io/gpu !g0@0,n1@2+3", "reconcile"),
        ("plugin-restart lab.io/gpu", "reconcile"),
        ("plugin-stop lab.io/gpu", "reconcile"),
        ("resize a x requests.cpu=4 limits.cpu=4 limits.memory=1Gi", "reconcile"),
        ("exit a y", "reconcile"),
        ("capacity nobody.io/thing=3", "reconcile"),
    ]


def test_an_exit_that_names_no_container_is_that_of_the_first() -> None:
    assert lines_of({"op": "exit", "pod": "a"}) == [("exit a x", "reconcile")]


def test_a_pod_that_ends_at_once_comes_and_goes() -> None:
    step = played({"pods": [ONCE], "events": [{"op": "add", "pod": "once"}]}, TICKING).steps[0]
    assert step == RunStep(0, ("add once", "remove once", "reconcile"), decides=0)


def test_what_happens_while_the_kubelet_is_down_stands_between_stop_and_start() -> None:
    event = {"op": "restart", "remove": ["c"], "add": ["d", "e"], "plugins": "late", "reboot": True}
    step = played({"events": [event]}, TICKING).steps[0]
    assert step == RunStep(0, ("stop", "remove c", "add d e", "start plugins=late reboot", "reconcile"), decides=3)


def test_a_pod_that_comes_while_the_kubelet_is_down_may_end_at_once_too() -> None:
    """Seen live in 1.36.4, seed 13: it has ended when the kubelet comes to rest, and its share is free."""
    (step,) = played({"pods": [POD, ONCE], "events": [{"op": "restart", "add": ["a", "once"]}]}, TICKING).steps
    assert step == RunStep(0, ("stop", "add a once", "start", "remove once", "reconcile"), 2)


def test_a_restart_without_a_configuration_goes_back_to_the_first_one() -> None:
    """The word of an event file keeps the present one, so that the first has to be named."""
    run = played(
        {"events": [{"op": "restart", "config": {"maxPods": 2, "podsPerCore": None}}, {"op": "restart"}]},
        {"podsPerCore": 1, "kind": "KubeletConfiguration"},
    )
    assert [step.lines[0] for step in run.steps] == ["restart config=config-0.json", f"restart config={BASE}"]
    assert run.configs == {
        "config-0.json": {"maxPods": 2, "kind": "KubeletConfiguration"},
        BASE: {"podsPerCore": 1, "kind": "KubeletConfiguration"},
    }


def test_null_removes_a_field() -> None:
    assert changed({"a": 1, "b": 2}, {"a": None, "c": 3}) == {"b": 2, "c": 3}


def test_a_run_ends_before_what_no_word_says() -> None:
    edited = {"op": "restart", "edit": {"cpu_manager_state": ["0-1", "0"]}}
    run = played({"pods": [POD], "events": [{"op": "add", "pod": "a"}, edited, {"op": "restart"}]}, {})
    assert [step.number for step in run.steps] == [0]
    assert run.left_out == "no word of an event file says event 1: edit"


def test_a_case_without_events_adds_its_pods_and_no_tick_comes_between() -> None:
    assert [step.lines for step in played({"pods": [POD]}, TICKING).steps] == [("add a",)]


def test_a_cpu_manager_that_seldom_ticks_did_not_within_an_event() -> None:
    assert [step.lines for step in played({"pods": [POD], "events": [{"op": "add", "pod": "a"}]}, {}).steps] == [
        ("add a",)
    ]
