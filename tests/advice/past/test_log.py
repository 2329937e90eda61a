"""A kubelet's log as events."""

from io import BytesIO
from itertools import chain

import pytest

from numafit.advice.past.log import past_of_log
from numafit.advice.past.signs import read_signs
from numafit.decision.history.event import AddPods, RemovePods
from numafit.decision.history.lines import line_of
from tests.advice.logs.log_text import denied, klog
from tests.advice.past.pasts import (
    VERSION,
    come,
    devices,
    gone,
    happened,
    kubelet,
    lists,
    past,
    pod,
    registers,
    runs,
    texts,
)

A, B, C = pod("a"), pod("b"), pod("c")
GPUS = devices("lab.io/gpu=g0@0,g1@1")
LIST = "g0@0,g1@1"


def test_pods_come_and_go_as_the_lines_do() -> None:
    lines = kubelet(VERSION, come(), come("a"), come("b"), gone("a"), come("a"))
    assert happened(lines, A, B) == ["add default/a", "add default/b", "remove default/a", "add default/a"]


def test_a_pod_that_comes_again_has_another_uid() -> None:
    """As in a file of events, so that the past can be written and read back."""
    found = past(kubelet(VERSION, come("a"), gone("a"), come("a")), A)
    assert [own.uid for event in found.events if isinstance(event, AddPods | RemovePods) for own in event.pods] == [
        "uid-a",
        "uid-a",
        "uid-a#2",
    ]


def test_a_pod_goes_when_its_containers_have_ended_not_when_the_api_server_forgets_it() -> None:
    """1.22 and later say so with -v=4."""
    stopped = '"Pod termination stopped all running containers" pod="default/a" podUID="uid-a"'
    lines = kubelet(VERSION, come("a"), stopped, come("b"), gone("a"))
    assert happened(lines, A, B) == ["add default/a", "remove default/a", "add default/b"]


def test_a_pod_without_a_manifest_is_noted() -> None:
    found = past(kubelet(VERSION, come("a", "x"), come("y")), A)
    text = "no manifest was given for each of these 2 pods, and nothing of it is played: default/x, default/y"
    assert texts(found) == [("kubelet.log", text)]


def test_a_new_process_is_a_restart() -> None:
    lines = [*kubelet(VERSION, come("a")), *kubelet(VERSION, come("a"), come("b"), process=8)]
    assert happened(lines, A, B) == ["add default/a", "restart", "add default/b"]


def test_who_is_not_told_again_went_and_who_is_new_came_while_the_kubelet_was_down() -> None:
    lines = [*kubelet(VERSION, come("a"), come("b")), *kubelet(VERSION, come("b", "c"), process=8)]
    expected = ["add default/a", "add default/b", "stop", "remove default/a", "add default/c", "start"]
    assert happened(lines, A, B, C) == expected


def test_a_pod_that_ended_is_not_new_at_the_next_start() -> None:
    """The API server lists it until somebody deletes it."""
    stopped = '"Pod termination stopped all running containers" pod="default/a" podUID="uid-a"'
    lines = [*kubelet(VERSION, come("a"), stopped), *kubelet(VERSION, come("a"), process=8)]
    assert happened(lines, A) == ["add default/a", "remove default/a", "restart"]


def test_a_rejected_pod_stays_until_it_is_deleted() -> None:
    reject = denied("default/a", "uid-a", "TopologyAffinityError")
    lines = [*kubelet(VERSION, come("a"))[:2], reject, *kubelet(VERSION, come("a"), process=8)]
    found = past(lines, A)
    assert happened(lines, A) == ["add default/a", "restart"]
    assert [(end.event, end.admitted, end.reason) for end in found.told] == [(0, False, "TopologyAffinityError")]


def test_a_kubelet_that_meets_no_pods_did_not_come_up() -> None:
    failed = '"Failed to start ContainerManager" err="start cpu manager error: no"'
    lines = [
        *kubelet(VERSION, come("a")),
        *kubelet(VERSION, failed, process=8),
        *kubelet(VERSION, come("a"), process=9),
    ]
    assert happened(lines, A) == ["add default/a", "stop", "start"]
    assert [text.partition(": ")[2] for _, text in texts(past(lines, A))] == [
        "a kubelet starts and is told of no pod; it is played as one that stays down: start cpu manager error: no"
    ]


def test_a_container_that_is_added_again_has_exited() -> None:
    lines = kubelet(VERSION, come("a"), runs("a"), runs("a", attempt=2))
    assert happened(lines, A) == ["add default/a", "exit default/a c"]


def test_events_of_containers_tell_it_too() -> None:
    """With -v=3, in all releases."""
    started = (
        '"Event occurred" object="default/a" fieldPath="spec.containers{c}" kind="Pod" apiVersion="v1" '
        'type="Normal" reason="Started" message="Started container c"'
    )
    assert happened(kubelet(VERSION, come("a"), started, started), A) == ["add default/a", "exit default/a c"]


@pytest.mark.parametrize(
    "form",
    [
        'event={"ID":"uid-a","Type":"%s","Data":"%s"}',
        "event=&{ID:uid-a Type:%s Data:%s}",
    ],
)
def test_the_lifecycle_of_a_single_container_is_told_at_low_verbosity(form: str) -> None:
    """Lines of the PLEG have the ids of containers, not their names: JSON since 1.25, Go's text before."""
    words = [("ContainerStarted", "1"), ("ContainerDied", "1"), ("ContainerStarted", "2")]
    lines = [f'"SyncLoop (PLEG): event for pod" pod="default/a" {form % word}' for word in words]
    assert happened(kubelet(VERSION, come("a"), *lines), A) == ["add default/a", "exit default/a c"]
    two = pod("a", "c", "d")
    assert [text.partition(": ")[2] for _, text in texts(past(kubelet(VERSION, come("a"), *lines), two))] == [
        "a container starts again, and the log does not tell which"
    ]


def test_all_containers_started_anew_are_a_reboot() -> None:
    first = kubelet(VERSION, come("a"), runs("a"), come("b"), runs("b"))
    all_anew = kubelet(VERSION, come("a", "b"), runs("a", attempt=2), runs("b", attempt=2), process=8)
    one_anew = kubelet(VERSION, come("a", "b"), runs("a", attempt=2), process=8)
    died = '"SyncLoop (PLEG): event for pod" pod="default/a" event={"ID":"uid-a","Type":"ContainerDied","Data":"1"}'
    exits = kubelet(VERSION, come("a", "b"), died, runs("a", attempt=2), runs("b", attempt=2), process=8)
    assert happened([*first, *all_anew], A, B)[2:] == ["restart reboot"]
    assert happened([*first, *exits], A, B)[2:] == ["restart", "exit default/a c", "exit default/b c"]
    assert happened([*first, *one_anew], A, B)[2:] == ["restart", "exit default/a c"]


def test_plugins_are_first_late_or_never() -> None:
    """By their registration beside the first admission of the kubelet that started."""
    first = kubelet(VERSION, registers(), come("a"))
    check = '"Topology manager admission check" pod="default/a"'
    starts = [
        kubelet(VERSION, registers(), come("a"), check, process=8),
        kubelet(VERSION, come("a"), check, registers(), come("b"), process=9),
        kubelet(VERSION, come("a", "b"), check, gone("b"), registers(), process=10),
    ]
    assert happened([*first, *chain(*starts)], A, B, offered=GPUS) == [
        "add default/a",
        "restart",
        "restart plugins=late",
        "add default/b",
        "restart plugins=never",
        "remove default/b",
        f"plugin-restart lab.io/gpu {LIST}",
    ]


def test_plugins_that_meet_a_start_differently_end_while_the_kubelet_is_down() -> None:
    both = {**GPUS, **devices("lab.io/nic=n0@0")}
    first = kubelet(VERSION, registers(), registers("lab.io/nic"), come("a"))
    second = kubelet(VERSION, registers(), come("a"), registers("lab.io/nic"), process=8)
    assert happened([*first, *second], A, offered=both)[1:] == [
        "stop",
        "plugin-stop lab.io/nic",
        "start",
        "plugin-restart lab.io/nic n0@0",
    ]


def test_a_plugin_that_registers_after_the_first_pod_is_absent_at_the_beginning() -> None:
    lines = kubelet(VERSION, come("a"), registers(), lists(2, 2), come("b"))
    found = past(lines, A, B, offered=GPUS)
    assert found.absent == {"lab.io/gpu"}
    assert happened(lines, A, B, offered=GPUS)[1] == f"plugin-start lab.io/gpu {LIST}"


def test_a_resize_that_is_allocated_is_told_with_its_amounts() -> None:
    """Since 1.33."""

    def allocated(cpu: str) -> str:
        amounts = f'{{"ContainerResources":{{"c":{{"requests":{{"cpu":"{cpu}"}}}}}},"PodLevelResources":null}}'
        return f'"Updated pod resource information" podUID="uid-a" information={amounts}'

    lines = kubelet(VERSION, come("a"), allocated("1"), runs("a"), allocated("2"), allocated("2"))
    found = past(lines, A)
    assert happened(lines, A) == ["add default/a", "resize default/a c requests.cpu=2"]
    assert [(end.event, end.kind, end.admitted) for end in found.told] == [(1, "resize", True)]


def test_a_refused_resize_is_noted() -> None:
    refused = '"Pod admission denied" pod="default/a" reason="Infeasible" message="no" operation="resize"'
    ((about, text),) = texts(past(kubelet(VERSION, come("a"), refused), A))
    assert about == "default/a"
    assert text.endswith("a resize is refused (Infeasible), and the log does not tell what was asked")


def test_a_victim_is_told_with_the_pod_that_it_went_for() -> None:
    evicted = '"Pod evicted successfully" pod="default/a"'
    found = past(kubelet(VERSION, come("a"), come("b"), evicted, gone("a")), A, B)
    assert [(end.event, end.pod, end.kind) for end in found.told] == [(1, "uid-a", "evict")]


def test_static_pods_are_known_by_their_names_with_the_node_and_their_mirrors_are_nothing_new() -> None:
    config = '"Creating Container Manager object based on Node Config" nodeConfig={"NodeName":"n1","Other":1}'
    lines = kubelet(VERSION, config, come("a-n1", source="file"), come("a-n1"))
    found = past(lines, A)
    assert happened(lines, A) == ["add default/a"]
    assert [own.static for event in found.events if isinstance(event, AddPods) for own in event.pods] == [True]
    assert found.notes == ()


def test_static_pods_of_a_restart_keep_the_order_of_the_log() -> None:
    check = '"Topology manager admission check" pod="default/%s"'
    first = kubelet(VERSION, come("a", source="file"), check % "a", come("b", source="file"), check % "b")
    second = kubelet(VERSION, come("a", "b", source="file"), check % "b", check % "a", process=8)
    assert past([*first, *second], A, B).orders == (("uid-b", "uid-a"),)


def test_another_configuration_is_noted_and_another_order_of_its_parts_is_none() -> None:
    def config(text: str) -> str:
        return f'"Creating Container Manager object based on Node Config" nodeConfig={text}'

    def notes(text: str) -> int:
        first = kubelet(VERSION, config('{"Policy":"none","Hard":["a","b"]}'), come("a"))
        return len(texts(past([*first, *kubelet(VERSION, config(text), come("a"), process=8)], A)))

    assert notes('{"Policy":"none","Hard":["b","a"]}') == 0
    assert notes('{"Policy":"static","Hard":["a","b"]}') == 1


def test_a_log_that_begins_while_the_kubelet_runs_says_so() -> None:
    found = past(kubelet(come("a")), A, offered=GPUS)
    assert happened(kubelet(come("a")), A) == ["add default/a"]
    assert (found.absent, len(found.notes)) == (frozenset(), 1)


def test_the_sentences_of_1_20_tell_the_same() -> None:
    of_a = 'SyncLoop (PLEG): "a_default(uid-a)"'
    texts_of_1_20 = [
        "Version: v1.20.15",
        'Got registration request from device plugin with resource name "lab.io/gpu"',
        'SyncLoop (ADD, "api"): "a_default(uid-a)"',
        f'{of_a}, event: &pleg.PodLifecycleEvent{{ID:"uid-a", Type:"ContainerDied", Data:"1"}}',
        f'{of_a}, event: &pleg.PodLifecycleEvent{{ID:"uid-a", Type:"ContainerStarted", Data:"2"}}',
        "Mark all resources Unhealthy for resource lab.io/gpu",
        'SyncLoop (REMOVE, "api"): "a_default(uid-a)"',
    ]
    lines = [klog(text, float(place)) for place, text in enumerate(texts_of_1_20)]
    assert happened(lines, A, offered=GPUS) == [
        "add default/a",
        "exit default/a c",
        "plugin-stop lab.io/gpu",
        "remove default/a",
    ]


def test_pods_of_state_files_are_there_before_the_first_start() -> None:
    text = "\n".join(kubelet(VERSION, come("a", "b")))
    log = read_signs(BytesIO(text.encode()), "kubelet.log")
    found = past_of_log(log, [B], {}, [A, C])
    assert [line_of(event) for event in found.events] == ["stop", "remove default/c", "add default/b", "start"]


def test_without_lines_on_pods_that_come_they_come_as_they_are_admitted() -> None:
    """At low verbosity (1.20 to 1.30) hints are logged, and no SyncLoop."""
    check = '"Topology manager admission check" pod="default/%s"'
    lines = kubelet(check % "b", check % "a", check % "b")
    assert happened(lines, A, B) == ["add default/b", "add default/a"]
    assert texts(past(lines, A, B))[-1][1] == "no line tells of pods that come and go (-v=2 does), only of admissions"
