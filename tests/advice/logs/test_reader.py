"""Lines put together to admissions."""

import json

import pytest

from numafit.advice.logs.admission import Arrival
from numafit.bits import mask_of
from numafit.decision.decision import NO_LOCALITY
from tests.advice.logs.log_text import (
    admissions_of,
    denied,
    events_of,
    json_hint,
    json_map,
    klog,
    merge_lines,
    report_of,
)

POD = "default/a"
ONE, TWO = json_map("cpu", [(1, True), (3, False)]), json_map("memory", [(2, True)])
NOTHING = json_hint(None, False)
REJECTED = merge_lines(POD, "c", ["{}", ONE, TWO], NOTHING, stored=False)
ACCEPTED = merge_lines(POD, "c", ["{}", ONE, "{}"], json_hint(1, True), stored=True)


def test_hints_merge_and_verdict_of_a_container() -> None:
    """Three providers, the merged hint, and that it was stored (1.31)."""
    (admission,) = admissions_of(ACCEPTED)
    (merge,) = admission.merges
    assert merge.providers == ({}, {"cpu": ((1, True), (3, False))}, {})
    assert (merge.container, merge.best, merge.admit) == ("c", (1, True), True)
    assert (admission.pod, admission.admitted, admission.reason) == (POD, True, "")


def test_a_merge_that_nothing_was_stored_after_was_rejected() -> None:
    """At low verbosity no line says so (before 1.31); what follows shows it."""
    best = json_hint(1, False)
    lines = merge_lines(POD, "c", [ONE, TWO], best, stored=False)
    (cut,) = admissions_of(lines)
    (ended,) = admissions_of(lines, later_lines=True)
    (followed, _) = admissions_of([*lines, *merge_lines("default/b", "c", [ONE], best, stored=True)])
    assert (cut.admitted, cut.merges[-1].admit) == (None, None)
    for admission in (ended, followed):
        assert (admission.admitted, admission.reason, admission.message) == (
            False,
            "TopologyAffinityError",
            NO_LOCALITY,
        )
        assert (admission.inferred, admission.merges[-1].admit) == (True, False)


def test_a_rejection_by_another_kubelet_is_another_admission() -> None:
    """Where journald has dropped the lines before it."""
    words = '"Pod admission denied" podUID="u" pod="default/a" reason="TopologyAffinityError" message=""'
    lines = [klog(f'"Topology manager admission check" pod="{POD}"', 1.0, 7)]
    lines += [klog(f'"Pod Admit Result" Message="" pod="{POD}"', 2.0, 7)]
    for process, version in ((8, []), (7, [klog('"Kubelet version" kubeletVersion="v1.36.3"', 8.0, 7)])):
        found = admissions_of([*lines, *version, klog(words, 9.0, process)])
        assert [(each.admitted, each.line) for each in found] == [(True, 1), (False, 3 + len(version))]


def test_single_numa_node_without_a_node_needs_no_further_proof() -> None:
    """It alone stores no mask, and rejects what is not preferred (1.20 to 1.36)."""
    (admission,) = admissions_of(REJECTED)
    assert (admission.admitted, admission.kubelet.policy) == (False, "single-numa-node")


@pytest.mark.parametrize(
    ("best", "stored", "policy"),
    [
        ((None, False), False, "single-numa-node"),
        ((None, True), True, "single-numa-node"),
        ((1, False), False, "restricted"),
        ((1, False), True, "best-effort"),
        ((3, True), True, ""),
        ((1, True), True, ""),
    ],
)
def test_the_policy_shows_in_what_the_merge_came_to(best: tuple[int | None, bool], stored: bool, policy: str) -> None:
    """A null mask: single-numa-node; a mask rejected: restricted; a bad one accepted: best-effort (1.20 to 1.36)."""
    lines = merge_lines(POD, "c", [ONE, TWO], json_hint(*best), stored=stored)
    events, reader = events_of(lines, later_lines=True)
    assert len(events) == 1
    assert reader.kubelets[7].policy == policy


def test_the_kubelet_says_its_policy_when_it_starts() -> None:
    line = '"Creating topology manager with policy per scope" topologyPolicyName="restricted" topologyScopeName="pod"'
    _, reader = events_of([klog('"Kubelet version" kubeletVersion="v1.27.3"'), klog(line)])
    kubelet = reader.kubelets[7]
    assert (str(kubelet.version), kubelet.policy, kubelet.scope) == ("v1.27.3", "restricted", "pod")


def test_a_restarted_kubelet_is_another_kubelet() -> None:
    """Its settings may have changed; the process id tells."""
    best = json_hint(1, False)
    first = merge_lines(POD, "c", [ONE, TWO], best, stored=False, process=7)
    second = merge_lines(POD, "c", [ONE, TWO], best, stored=True, process=8)
    _, reader = events_of([*first, *second])
    assert (reader.kubelets[7].policy, reader.kubelets[8].policy) == ("restricted", "best-effort")


@pytest.mark.parametrize(
    ("line", "releases"),
    [
        ("[topologymanager] Topology Admit Handler", (20, 20)),
        ('"Topology Admit Handler"', (21, 30)),
        ('"Topology Admit Handler" podUID="u" podNamespace="n" podName="p"', (25, 30)),
        ('"TopologyHints" hints=map[] pod="n/p"', (21, 27)),
        ('"TopologyHints" hints={} pod="n/p"', (28, 37)),
        ('"Topology manager admission check" pod="n/p"', (33, 37)),
        ('"Pod admission denied" podUID="u" pod="n/p" reason="r" message="m"', (31, 37)),
        ('"Pod admission denied" podUID="u" pod="n/p" reason="r" message="m" operation="add"', (36, 37)),
        ('"Allocate start" pod="n/p"', (35, 37)),
    ],
)
def test_the_style_of_a_line_tells_its_releases(line: str, releases: tuple[int, int]) -> None:
    _, reader = events_of([klog(line)])
    assert (reader.kubelets[7].first_minor, reader.kubelets[7].last_minor) == releases


def test_the_pod_scope_has_one_merge_and_many_containers() -> None:
    lines = merge_lines(POD, "", [ONE, TWO], json_hint(1, True), stored=True)
    (admission,) = admissions_of(
        [*lines, klog('"Topology Affinity" bestHint=' + json_hint(1, True) + f' pod="{POD}" containerName="d"')]
    )
    assert [(merge.container, merge.admit) for merge in admission.merges] == [("", True)]
    assert admission.kubelet.scope == "pod"


def test_the_same_pod_again_is_another_attempt() -> None:
    """Without an admit line (1.31, 1.32) hints of a container that was merged already begin a new one."""
    assert [admission.admitted for admission in admissions_of([*REJECTED, *ACCEPTED])] == [False, True]


def test_two_containers_are_one_attempt() -> None:
    second = merge_lines(POD, "d", ["{}", ONE, TWO], NOTHING, stored=False)
    (admission,) = admissions_of([*ACCEPTED, *second])
    assert [(merge.container, merge.admit) for merge in admission.merges] == [("c", True), ("d", False)]
    assert admission.admitted is False


def test_an_event_that_comes_late_belongs_to_its_pod() -> None:
    """Events are written by another goroutine, after the next pod has begun."""
    event = (
        f'"Event occurred" object="{POD}" fieldPath="" kind="Pod" apiVersion="v1" type="Warning" '
        'reason="UnexpectedAdmissionError" message="Allocate failed due to x, which is unexpected"'
    )
    first, second = admissions_of(
        [*ACCEPTED, *merge_lines("default/b", "c", [ONE, TWO], json_hint(1, True), stored=True), klog(event)]
    )
    by_pod = {admission.pod: admission for admission in (first, second)}
    assert by_pod[POD].reason == "UnexpectedAdmissionError"
    assert (by_pod[POD].merges[0].admit, by_pod["default/b"].admitted) == (True, True)


def test_a_pod_that_the_topology_manager_passes_can_still_be_denied() -> None:
    """The check of the node as a whole comes after it (1.33 on)."""
    passed = klog(f'"Pod Admit Result" Message="" pod="{POD}"')
    (admission,) = admissions_of(
        [*ACCEPTED, passed, denied(POD, "u1", "OutOfcpu", "Node didn't have enough resource: cpu")]
    )
    assert (admission.admitted, admission.reason, admission.uid) == (False, "OutOfcpu", "u1")


def test_denial_event_and_status_patch_are_one_rejection() -> None:
    """Each of them alone would do; together they tell of one pod."""
    event = f'"Event occurred" object="{POD}" kind="Pod" type="Warning" reason="OutOfpods" message="no"'
    values = {"message": "Pod was rejected: no", "phase": "Failed", "reason": "OutOfpods"}
    patch = json.dumps({"metadata": {"uid": "u1"}, "status": values}).replace('"', '\\"')
    status = f'"Patch status for pod" pod="{POD}" podUID="u1" patch="{patch}"'
    texts = [denied(POD, "u1", "OutOfpods"), klog(event), klog(status)]
    assert [(a.uid, a.reason, a.message) for a in admissions_of(texts)] == [("u1", "OutOfpods", "no")]
    assert [(a.uid, a.reason, a.message) for a in admissions_of(texts[2:])] == [("u1", "OutOfpods", "no")]
    older = klog(status.replace("patch=", "patchBytes="))
    assert [(a.uid, a.reason, a.message) for a in admissions_of([older])] == [("u1", "OutOfpods", "no")]
    assert len(admissions_of([*texts, denied(POD, "u2", "OutOfpods")])) == 2


@pytest.mark.parametrize(
    "event",
    [
        'fieldPath="spec.containers{c}" kind="Pod" type="Warning" reason="Failed" message="Error: x"',
        'fieldPath="" kind="Pod" type="Warning" reason="Evicted" message="The node was low on resource: memory."',
        'fieldPath="" kind="Pod" type="Warning" reason="FailedMount" message="x"',
    ],
)
def test_other_warnings_about_pods_are_no_rejections(event: str) -> None:
    assert admissions_of([klog(f'"Event occurred" object="{POD}" {event}')]) == []


def test_a_refused_resize_is_no_rejection() -> None:
    """The pod keeps running with what it has (1.36)."""
    line = f'"Pod admission denied" podUID="u" pod="{POD}" reason="OutOfcpu" message="m" operation="resize"'
    assert admissions_of([klog(line)]) == []


def test_exclusive_cpus_are_those_that_were_allocated() -> None:
    """The reconciler writes "Updated desired CPUSet" for shared containers too; only a fresh grant counts."""
    grant = [
        klog(f'"Static policy: Allocate" pod="{POD}" containerName="c"'),
        klog('"AllocateCPUs" numCPUs=3 socket="01"'),
        klog('"AllocateCPUs" result="1-3"'),
        klog('"Updated desired CPUSet" podUID="other" containerName="x" cpuSet="0,4-7"'),
        klog('"Updated desired CPUSet" podUID="u1" containerName="c" cpuSet="1-3"'),
        klog('"Making allocation request for device plugin" devices=["g0","g1"] resourceName="x.io/gpu"'),
    ]
    (admission,) = admissions_of([*ACCEPTED, *grant])
    assert (admission.cpus, admission.uid) == ({"c": mask_of((1, 2, 3))}, "u1")
    assert admission.devices == {"c": {"x.io/gpu": ("g0", "g1")}}


def test_an_empty_go_list_is_no_preference_only_when_the_merge_says_so() -> None:
    """`[]` is both in Go's text (1.20 to 1.27); the line of the merge tells which."""
    lines = [
        klog(f'"TopologyHints" hints=map[cpu:[] memory:[]] pod="{POD}" containerName="c"'),
        klog('"Hint Provider has no preference for NUMA affinity with resource" resource="memory"'),
    ]
    (admission,) = admissions_of(lines)
    assert admission.merges[0].providers == ({"cpu": (), "memory": None},)


def test_admitted_pods_do_not_crowd_out_a_rejected_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many different admissions are kept; what is rejected after them is still told."""
    monkeypatch.setattr("numafit.advice.logs.report.MOST_KEPT", 1)
    lines = []
    for i, name in enumerate(("one", "two", "three")):
        hints = [json_map("cpu", [(1, True)])]
        lines += merge_lines(f"default/{name}", "c", hints, json_hint(1, True), stored=True, at=float(i))
    lines.append(denied("default/four", "u4", "TopologyAffinityError", at=5.0))
    report = report_of(lines)
    assert [kept.admission.pod for kept in report.kept] == ["default/one", "default/four"]
    assert report.not_kept == 2


def test_a_line_that_is_cut_costs_only_itself() -> None:
    cut = REJECTED[1][: REJECTED[1].index("NUMANodeAffinity") + 5]
    (admission,) = admissions_of([REJECTED[0], cut, *REJECTED[2:]])
    assert admission.merges[0].providers == ({}, {"memory": ((2, True),)})


def test_pods_that_come_are_told_in_all_styles() -> None:
    texts = [
        '"Receiving a new pod" pod="default/a"',
        '"SyncLoop ADD" source="api" pods=["default/a","default/b"]',
        '"SyncLoop ADD" source="api" pods=[default/a default/b]',
        '"SyncLoop ADD" source="api" pods="a_default(u1), b_default(u2)"',
        'SyncLoop (ADD, "api"): "a_default(u1), b_default(u2)"',
    ]
    for text, expected in zip(texts, (["a"], *[["a", "b"]] * 4), strict=True):
        events, _ = events_of([klog(text)])
        assert [event.pod for event in events if isinstance(event, Arrival)] == [f"default/{name}" for name in expected]
