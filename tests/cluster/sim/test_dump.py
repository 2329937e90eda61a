"""Nodes and pods out of what kubectl printed."""

import json
from pathlib import Path
from typing import Any

import pytest

from numafit.__main__ import main
from numafit.cluster.sim.dump import looks_like_dump, read_dumped_nodes, read_dumped_pods
from numafit.cluster.sim.group import idle_situation
from numafit.cluster.sim.table import NodeAssumptions, NodeTable, TableRow, groups_of_table
from numafit.errors import InputError
from numafit.quantity import parse_quantity
from numafit.settings.read.loader import ConfigFile
from numafit.settings.versions import parse_version


def node(name: str, cpu: str = "8", version: str = "v1.33.2", **more: str) -> dict[str, Any]:
    capacity = {"cpu": cpu, "memory": "16384000Ki", "pods": "110", "hugepages-2Mi": "0"} | more
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
        TableRow(8, 16000, (("nvidia.com/gpu", 2),), version, pods=110): ("a", "b"),
        TableRow(4, 16000, (), version, pods=110): ("c",),
    }


KVM, ENI = "devices.kubevirt.io/kvm", "vpc.amazonaws.com/pod-eni"


def test_nodes_have_all_that_their_capacity_tells() -> None:
    """Huge pages on all NUMA nodes, the disk, as many pods; of a resource with more than any device plugin would place
    the amount is counted, and its node believed."""
    own = {"hugepages-2Mi": "10Mi", "hugepages-1Gi": "2Gi", "ephemeral-storage": "104845292Ki", "pods": "7"}
    rows = read_dumped_nodes(dump(node("a", **own, **{KVM: "1k", ENI: "107", "x.y/z": "64"})), "d").rows
    (row,) = rows
    assert row.hugepages == ((2 << 20, 5), (1 << 30, 2))
    assert (row.devices, row.counted) == ((("x.y/z", 64),), ((KVM, 1000), (ENI, 107)))
    assert (row.storage, row.pods) == (99, 7)
    (group, _), *_ = groups_of_table(NodeTable(rows), NodeAssumptions())
    assert [own.hugepages for own in group.machine.numa_nodes] == [{2 << 20: 3, 1 << 30: 1}, {2 << 20: 2, 1 << 30: 1}]
    idle = idle_situation(group)
    told = {name: str(amount) for name, amount in (idle.allocatable or {}).items()}
    assert {name: told[name] for name in ("pods", KVM, ENI, "hugepages-1Gi")} == {
        "pods": "7",
        KVM: "1k",
        ENI: "107",
        "hugepages-1Gi": "2Gi",
    }
    # A tenth is kept free.
    assert parse_quantity(told["ephemeral-storage"]).value() >> 30 == 89


def test_the_number_of_pods_in_a_configuration_of_ones_own_counts_more() -> None:
    config = ConfigFile("own", '{"kind": "KubeletConfiguration", "maxPods": 3}')
    rows = read_dumped_nodes(dump(node("a")), "d").rows
    (group, _), *_ = groups_of_table(NodeTable(rows), NodeAssumptions(1, config))
    assert group.config == config


def test_what_is_counted_only_is_used_up_by_pods(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second of two pods that want most of it finds no node, and it is no device of which some are in use."""
    pods = [pod(name, f"2026-01-02T03:04:0{name}Z") for name in "12"]
    for each in pods:
        for amounts in each["spec"]["containers"][0]["resources"].values():
            amounts[KVM] = "600"
    file = tmp_path / "d.json"
    file.write_text(dump(node("a", "16", **{KVM: "1k"}), *pods))
    assert main(["fleet", "simulate", str(file), str(file), "--rule", "least-allocated", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (rule,) = found["rules"]
    assert (rule["pods"], rule["atOnce"], rule["unplaced"], rule["usedDevices"]) == (2, 1, 1, 0)
    (note,) = [own["text"] for own in found["notes"] if own["code"] == "nodes-devices-counted"]
    assert note == f"{KVM}: more than 64 on a node are counted, and placed on none of its NUMA nodes"


def test_static_pods_are_left_out_for_no_scheduler_places_them() -> None:
    trace = read_dumped_pods(dump(pod("etcd", owner="Node"), pod("a", owner="ReplicaSet")), "d")
    assert [own.pod.name for own in trace.pods] == ["a"]
    assert [note.text for note in trace.notes if note.code == "dump-static-left-out"] == [
        "1 static pod left out: nodes made them by themselves, and no scheduler places them"
    ]


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
    bad = {"hugepages-0": "1", "hugepages-many": "1", "hugepages-1Gi": "-1Gi", "pods": "1e12", "a.b/c": "-1"}
    read = read_dumped_nodes(dump(node("a"), *[node("b", **{name: text}) for name, text in bad.items()]), "d")
    assert [own.partition(": ")[2][:9] for own in read.skipped] == [f"items[{number}]:" for number in range(1, 6)]


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
