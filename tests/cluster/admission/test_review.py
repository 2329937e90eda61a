"""Questions of an API server, and answers that add gates and nothing else."""

import base64
import json
from typing import Any

import msgspec
import pytest

from numafit.cluster.admission.review import AdmittedPod, answer, gate_patch, review_uid, reviewed_pod
from numafit.cluster.live.pods import PodController
from tests.cluster.admission.reviews import GATE, HOLD, review


def asked(spec: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **request: Any) -> AdmittedPod:
    uid, pod = reviewed_pod(review(spec, metadata, **request))
    assert uid == "u1"
    assert pod is not None
    return pod


def test_a_pod_is_read_as_far_as_somebody_looks_at_it() -> None:
    owners = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "o0"},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "o1", "controller": True},
    ]
    metadata = {"generateName": "web-", "labels": {"app": "web"}, "ownerReferences": owners}
    spec = {"containers": [{"name": "c"}], "schedulerName": "mine", "schedulingGates": [{"name": "x.io/y"}]}
    pod = asked(spec, metadata, dryRun=True)
    assert pod.owner == PodController("ReplicaSet", "web", "o1", "apps/v1")
    assert (pod.namespace, pod.scheduler, pod.gates, pod.node, pod.dry_run) == ("work", "mine", ("x.io/y",), "", True)
    assert json.loads(bytes(pod.spec))["containers"] == [{"name": "c"}]
    assert asked().owner is None
    assert asked({"containers": [], "nodeName": "n1"}).node == "n1"


@pytest.mark.parametrize("more", [{"operation": "UPDATE"}, {"operation": "CONNECT"}, {"subResource": "binding"}])
def test_what_is_no_new_pod_is_none(more: dict[str, str]) -> None:
    assert reviewed_pod(review(**more)) == ("u1", None)


@pytest.mark.parametrize(
    ("before", "wanted", "expected"),
    [
        (None, (GATE,), [("/spec/schedulingGates", [{"name": GATE}])]),
        ([], (GATE,), [("/spec/schedulingGates", [{"name": GATE}])]),
        (["x.io/y"], (GATE,), [("/spec/schedulingGates/-", {"name": GATE})]),
        ([GATE], (GATE,), []),
        (None, (), []),
        (
            None,
            (GATE, HOLD, GATE),
            [("/spec/schedulingGates", [{"name": GATE}, {"name": HOLD}])],
        ),
        ([GATE], (GATE, HOLD), [("/spec/schedulingGates/-", {"name": HOLD})]),
    ],
)
def test_a_gate_is_added_once_beside_those_that_are_there(
    before: list[str] | None, wanted: tuple[str, ...], expected: list[tuple[str, Any]]
) -> None:
    spec: dict[str, Any] = {"containers": []}
    if before is not None:
        spec["schedulingGates"] = [{"name": name} for name in before]
    patch = gate_patch(asked(spec), wanted, "ours")
    found = [own for own in (json.loads(patch) if patch else []) if own["path"].startswith("/spec/")]
    assert found == [{"op": "add", "path": path, "value": value} for path, value in expected]


@pytest.mark.parametrize(
    ("annotations", "path", "value"),
    [
        (None, "/metadata/annotations", {"numafit.io/held": "by numafit guard: ConfigMap ours/numafit-guard"}),
        ({"a": "b"}, "/metadata/annotations/numafit.io~1held", "by numafit guard: ConfigMap ours/numafit-guard"),
    ],
)
def test_with_the_gate_of_the_guard_comes_the_annotation_that_tells_of_it(
    annotations: dict[str, str] | None, path: str, value: object
) -> None:
    """As by the policy; with that of the placer none does."""
    pod = asked({"containers": []}, {"annotations": annotations} if annotations else {})
    found = json.loads(gate_patch(pod, (HOLD,), "ours"))
    assert found[1:] == [{"op": "add", "path": path, "value": value}]
    assert len(json.loads(gate_patch(pod, (GATE,), "ours"))) == 1


def test_an_answer_allows_and_holds_the_patch_in_base64() -> None:
    content = json.loads(answer("u1", b'[{"op":"add"}]'))
    assert content["response"]["allowed"] is True
    assert base64.b64decode(content["response"]["patch"]) == b'[{"op":"add"}]'
    assert content["response"]["patchType"] == "JSONPatch"
    assert json.loads(answer("u1")) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "u1", "allowed": True},
    }


@pytest.mark.parametrize(
    ("data", "uid"),
    [
        (b"", ""),
        (b"nonsense", ""),
        (b"[]", ""),
        (b"\xff\xfe", ""),
        (b'{"request": null}', ""),
        (b'{"request": {"uid": 7}}', ""),
        (b"[" * 100_000, ""),
        (b'{"request": {"uid": "u1", "operation": "CREATE", "object": {"spec": 3}}}', "u1"),
        (b'{"request": {"uid": "u1", "operation": "CREATE", "object": {"metadata": {"labels": []}}}}', "u1"),
    ],
)
def test_of_rubbish_no_more_than_its_uid_is_read(data: bytes, uid: str) -> None:
    with pytest.raises((msgspec.MsgspecError, UnicodeError, RecursionError)):
        reviewed_pod(data)
    assert review_uid(data) == uid
