"""Pods of the API server, as a simulated kubelet is told of them."""

from typing import Any

import msgspec
import pytest

from numafit.cluster.sim.bound import ContainerState
from numafit.cluster.sim.served import PodReader, ServedPod
from numafit.errors import InputError
from numafit.quantity import parse_quantity

SPEC: dict[str, Any] = {
    "nodeName": "n1",
    "priority": 7,
    "restartPolicy": "Never",
    "hostNetwork": True,
    "containers": [{"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}],
    "volumes": [{"name": "kube-api-access-x"}],
}
STATUS: dict[str, Any] = {
    "phase": "Running",
    "startTime": "2026-11-16T10:00:00Z",
    "podIP": "10.64.0.9",
    "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-16T10:00:01Z"},
        {"type": "other.io/gate", "status": "False"},
    ],
    "containerStatuses": [
        {
            "name": "c",
            "restartCount": 2,
            "containerID": "numafit://1",
            "state": {"running": {"startedAt": "2026-11-16T10:00:01Z"}},
            "lastState": {"terminated": {"exitCode": 3, "reason": "Error"}},
            "allocatedResources": {"cpu": "1", "memory": "1Gi"},
        }
    ],
}


def served(status: Any = None, spec: Any = None, **metadata: Any) -> ServedPod:
    meta = {"name": "a", "namespace": "ns", "uid": "u1", "generation": 3, **metadata}
    content = {"metadata": meta, "spec": spec or SPEC, "status": status or {}}
    return msgspec.json.decode(msgspec.json.encode(content), type=ServedPod)


def test_a_pod_is_read_with_its_manner() -> None:
    annotations = {"numafit.io/run-seconds": "2.5", "numafit.io/exit-code": "4"}
    pod = served(annotations=annotations, creationTimestamp="2026-11-16T09:00:00Z")
    assert pod.node == "n1"
    bound = PodReader().bound(pod)
    assert (bound.pod.full_name, bound.pod.uid, bound.pod.priority) == ("ns/a", "u1", 7)
    assert bound.pod.containers[0].requests["cpu"] == parse_quantity("2")
    assert (bound.manner.restart_policy, bound.manner.host_network, bound.manner.images) == (
        "Never",
        True,
        {"c": "i:1"},
    )
    assert (bound.manner.run_seconds, bound.manner.exit_code) == (2.5, 4)
    assert (bound.generation, bound.deleting, bound.known) == (3, False, None)
    assert PodReader().bound(served(deletionTimestamp="2026-11-16T09:00:00Z")).deleting


def test_what_pods_of_one_template_share_is_there_once() -> None:
    reader = PodReader()
    first, second = reader.bound(served()), reader.bound(served(uid="u2", name="b"))
    assert first.pod.containers is second.pod.containers
    assert first.manner is second.manner
    assert (first.pod.name, second.pod.name) == ("a", "b")


def test_annotations_that_make_no_sense_count_as_not_said() -> None:
    for seconds, code in (("long", "bad"), ("-1", "-1"), ("inf", "12345")):
        annotations = {"numafit.io/run-seconds": seconds, "numafit.io/exit-code": code}
        manner = PodReader().bound(served(annotations=annotations)).manner
        assert (manner.run_seconds, manner.exit_code) == (None, 0)


def test_the_status_of_a_simulation_before_is_taken_up() -> None:
    bound = PodReader().bound(served(STATUS), begins=True)
    assert bound.known is not None
    life = bound.known.containers["c"]
    assert life.state == ContainerState("running", started=1794823201.0, id="numafit://1")
    assert (life.restarts, life.last and life.last.code) == (2, 3)
    assert bound.known.transitions == {"Ready": ("True", 1794823201.0)}
    assert (bound.known.address, bound.known.started) == ("10.64.0.9", 1794823200.0)
    assert bound.allocated is not None
    assert bound.allocated.containers[0].requests["cpu"] == parse_quantity("1")
    assert PodReader().bound(served({"phase": "Pending"}), begins=True).known is None


def test_readiness_gates_are_followed() -> None:
    spec = {**SPEC, "readinessGates": [{"conditionType": "other.io/gate"}]}
    bound = PodReader().bound(served(STATUS, spec))
    assert bound.gates == {"other.io/gate": "False"}
    assert bound.manner.readiness_gates == ("other.io/gate",)


def test_what_was_read_is_given_up() -> None:
    pod = served(STATUS, annotations={"a": "b"})
    pod.emptied()
    assert bytes(pod.spec) == bytes(pod.status) == b"{}"
    assert (pod.node, pod.metadata.uid, pod.metadata.annotations) == ("n1", "u1", None)


def test_a_pod_that_no_api_server_lets_in_is_an_error_with_its_name() -> None:
    for spec in ({"nodeName": "n1"}, {"nodeName": "n1", "containers": []}):
        with pytest.raises(InputError, match="ns/a"):
            PodReader().bound(served(spec=spec))
