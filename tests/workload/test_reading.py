"""Which pods of files count, in which order, and what is said of the others."""

import json
from typing import Any

import pytest

from numafit.errors import InputError
from numafit.notes import NOTE_CODES
from numafit.workload.objects import ManifestFile
from numafit.workload.reading import NodeChoice, Reading, read_files, read_past, read_pods
from tests.workload.dumps import dump, ended, maker, manifest, owner, pending, running


def names(reading: Reading) -> tuple[list[str], list[str]]:
    return [pod.name for pod in reading.running], [pod.name for pod in reading.coming]


def notes(reading: Reading) -> list[tuple[str, str, str]]:
    assert all(note.code in NOTE_CODES for note in reading.notes)
    return [(note.code, note.about, note.text) for note in reading.notes]


def test_pods_that_run_come_first_in_the_order_of_their_start() -> None:
    """Then by creation, then by name; pods to come stay in the order of the file."""
    objects = [
        manifest("new"),
        running("c", "10:00:02"),
        running("b", "10:00:01"),
        pending("waiting"),
        running("a", "10:00:01"),
        running("old", "10:00:01", creationTimestamp="2026-11-14T00:00:00Z"),
    ]
    assert names(read_pods(dump(*objects))) == (["old", "a", "b", "c"], ["new", "waiting"])


def test_a_pod_without_a_start_is_as_old_as_its_creation() -> None:
    second = running("second", "10:00:02")
    del second["status"]["startTime"]
    assert names(read_pods(dump(running("third", "10:00:03"), second, running("first"))))[0] == [
        "first",
        "second",
        "third",
    ]


def test_a_pod_that_has_ended_holds_nothing_and_is_left_out() -> None:
    """Its UID is kept, for what state files still say of it."""
    reading = read_pods(dump(ended("f1"), running("a"), ended("s", "Succeeded"), ended("f2")))
    assert names(reading) == (["a"], [])
    assert reading.ended == {"uid-f1", "uid-f2", "uid-s"}
    rejected = "was rejected by its kubelet (TopologyAffinityError), and holds nothing (--rejected plays it again)"
    assert notes(reading) == [
        ("pod-left-out", "pods", f"default/f1 and 1 more: {rejected}"),
        ("pod-left-out", "default/s", "has ended (Succeeded), and holds nothing"),
    ]


def test_a_rejected_pod_comes_again_where_it_is_asked_for_or_alone() -> None:
    """`kubectl get pod X -o yaml` of a pod that failed is a question about it."""
    text = "was rejected by its kubelet (TopologyAffinityError) and is played again, after those that run"
    evicted = ended("evicted")
    evicted["status"]["reason"] = "Evicted"
    for reading in (
        read_pods(json.dumps(ended("f"))),
        read_pods(dump(ended("f"), running("a"), evicted), choice=NodeChoice(rejected=True)),
    ):
        assert names(reading)[1] == ["f"]
        assert ("pods-replayed", "default/f", text) in notes(reading)
    with pytest.raises(InputError, match="no pods to play; default/evicted: has ended"):
        read_pods(json.dumps(evicted))


def test_a_pod_that_events_add_comes_whatever_became_of_it() -> None:
    """But for one of which another has taken the place."""
    objects = dump(ended("f"), ended("s", "Succeeded"), ended("other"), running("a"), ended("a"))
    reading = read_pods(objects, choice=NodeChoice(added=frozenset({"f", "default/s", "a"})))
    assert names(reading) == (["a"], ["f", "s"])
    assert reading.ended == {"uid-other", "uid-a"}


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown", "Odd", ""])
def test_a_pod_that_its_kubelet_took_in_holds_what_it_got_in_any_other_phase(phase: str) -> None:
    """Also while it terminates, and while its images are pulled."""
    made = running("a", deletionTimestamp="2026-11-15T11:00:00Z", deletionGracePeriodSeconds=30)
    made["status"]["phase"] = phase
    assert names(read_pods(dump(made))) == (["a"], [])


def test_a_bound_pod_that_no_kubelet_has_seen_is_to_come() -> None:
    assert names(read_pods(dump(pending("bound", "one"), running("a")))) == (["a"], ["bound"])


TWO = dump(running("a", node="one"), running("b", node="two"), running("c", node="two"), manifest("new"))


def test_pods_of_several_nodes_need_a_choice() -> None:
    """The sentence names them, the one with most pods first."""
    with pytest.raises(InputError) as error:
        read_pods(TWO, choice=NodeChoice(cure="choose one"))
    assert str(error.value) == "the pods are on 2 nodes: two (2), one (1) (choose one)"


def test_of_many_nodes_some_are_named() -> None:
    with pytest.raises(InputError, match=r"the pods are on 30 nodes: n0 \(1\), .* and 25 more"):
        read_pods(dump(*(running(f"p{i}", node=f"n{i}") for i in range(30))))


NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "two"}}


@pytest.mark.parametrize(
    ("text", "choice", "found"),
    [
        (TWO, NodeChoice("one"), ["a"]),
        (TWO, NodeChoice("two"), ["b", "c"]),
        (TWO, NodeChoice(every=True), ["a", "b", "c"]),
        (TWO, NodeChoice(likely=("three", "two")), ["b", "c"]),
        (dump(NODE, *json.loads(TWO)["items"]), NodeChoice(), ["b", "c"]),
        (dump(running("a"), ended("f", node="two")), NodeChoice(likely=("two",)), ["a"]),
    ],
)
def test_a_name_a_node_object_or_the_host_tells_whose_pods_count(
    text: str, choice: NodeChoice, found: list[str]
) -> None:
    assert names(read_pods(text, choice=choice))[0] == found


def test_pods_of_other_nodes_are_left_out_with_a_note() -> None:
    reading = read_pods(TWO, choice=NodeChoice("one"))
    assert names(reading) == (["a"], ["new"])
    assert notes(reading) == [("pod-left-out", "pods", "default/b and 1 more: is on another node than one")]


def test_a_mirror_pod_is_known_by_the_uid_that_the_kubelet_gave_it() -> None:
    """Annotation kubernetes.io/config.hash: state files are keyed by it, not by the UID of the API."""
    annotations = {"kubernetes.io/config.hash": "abc", "kubernetes.io/config.mirror": "abc"}
    (pod,) = read_pods(dump(running("etcd", annotations=annotations))).running
    assert pod.uid == "abc"


def test_pods_that_are_given_are_not_made_again_by_their_owners() -> None:
    """As `kubectl get all` prints them; old ReplicaSets have no replicas, and a Deployment of a person is another."""
    objects = [
        running("web-1", ownerReferences=owner("ReplicaSet", "web-9f")),
        maker("Deployment", "web", 3),
        maker("ReplicaSet", "web-9f", 3, ownerReferences=owner("Deployment", "web")),
        maker("ReplicaSet", "web-8e", 0, ownerReferences=owner("Deployment", "web")),
        maker("Deployment", "idle", 2),
        maker("ReplicaSet", "idle-7d", 2, ownerReferences=owner("Deployment", "idle")),
    ]
    reading = read_pods(dump(*objects))
    assert names(reading) == (["web-1"], ["idle-0", "idle-1"])
    assert notes(reading) == [("pod-left-out", "Deployment default/web", "adds no pods: some that it made are given")]


def test_a_job_that_is_over_makes_no_pods() -> None:
    """Nor does one that gave up; a Rollout that is complete does, since only its roll-out is."""
    job = maker("Job", "done", 1) | {"apiVersion": "batch/v1"}
    job["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    rollout = maker("Rollout", "web", 1) | {"apiVersion": "argoproj.io/v1alpha1"}
    rollout["status"] = {"conditions": [{"type": "Completed", "status": "True"}]}
    reading = read_pods(dump(job, rollout))
    assert names(reading) == ([], ["web-0"])
    assert notes(reading) == [("pod-left-out", "Job default/done", "has ended, and makes no pods any more")]


def test_a_field_that_only_a_younger_server_knows_is_noted() -> None:
    """The server accepted it. In a manifest of a person it is a typing error."""
    made = running("a")
    made["spec"]["containers"][0]["newField"] = made["spec"]["yetAnother"] = True
    (pod,) = read_pods(dump(made)).running
    assert [(unread.code, unread.text.split('"')[1]) for unread in pod.unread] == [
        ("field-ignored", "yetAnother"),
        ("field-ignored", "newField"),
    ]
    with pytest.raises(InputError, match='unknown field "yetAnother"'):
        read_pods(json.dumps(manifest("a", yetAnother=True)))


GATEWAY: dict[str, Any] = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "metadata": {"name": "g"}}
CERTIFICATE = {"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"}}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}


def test_objects_without_pods_are_counted_in_one_note() -> None:
    """Kinds that are known to have none are not worth a note."""
    reading = read_pods(dump(GATEWAY, SERVICE, manifest("a"), CERTIFICATE, GATEWAY), "chart.yaml")
    assert names(reading) == ([], ["a"])
    text = "left out, since no pod template was found in it: 2 Gateway, 1 Certificate"
    assert notes(reading) == [("kind-skipped", "chart.yaml", text)]


def test_a_limit_range_is_not_applied() -> None:
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}}
    text = "its LimitRange is left out: to pods of manifests the API server would add what it says"
    assert notes(read_pods(dump(limits, manifest("a")), "a.yaml")) == [("kind-skipped", "a.yaml", text)]


def test_a_virtual_machine_is_no_pod_template() -> None:
    """KubeVirt reckons what its pod asks for."""
    template = {"spec": {"domain": {"cpu": {"cores": 2}}}}
    machine = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": {"template": template}}
    text = "left out, since KubeVirt makes the pod itself: 1 VirtualMachine"
    assert notes(read_pods(dump(machine, manifest("a")), "vm.yaml")) == [("kind-skipped", "vm.yaml", text)]


def test_a_file_without_pods_says_what_is_in_it() -> None:
    with pytest.raises(InputError, match="there is no pod in this file, only 2 Gateway, 1 Service "):
        read_pods(dump(GATEWAY, SERVICE, GATEWAY))


def test_a_file_without_pods_may_stand_beside_one_with_some() -> None:
    """As a chart in a folder has it."""
    files = [ManifestFile("service.yaml", json.dumps(SERVICE)), ManifestFile("pod.yaml", json.dumps(manifest("a")))]
    reading = read_files(files)
    assert (names(reading), reading.notes) == (([], ["a"]), ())
    with pytest.raises(InputError, match="there is no pod in these files, only 2 Service"):
        read_files([files[0], files[0]])


def test_a_kind_of_kubernetes_that_is_misspelt_stays_an_error() -> None:
    """Somebody else's kind has an API group with a dot."""
    with pytest.raises(InputError, match='the kind "Deploymnt" is not known'):
        read_pods(json.dumps({"apiVersion": "apps/v1", "kind": "Deploymnt"}))


def test_a_pod_of_a_person_comes_once_and_one_of_a_server_counts_once() -> None:
    with pytest.raises(InputError, match="the pod default/a comes twice"):
        read_pods(dump(manifest("a"), manifest("a")))
    reading = read_pods(dump(running("a"), running("a")))
    assert names(reading) == (["a"], [])
    assert [note.text for note in reading.notes] == ["stands there twice, with one UID; the first one counts"]


def test_a_pod_that_was_rejected_on_another_node_is_not_offered_to_be_played_again() -> None:
    """`--rejected` would not play it: it is not about this node."""
    elsewhere = ended("f")
    elsewhere["spec"]["nodeName"] = "two"
    reading = read_pods(dump(running("a"), elsewhere))
    assert notes(reading) == [("pod-left-out", "default/f", "is on another node than one")]


def test_a_pod_without_a_node_is_noted_beside_pods_that_have_one() -> None:
    """It may go to another node; alone in its file it is the question itself."""
    waits = pending("w")
    text = "is bound to no node yet, and is played as if it came to this one"
    assert ("pod-unbound", "default/w", text) in notes(read_pods(dump(running("a"), waits)))
    assert notes(read_files([ManifestFile("a", dump(running("a"))), ManifestFile("w", dump(waits))])) == []


def test_when_all_pods_are_left_out_it_says_why() -> None:
    with pytest.raises(InputError) as error:
        read_pods(dump(NODE, ended("f"), running("a")), choice=NodeChoice("two"))
    assert str(error.value).startswith("no pods to play; pods: default/f and 1 more: is on another node than two")


def test_a_node_that_no_pod_is_on_is_a_typing_error() -> None:
    """An empty node would be the answer; a Node object says that there is one."""
    with pytest.raises(InputError, match=r"no pod is on the node oen; they are on two \(2\), one \(1\)"):
        read_pods(TWO, choice=NodeChoice("oen"))


def test_more_pods_than_are_played_are_refused() -> None:
    """Before any of them is made."""
    made = maker("Deployment", "web", 2_000_000_000)
    with pytest.raises(InputError, match="2000000000 pods with those of Deployment web"):
        read_files([ManifestFile("web.yaml", json.dumps(made))], most=100)


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "List", "items": null}',
        '{"kind": "List", "items": [null]}',
        '{"kind": "PodList", "items": [{"metadata": null, "spec": null, "status": null}]}',
        '{"kind": "List", "items": [{"kind": "List", "items": []}]}',
        '{"kind": "Pod", "metadata": {"name": "a", "uid": 5}, "spec": {"containers": [{"name": "c"}]}}',
        '{"kind": "Pod", "metadata": {"name": "a", "ownerReferences": [5]}, "spec": {"containers": [{"name": "c"}]}}',
        '{"kind": "Pod", "metadata": {"name": "a", "annotations": 5}, "spec": {"containers": [{"name": "c"}]}}',
        '{"kind": "Pod", "metadata": {"name": "a"}, "status": [], "spec": {"nodeName": 5}}',
        '{"kind": "List", "items": ' * 300 + "[]" + "}" * 300,
        '{"kind":"List","items":[' * 400 + "]}" * 400,
        '{"apiVersion": "x.io/v1", "kind": "Odd", "spec": ' + '{"a":' * 800 + "1" + "}" * 801,
    ],
)
def test_odd_input_gets_one_sentence(text: str) -> None:
    with pytest.raises(InputError):
        read_pods(text)


def test_anchors_and_several_documents_of_yaml_are_read() -> None:
    text = """
apiVersion: v1
kind: List
items:
- &pod
  apiVersion: v1
  kind: Pod
  metadata: {name: a}
  spec: &spec {containers: [{name: app}]}
- {<<: *pod, metadata: {name: b}}
---
kind: Pod
metadata: {name: c}
spec: {containers: [{name: app}]}
"""
    assert names(read_pods(text)) == ([], ["a", "b", "c"])


def test_for_a_past_all_pods_of_a_node_are_to_come_whatever_became_of_them() -> None:
    objects = [running("b", "10:00:02"), ended("done", "Succeeded"), manifest("new")]
    elsewhere = running("other", "10:00:01")
    elsewhere["spec"]["nodeName"] = "elsewhere"
    node = objects[0]["spec"]["nodeName"]
    files = [ManifestFile("dump", dump(*objects, elsewhere))]
    assert names(read_past(files, choice=NodeChoice(node))) == ([], ["b", "done", "new"])
    assert names(read_past(files, choice=NodeChoice(every=True))) == ([], ["b", "done", "new", "other"])
