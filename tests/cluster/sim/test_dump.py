"""Nodes and pods out of what kubectl printed."""

import json
from typing import Any

import pytest

from numafit.cluster.sim.dump import looks_like_dump, read_dumped_nodes, read_dumped_pods
from numafit.cluster.sim.table import TableRow
from numafit.errors import InputError
from numafit.settings.versions import parse_version


def node(name: str, cpu: str = "8", version: str = "v1.33.2", **more: str) -> dict[str, Any]:
    capacity = {"cpu": cpu, "memory": "16384000Ki", "pods": "110", "hugepages-2Mi": "0", **more}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"capacity": capacity, "nodeInfo": {"kubeletVersion": version}},
    }


def pod(name: str, created: str = "2026-01-02T03:04:05Z", owner: str = "", **status: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "creationTimestamp": created}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner, "name": "x", "controller": True}]  # type: ignore[assignment]
    spec = {"containers": [{"name": "main", "image": "x", "resources": resources}], "nodeSelector": {"zone": "a"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def dump(*items: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


def test_nodes_have_their_capacity_and_their_release() -> None:
    text = dump(node("a", **{"nvidia.com/gpu": "2"}), pod("p"), node("b", **{"nvidia.com/gpu": "2"}), node("c", "4"))
    table = read_dumped_nodes(text, "d.json")
    version = parse_version("v1.33.2")
    assert table.rows == {
        TableRow(8, 16000, (("nvidia.com/gpu", 2),), version): ("a", "b"),
        TableRow(4, 16000, (), version): ("c",),
    }


def test_pods_come_in_the_order_in_which_they_were_made() -> None:
    """One that has ended ran from its start to the end of its last container; the others stay."""
    ended = {"terminated": {"finishedAt": "2026-01-02T03:05:15Z"}}
    text = dump(
        pod("late", "2026-01-02T03:04:35Z", "ReplicaSet", phase="Running"),
        node("a"),
        pod(
            "done",
            owner="Job",
            phase="Succeeded",
            startTime="2026-01-02T03:04:15Z",
            containerStatuses=[{"state": ended}, {"state": {}}],
        ),
        pod("other", "2026-01-02T03:04:06Z", "Workflow", phase="Pending"),
        pod("alone", "2026-01-02T03:04:07Z"),
    )
    trace = read_dumped_pods(text, "d.json")
    told = [(own.pod.name, own.arrival, own.run, own.owner) for own in trace.pods]
    assert told == [
        ("done", 0.0, 60.0, "Job"),
        ("other", 1.0, None, "Job"),
        ("alone", 2.0, None, "Pod"),
        ("late", 30.0, None, "ReplicaSet"),
    ]
    assert str(trace.pods[0].pod.containers[0].requests["cpu"]) == "2"
    assert trace.pods[0].pod.demands.selector == ()
    assert [note.code for note in trace.notes] == ["dump-wishes-dropped"]


def test_rejected_pods_are_left_out_for_they_were_made_again() -> None:
    text = dump(pod("a"), pod("b", phase="Failed", reason="TopologyAffinityError"), pod("c", phase="Failed"))
    trace = read_dumped_pods(text, "d.json")
    assert [own.pod.name for own in trace.pods] == ["a", "c"]
    assert [note.code for note in trace.notes] == ["dump-rejected-left-out", "dump-wishes-dropped"]


@pytest.mark.parametrize("reason", ["OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfnvidia.com/gpu"])
def test_who_found_a_full_node_was_rejected_too(reason: str) -> None:
    """The same reason of a pod that is there still is none."""
    trace = read_dumped_pods(dump(pod("a", phase="Failed", reason=reason), pod("b", reason=reason)), "d.json")
    assert [own.pod.name for own in trace.pods] == ["b"]
    assert trace.notes[0].text == "1 pod that a kubelet had rejected left out: others were made in their place"


def test_bad_objects_are_left_out_with_their_places() -> None:
    broken = pod("b")
    del broken["spec"]["containers"]
    text = dump(node("a"), node("b", "many"), node("c", version="v1.2"), pod("a"), broken, pod("c", "yesterday"))
    assert [own.partition(": ")[2][:9] for own in read_dumped_nodes(text, "d").skipped] == ["items[1]:", "items[2]:"]
    assert [own.partition(": ")[2][:9] for own in read_dumped_pods(text, "d").skipped] == ["items[4]:", "items[5]:"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (dump(), "there is no node in it"),
        (dump(node("a", "many")), "d: items[0]:"),
        ('{"apiVersion": "v1", "items": 3}', "is no list of objects"),
        ('{"apiVersion": "v1", "items": [', "is no list of objects"),
    ],
)
def test_without_a_good_node_it_is_refused(text: str, said: str) -> None:
    assert looks_like_dump(text)
    with pytest.raises(InputError) as caught:
        read_dumped_nodes(text, "d")
    assert said in str(caught.value)


def test_without_a_pod_it_is_refused() -> None:
    with pytest.raises(InputError, match="there is no pod in it"):
        read_dumped_pods(dump(node("a")), "d")
    assert not looks_like_dump('{"arrival": 1, "requests": {}}')
