"""Events from objects of an API server."""

import json
from typing import Any

import pytest

from numafit.advice.past.objects import past_of_objects
from numafit.advice.past.past import Past, ToldEnd
from numafit.decision.history.lines import line_of
from numafit.workload.objects import ManifestFile
from numafit.workload.reading import read_past

DAY = "2026-11-15T"


def pod(name: str, started: str = "", **status: Any) -> dict[str, Any]:
    """`bound`, `created` and `deleted` are times, too."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    metadata["creationTimestamp"] = DAY + status.pop("created", "07:00:00Z")
    if "deleted" in status:
        metadata["deletionTimestamp"] = DAY + status.pop("deleted")
    if started:
        status["startTime"] = DAY + started
        status.setdefault("phase", "Running")
    if "bound" in status:
        status["conditions"] = [{"type": "PodScheduled", "lastTransitionTime": DAY + status.pop("bound")}]
    spec = {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def container(restarts: int = 0, **states: Any) -> dict[str, Any]:
    return {"name": "c", "restartCount": restarts, **states}


def event(reason: str, at: str, about: dict[str, str], component: str = "kubelet", **more: Any) -> dict[str, Any]:
    times = {"firstTimestamp": DAY + at, "lastTimestamp": DAY + at}
    metadata = {"name": f"{reason}-{at}", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": about,
        "reason": reason,
        "source": {"component": component},
        **times,
        **more,
    }


NODE = {"kind": "Node", "name": "n1"}


def past(*objects: dict[str, Any]) -> Past:
    files = [ManifestFile("objects.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))]
    return past_of_objects(files, "objects.json", read_past(files).pods)


def happened(*objects: dict[str, Any]) -> list[str]:
    return [line_of(event) for event in past(*objects).events]


def notes(*objects: dict[str, Any]) -> list[tuple[str, str]]:
    return [(note.about, note.text) for note in past(*objects).notes]


def test_pods_come_in_the_order_of_their_start() -> None:
    objects = [pod("a", "07:00:09Z"), pod("b", "07:00:04Z")]
    found = past(*objects)
    assert [line_of(event) for event in found.events] == ["add default/b", "add default/a"]
    assert found.stamps == (f"{DAY}07:00:04Z", f"{DAY}07:00:09Z")
    assert [(end.name, end.admitted) for end in found.told] == [("default/b", True), ("default/a", True)]


def test_within_one_second_the_older_pod_is_first_and_that_is_said() -> None:
    objects = [pod("a", "07:00:04Z", created="07:00:03Z"), pod("b", "07:00:04Z", created="07:00:02Z")]
    assert happened(*objects) == ["add default/b", "add default/a"]
    text = f"several things happen within one second, and their order is a guess: {DAY}07:00:04Z"
    assert notes(*objects) == [("objects.json", text)]


def test_the_time_at_which_a_kubelet_found_a_static_pod_is_finer() -> None:
    static = pod("a", "07:00:04Z")
    static["metadata"]["annotations"] = {"kubernetes.io/config.seen": f"{DAY}07:00:04.5Z"}
    found = past(static, pod("b", "07:00:04Z"))
    assert [line_of(event) for event in found.events] == ["add default/b", "add default/a"]
    assert found.stamps[1] == f"{DAY}07:00:04.5Z"
    assert found.notes == ()


def test_a_rejected_pod_comes_and_its_reason_is_told() -> None:
    found = past(pod("a", "07:00:04Z", phase="Failed", reason="TopologyAffinityError"))
    assert len(found.events) == 1
    assert [(end.admitted, end.reason) for end in found.told] == [(False, "TopologyAffinityError")]


def refusal_at_start(*more: dict[str, Any]) -> Past:
    """A pod that its kubelet met at 07:00:01; the next one started at 07:10."""
    refused = pod("a", "07:00:01Z", phase="Failed", reason="UnexpectedAdmissionError")
    return past(refused, event("Starting", "07:10:00Z", NODE), event("Rebooted", "07:10:00Z", NODE), *more)


POD = {"kind": "Pod", "name": "a", "namespace": "default", "uid": "uid-a"}


@pytest.mark.parametrize(
    "evidence", [event("UnexpectedAdmissionError", "07:10:02Z", POD), event("Started", "07:00:03Z", POD)]
)
def test_a_pod_that_ran_and_was_rejected_at_a_start_was_admitted_before(evidence: dict[str, Any]) -> None:
    """Its status keeps the time of its first start (1.20 to 1.37); Events tell of the refusal, or that it ran."""
    found = refusal_at_start(evidence)
    assert [line_of(event) for event in found.events] == ["add default/a", "restart reboot"]
    assert found.told == (
        ToldEnd(0, "uid-a", "default/a", True),
        ToldEnd(1, "uid-a", "default/a", False, "UnexpectedAdmissionError", kind="restart"),
    )
    assert [(note.about, note.text) for note in found.notes] == [
        (
            "kubelet",
            f"{DAY}07:10:00Z: objects do not tell when device plugins came back, here they do so before the pods; "
            "write plugins=late into the events to try the other way",
        )
    ]


def test_where_nobody_tells_at_which_start_a_pod_was_rejected_it_is_not_compared() -> None:
    found = refusal_at_start()
    assert (len(found.events), found.told) == (2, ())
    assert [note.text for note in found.notes] == [
        "it was rejected (UnexpectedAdmissionError), and nobody tells whether as it came or as the kubelet started "
        f"({DAY}07:10:00Z); its end is not compared"
    ]
    early = refusal_at_start(event("UnexpectedAdmissionError", "07:00:01Z", POD))
    assert early.told == (ToldEnd(0, "uid-a", "default/a", False, "UnexpectedAdmissionError"),)


def test_manifests_without_times_are_named() -> None:
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}
    found = past(plain)
    assert found.events == ()
    assert [(note.about, note.text) for note in found.notes] == [
        ("objects.json", "default/a: nothing tells when they came, and they are not played")
    ]


def test_a_pod_that_is_done_goes_when_its_last_container_ended() -> None:
    over = [container(state={"terminated": {"startedAt": f"{DAY}07:00:05Z", "finishedAt": f"{DAY}07:00:08Z"}})]
    objects = [pod("a", "07:00:04Z", phase="Succeeded", containerStatuses=over), pod("b", "07:00:09Z")]
    assert happened(*objects) == ["add default/a", "remove default/a", "add default/b"]
    untold = pod("a", "07:00:04Z", phase="Succeeded")
    assert notes(untold) == [("default/a", "it has ended, and nobody tells when; here it stays")]


def test_a_container_that_started_again_has_exited() -> None:
    again = container(
        3,
        state={"running": {"startedAt": f"{DAY}07:00:20Z"}},
        lastState={"terminated": {"finishedAt": f"{DAY}07:00:10Z"}},
    )
    assert happened(pod("a", "07:00:04Z", containerStatuses=[again])) == ["add default/a", "exit default/a c"]
    assert notes(pod("a", "07:00:04Z", containerStatuses=[again])) == [
        ("default/a", "container c started again 3 times, of which only the last time is told, and played")
    ]


def test_the_kubelet_tells_its_starts_and_the_first_one_is_the_beginning() -> None:
    starts = [event("Starting", "07:00:01Z", NODE), event("Starting", "07:00:30Z", NODE)]
    proxy = event("Starting", "07:00:25Z", NODE, component="kube-proxy")
    assert happened(pod("a", "07:00:04Z"), *starts, proxy) == ["add default/a", "restart"]


def test_a_reboot_explains_the_containers_that_started_again() -> None:
    again = container(
        1,
        state={"running": {"startedAt": f"{DAY}07:00:40Z"}},
        lastState={"terminated": {"finishedAt": f"{DAY}07:00:20Z"}},
    )
    objects = [event("Starting", "07:00:30Z", NODE), event("Rebooted", "07:00:31Z", NODE)]
    found = happened(pod("a", "07:00:04Z", containerStatuses=[again]), *objects)
    assert found == ["add default/a", "restart reboot"]


def test_a_pod_that_had_its_node_before_the_start_came_while_the_kubelet_was_down() -> None:
    objects = [pod("a", "07:00:04Z"), pod("b", "07:00:31Z", bound="07:00:20Z"), event("Starting", "07:00:30Z", NODE)]
    found = past(*objects)
    assert happened(*objects) == ["add default/a", "stop", "add default/b", "start"]
    assert [(end.event, end.name, end.kind) for end in found.told] == [
        (0, "default/a", "add"),
        (3, "default/b", "restart"),
    ]


def test_a_victim_is_told_with_the_pod_that_came_before_it_went() -> None:
    about = {"kind": "Pod", "name": "a", "namespace": "default", "uid": "uid-a"}
    objects = [pod("a", "07:00:04Z", phase="Failed", reason="Preempting"), pod("b", "07:00:09Z")]
    found = past(*objects, event("Preempting", "07:00:10Z", about))
    assert [line_of(one) for one in found.events] == ["add default/a", "add default/b", "remove default/a"]
    assert [(end.event, end.name) for end in found.told if end.kind == "evict"] == [(1, "default/a")]


def test_what_objects_do_not_tell_is_noted() -> None:
    gone = event("Killing", "07:00:05Z", {"kind": "Pod", "name": "x", "namespace": "default", "uid": "uid-x"})
    objects = [pod("a"), pod("b", "07:00:04Z", deleted="07:00:09Z"), gone]
    assert happened(*objects) == ["add default/a", "add default/b"]
    assert notes(*objects) == [
        ("default/a", "its kubelet has not told of it yet; it comes when it was given its node"),
        ("default/b", "it is being deleted, and is there as long as these objects tell"),
        ("objects.json", "events tell of pods that are not among the objects, and are not played: default/x"),
    ]
