"""How a waiting pod is changed when it is released."""

import json
from typing import Any

from numafit.cluster.place.patch import has_terms, release_patch, scale_patch, ungate_patch, waiting_spec

GATES = [{"name": "numafit.io/place"}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def released(spec: dict[str, Any], names: list[str], *, annotated: bool = True) -> dict[str, Any]:
    """Path -> value of what is added, with the tests below "test"."""
    own = waiting_spec(json.dumps({"schedulingGates": GATES, **spec}).encode())
    hosts = {name: f"host-{name}" for name in names}
    return by_path(release_patch(own, "u", names, hosts, annotated=annotated))


def by_path(patch: bytes) -> dict[str, Any]:
    operations = json.loads(patch)
    found: dict[str, Any] = {"test": {own["path"]: own["value"] for own in operations if own["op"] == "test"}}
    found.update((own["path"], own.get("value")) for own in operations if own["op"] != "test")
    return found


def field(name: str, operator: str = "In") -> dict[str, Any]:
    return {"key": "metadata.name", "operator": operator, "values": [name]}


def test_a_pod_without_wishes_gets_a_term_for_each_node_and_prefers_the_best() -> None:
    assert released({}, ["b", "a"]) == {
        "test": {
            "/metadata/uid": "u",
            "/spec/schedulingGates": GATES,
            "/spec/affinity": None,
            "/spec/nodeSelector": None,
        },
        "/spec/schedulingGates": None,
        "/spec/affinity": {
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field("b")]}, {"matchFields": [field("a")]}]},
                PREFERRED: [{"weight": 100, "preference": {"matchFields": [field("b")]}}],
            }
        },
        "/metadata/annotations/numafit.io~1nodes": "b,a",
    }


def test_a_pod_without_annotations_gets_them_only_if_nobody_else_gave_it_some() -> None:
    patch = released({}, ["a"], annotated=False)
    assert patch["test"]["/metadata/annotations"] is None
    assert patch["/metadata/annotations"] == {"numafit.io/nodes": "a"}


def test_the_terms_of_the_user_keep_their_number_and_get_the_host_names_behind_their_own_rules() -> None:
    own = {"key": "pool", "operator": "In", "values": ["gpu"]}
    terms = [{"matchExpressions": [own]}, {"matchFields": [field("x", "NotIn")]}, {}]
    spec = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}, "podAffinity": {"kept": True}}}
    hosts = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["host-a", "host-b"]}
    patch = released(spec, ["b", "a"])
    assert patch["test"]["/spec/affinity"] == spec["affinity"]
    affinity = patch["/spec/affinity"]
    assert affinity["podAffinity"] == {"kept": True}
    assert affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {"matchExpressions": [own, hosts]},
        {"matchFields": [field("x", "NotIn")], "matchExpressions": [hosts]},
        {},
    ]


def test_one_node_is_named_by_its_name_also_beside_terms_of_the_user() -> None:
    own = {"key": "pool", "operator": "Exists"}
    spec = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [own]}]}}}}
    node_affinity = released(spec, ["a"])["/spec/affinity"]["nodeAffinity"]
    assert node_affinity == {
        REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [own], "matchFields": [field("a")]}]}
    }


def test_preferences_of_the_user_come_before_ours() -> None:
    own = {"weight": 10, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}
    patch = released({"affinity": {"nodeAffinity": {PREFERRED: [own]}}}, ["a", "b"])
    ours = {"weight": 1, "preference": {"matchFields": [field("a")]}}
    assert patch["/spec/affinity"]["nodeAffinity"][PREFERRED] == [own, ours]


def test_beside_preferences_about_other_pods_no_node_is_preferred() -> None:
    for spec in (
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
        {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1}]}}},
    ):
        assert PREFERRED not in released(spec, ["a", "b"])["/spec/affinity"]["nodeAffinity"]


def test_a_node_selector_stays_and_must_not_have_changed() -> None:
    patch = released({"nodeSelector": {"pool": "gpu"}}, ["a"])
    assert patch["test"]["/spec/nodeSelector"] == {"pool": "gpu"}
    assert not any(path.startswith("/spec/nodeSelector") for path in patch if path != "test")


def test_for_nodes_to_come_the_impossible_ones_are_excluded_by_label_or_by_name() -> None:
    spec = waiting_spec(json.dumps({"schedulingGates": GATES}).encode())
    assert not has_terms(spec)
    patch = by_path(scale_patch(spec, "u", {"b": "host-b", "a": "host-a", "bare": ""}, annotated=True))
    assert patch["/spec/affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {
            "matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["host-a", "host-b"]}
            ],
            "matchFields": [field("bare", "NotIn")],
        }
    ]
    assert patch["/metadata/annotations/numafit.io~1scaled"] == "3"
    assert "/metadata/annotations/numafit.io~1nodes" not in patch


def test_terms_of_the_user_exclude_each_the_impossible_nodes() -> None:
    own = {"key": "pool", "operator": "Exists"}
    terms = [{"matchExpressions": [own]}, {}]
    spec = waiting_spec(json.dumps({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}).encode())
    assert has_terms(spec)
    patch = by_path(scale_patch(spec, "u", {"a": "host-a"}, annotated=True))
    excluded = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["host-a"]}
    assert patch["/spec/affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {"matchExpressions": [own, excluded]},
        {},
    ]


def test_with_nothing_to_exclude_only_the_gate_goes() -> None:
    spec = waiting_spec(json.dumps({"schedulingGates": GATES}).encode())
    assert "/spec/affinity" not in by_path(scale_patch(spec, "u", {}, annotated=True))


def test_gates_of_others_stay_when_ours_is_taken_away() -> None:
    assert json.loads(ungate_patch(["kueue.x-k8s.io/admission", "numafit.io/place"], "u")) == [
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {
            "op": "test",
            "path": "/spec/schedulingGates",
            "value": [{"name": "kueue.x-k8s.io/admission"}, {"name": "numafit.io/place"}],
        },
        {"op": "replace", "path": "/spec/schedulingGates", "value": [{"name": "kueue.x-k8s.io/admission"}]},
    ]
