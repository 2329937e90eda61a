"""The status of a pod, as kubelets of several releases write it."""

from typing import Any

from msgspec.structs import replace

from numafit.cluster.sim.bound import NEVER, PodManner
from numafit.cluster.sim.kubelet import SimulatedKubelet
from numafit.cluster.sim.status import pod_status, style_of
from tests.cluster.sim.nodes import GPU, bound, from_spec, kubelet, pod, uid

HOST = "198.18.0.1"


def status(node: SimulatedKubelet, name: str, now: float = 100.0) -> dict[str, Any]:
    situation = node.situation
    return pod_status(node.pods[uid(name)], style_of(situation.node.settings), situation.ledger.device, HOST, now)


def conditions(found: dict[str, Any]) -> list[tuple[str, str, str | None]]:
    return [(own["type"], own["status"], own["reason"]) for own in found["conditions"] if "status" in own]


def test_a_pod_that_runs_has_what_it_was_allocated_and_its_devices() -> None:
    """As seen of 1.36.4."""
    node = kubelet()
    node.add([bound(pod("a", cpu="2", gpu="1"))], 100.0)
    node.advance(101.0)
    found = status(node, "a", 101.0)
    amounts = {"cpu": "2", "memory": "64Mi", GPU: "1"}
    (own,) = found["containerStatuses"]
    name = own.pop("containerID")
    assert own == {
        "name": "c",
        "state": {"running": {"startedAt": "1970-01-01T00:01:41Z"}},
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "image": "i:1",
        "imageID": "i:1",
        "started": True,
        "allocatedResources": amounts,
        "resources": {"limits": amounts, "requests": amounts},
        "allocatedResourcesStatus": [{"name": GPU, "resources": [{"resourceID": "GPU0", "health": "Healthy"}]}],
    }
    assert name.startswith("numafit://")
    assert {name: found[name] for name in ("phase", "qosClass", "startTime", "observedGeneration", "hostIP")} == {
        "phase": "Running",
        "qosClass": "Guaranteed",
        "startTime": "1970-01-01T00:01:40Z",
        "observedGeneration": 1,
        "hostIP": HOST,
    }
    assert found["podIP"] == "10.64.0.2"
    assert found["allocatedResources"] == amounts
    assert conditions(found) == [
        ("PodReadyToStartContainers", "True", None),
        ("Initialized", "True", None),
        ("Ready", "True", None),
        ("ContainersReady", "True", None),
        ("PodScheduled", "True", None),
    ]


def test_a_pod_that_waits_says_for_what() -> None:
    spec = {
        "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
        "containers": [{"name": "b"}, {"name": "a"}],
    }
    node = kubelet()
    node.add([bound(from_spec("p", spec))], 100.0)
    found = status(node, "p")
    assert [own["name"] for own in found["initContainerStatuses"]] == ["i", "s"]
    assert [own["name"] for own in found["containerStatuses"]] == ["a", "b"]
    assert found["containerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert "containerID" not in found["containerStatuses"][0]
    messages = {own["type"]: own["message"] for own in found["conditions"]}
    assert messages["Initialized"] == "containers with incomplete status: [i s]"
    assert messages["Ready"] == "containers with unready status: [s b a]"


def test_a_rejected_pod_has_a_short_status_without_conditions() -> None:
    node = kubelet()
    node.add([bound(pod("wide", cpu="9"))], 100.0)
    assert status(node, "wide") == {
        "phase": "Failed",
        "qosClass": "Guaranteed",
        "startTime": "1970-01-01T00:01:40Z",
        "reason": "TopologyAffinityError",
        "message": "Pod was rejected: Resources cannot be allocated with Topology locality",
        "observedGeneration": 1,
        "conditions": [{"$patch": "delete", "type": "PodScheduled"}],
    }


def test_older_releases_tell_less() -> None:
    for release, kinds in (("1.28", 4), ("1.29", 5)):
        node = kubelet(release=release)
        node.add([bound(pod("a", cpu="2", gpu="1"))], 100.0)
        node.advance(101.0)
        found = status(node, "a")
        assert len(found["conditions"]) == kinds
        assert "observedGeneration" not in found
        assert "allocatedResources" not in found["containerStatuses"][0]
        assert "allocatedResourcesStatus" not in found["containerStatuses"][0]
        assert ("hostIPs" in found) == (release == "1.29")


def test_a_condition_keeps_the_time_since_when_it_is_so() -> None:
    node = kubelet()
    node.add([bound(pod("a", cpu="2"))], 100.0)
    status(node, "a", 100.0)
    node.advance(110.0)
    times = {own["type"]: own["lastTransitionTime"][-3:] for own in status(node, "a", 110.0)["conditions"]}
    assert times["Initialized"] == "40Z"
    assert times["Ready"] == "50Z"
    # what no longer holds is taken away by name
    assert status(node, "a", 110.0)["conditions"][2]["reason"] is None


def test_a_resize_is_a_condition_that_goes_again() -> None:
    node = kubelet()
    small = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}
    large = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
    node.add([bound(from_spec("a", small))], 100.0)
    node.advance(101.0)
    node.update(bound(from_spec("a", large), generation=2), 102.0)
    first = status(node, "a", 102.0)["conditions"][0]
    assert (first["type"], first["observedGeneration"]) == ("PodResizeInProgress", 2)
    node.advance(103.0)
    found = status(node, "a", 103.0)
    assert found["conditions"][-1] == {"$patch": "delete", "type": "PodResizeInProgress"}
    assert {"type": "PodResizeInProgress"} not in found["$setElementOrder/conditions"]
    assert status(node, "a", 104.0)["conditions"][-1]["type"] == "PodScheduled"


def test_pods_that_have_ended_say_how() -> None:
    node = kubelet()
    for name, code in (("good", 0), ("bad", 3)):
        node.add([bound(pod(name, cpu="1", gpu="1"), manner=PodManner(NEVER, run_seconds=1, exit_code=code))], 100.0)
    node.advance(101.0)
    node.advance(102.0)
    good, bad = status(node, "good", 102.0), status(node, "bad", 102.0)
    assert [found["phase"] for found in (good, bad)] == ["Succeeded", "Failed"]
    assert ("Initialized", "True", "PodCompleted") in conditions(good)
    assert ("Ready", "False", "PodFailed") in conditions(bad)
    assert bad["containerStatuses"][0]["state"]["terminated"]["reason"] == "Error"
    assert not bad["containerStatuses"][0]["started"]
    # what it held is told of it for as long as it is there
    assert bad["containerStatuses"][0]["allocatedResourcesStatus"]


def test_readiness_gates_keep_a_pod_from_being_ready() -> None:
    node = kubelet()
    own = bound(pod("a", cpu="1"))
    own = replace(own, manner=replace(own.manner, readiness_gates=("x/y", "z")), gates={"z": "False"})
    node.add([own], 100.0)
    node.advance(101.0)
    ready = next(each for each in status(node, "a")["conditions"] if each["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "ReadinessGatesNotReady")
    assert ready["message"] == (
        'corresponding condition of pod readiness gate "x/y" does not exist., '
        'the status of pod readiness gate "z" is not "True", but False'
    )
    node.update(replace(own, gates={"x/y": "True", "z": "True"}), 102.0)
    assert ("Ready", "True", None) in conditions(status(node, "a"))


def test_a_pod_in_the_network_of_the_host_has_its_address() -> None:
    node = kubelet()
    own = bound(pod("a", cpu="1"))
    node.add([replace(own, manner=replace(own.manner, host_network=True))], 100.0)
    assert status(node, "a")["podIP"] == HOST
