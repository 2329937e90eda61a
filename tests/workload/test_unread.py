"""What a pod says and nobody looks at."""

import json
from typing import Any

import pytest

from numafit.notes import NOTE_CODES
from numafit.workload.reading import read_pods
from tests.workload.dumps import dump, manifest, pending, running


def container(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "app", **more}]}


def unread(text: str, *, pod_level: bool = True) -> list[tuple[str, str]]:
    (pod,) = read_pods(text, pod_level=pod_level).pods
    return [(each.code, each.text) for each in pod.unread]


@pytest.mark.parametrize(
    ("spec", "code", "text"),
    [
        (
            {"resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]},
            "claim-not-decided",
            "its resource claims (DRA) are not decided",
        ),
        (
            container(resources={"claims": [{"name": "gpu"}]}),
            "claim-not-decided",
            "its resource claims (DRA) are not decided",
        ),
        (
            container(ports=[{"containerPort": 80, "hostPort": 80}]),
            "ports-not-checked",
            "its host ports are not compared with those of pods of which only the state is known",
        ),
        (
            {"hostNetwork": True, **container(ports=[{"containerPort": 80}])},
            "ports-not-checked",
            "its host ports are not compared with those of pods of which only the state is known",
        ),
        (
            {"nodeSelector": {"a": "b"}},
            "selectors-not-checked",
            "its nodeSelector is not compared with the node (--node-object tells of it)",
        ),
        (
            {
                "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}},
                "tolerations": [{"operator": "Exists"}],
            },
            "selectors-not-checked",
            "its affinity and tolerations are not compared with the node (--node-object tells of it)",
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 1}], "affinity": {"podAffinity": {"a": "b"}}},
            "scheduling-not-played",
            "its podAffinity and topologySpreadConstraints are for a scheduler, which is not played",
        ),
        (
            container(resources={"requests": {"ephemeral-storage": "1Gi"}}),
            "storage-not-checked",
            "its ephemeral-storage is not compared with the disk of the node (--allocatable or --node-object tell it)",
        ),
        (
            {"runtimeClassName": "kata"},
            "overhead-unknown",
            "its runtimeClassName may bring an overhead, which is not counted; spec.overhead would be",
        ),
    ],
)
def test_what_is_not_looked_at_is_noted(spec: dict[str, Any], code: str, text: str) -> None:
    assert unread(json.dumps(manifest("a", **spec))) == [(code, text)]
    assert code in NOTE_CODES


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"tolerations": []},
        {"affinity": {"nodeAffinity": {}}},
        {"runtimeClassName": "kata", "overhead": {"cpu": "1"}},
    ],
)
def test_an_ordinary_pod_has_no_notes(spec: dict[str, Any]) -> None:
    assert unread(json.dumps(manifest("a", **spec))) == []


def test_pod_level_resources_are_noted_where_their_gate_drops_them() -> None:
    text = json.dumps(manifest("a", resources={"limits": {"cpu": "4"}}))
    assert unread(text) == []
    assert [code for code, _ in unread(text, pod_level=False)] == ["pod-level-dropped"]


def test_what_scheduler_and_kubelet_have_looked_at_already_is_not_noted() -> None:
    """Of a pod that runs nothing of that is open any more; of a bound one the place is not."""
    for made in (running("a"), pending("b", "one")):
        made["spec"] |= {"nodeSelector": {"a": "b"}, "runtimeClassName": "kata"}
        assert unread(dump(made)) == []


def test_a_template_can_only_wish_for_a_node() -> None:
    """A Pod that names its node is bound to it, a Deployment is not."""
    spec = manifest("a", nodeName="one")["spec"]
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
    text = json.dumps(made | {"spec": {"template": {"spec": spec}}})
    assert unread(text) == [("scheduling-not-played", "its nodeName is for a scheduler, which is not played")]
    assert unread(json.dumps(manifest("a", nodeName="one"))) == []


@pytest.mark.parametrize(
    ("cpu", "claims", "told"),
    [
        ("4", [{"name": "gpu"}], True),
        ("2500m", [{"name": "gpu"}], False),
        ("4", [], False),
    ],
)
def test_claims_beside_exclusive_cpus_are_aligned_by_nobody(cpu: str, claims: list[dict[str, str]], told: bool) -> None:
    """The Topology Manager does not know them (all releases up to 1.37)."""
    spec = {
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}],
        **container(resources={"limits": {"cpu": cpu, "memory": "1Gi"}, "claims": claims}),
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    found = dict(unread(json.dumps(pod)))
    assert ("claim-not-aligned" in found) is told
    if told:
        assert found["claim-not-aligned"] == (
            'container "app" has devices by claims and exclusive CPUs: nobody aligns these, the Topology Manager does '
            "not know claims"
        )
