"""The Node object, and its comparison with what was given."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.model import Cpu, Machine, NumaNode
from numafit.notes import NOTE_CODES, Note
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.facts import NodeFacts, Taint
from numafit.settings.node_object import (
    NodeObject,
    holds_node,
    names_among,
    node_disagreements,
    read_node,
    read_nodes,
    with_total_memory,
)
from numafit.settings.versions import parse_version

NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: worker-1
  labels:
    kubernetes.io/arch: amd64
spec:
  unschedulable: true
  taints:
  - effect: NoSchedule
    key: nvidia.com/gpu
    value: present
status:
  allocatable:
    cpu: 1500m
    hugepages-2Mi: "0"
    memory: 3Gi
    pods: "110"
  capacity:
    cpu: "2"
    memory: 4Gi
  nodeInfo:
    architecture: amd64
    kubeletVersion: v1.30.4-eks-36bf25c
    operatingSystem: linux
"""
READ = NodeObject(
    name="worker-1",
    kubelet_version="v1.30.4-eks-36bf25c",
    capacity={"cpu": Quantity(2), "memory": parse_quantity("4Gi")},
    allocatable={
        "cpu": parse_quantity("1500m"),
        "hugepages-2Mi": Quantity(0),
        "memory": parse_quantity("3Gi"),
        "pods": Quantity(110),
    },
    labels={"kubernetes.io/arch": "amd64"},
    taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"),),
    operating_system="linux",
    source="node.yaml",
    version_line=24,
    version_column=21,
)
MACHINE = Machine(
    (Cpu(0, 0, 0, 0), Cpu(1, 1, 0, 0)),
    (NumaNode(0, 4 << 30),),
    memory=4 << 30,
)
OFFERED = {"cpu": parse_quantity("1500m"), "memory": parse_quantity("3Gi"), "pods": Quantity(110)}


def test_a_node_object_is_read_with_its_release_and_totals() -> None:
    """YAML."""
    assert read_node(NODE, "node.yaml") == READ
    assert str(READ.version()) == "v1.30.4"


def test_a_list_of_nodes_gives_the_one_that_is_named() -> None:
    """`kubectl get nodes -o json`, whose items carry their kind, and a NodeList, whose items may not."""
    items = [{"metadata": {"name": name}, "status": {"nodeInfo": {"kubeletVersion": "v1.36.4"}}} for name in "ab"]
    listed = json.dumps({"kind": "List", "items": [{"kind": "Node", **item} for item in items]})
    assert [node.name for node in read_nodes(listed)] == ["a", "b"]
    assert read_node(json.dumps({"kind": "NodeList", "items": items}), name="b").name == "b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Pod\n", 'n.yaml:1:7: kind: a Node is expected here, not the kind "Pod" (a Node comes from'),
        ("{}", "n.yaml:1:1: kind: the object has no kind (a Node comes from"),
        ("", "n.yaml: there is no Node in this file (it comes from"),
        ("- 1\n", "n.yaml:1:1: a mapping is expected here"),
        (
            "kind: Node\nstatus:\n  nodeInfo: {}\n",
            "n.yaml:3:13: status.nodeInfo.kubeletVersion: the Node does not tell its kubelet's release (give it as",
        ),
        (
            "kind: Node\nstatus:\n  capacity:\n    cpu: many\n  nodeInfo:\n    kubeletVersion: v1.36.4\n",
            'n.yaml:4:10: status.capacity.cpu: "many" is not a quantity:',
        ),
        (f"{NODE}---\n{NODE}", "n.yaml: 2 Nodes in this file, one is needed: worker-1, worker-1 (get the one by"),
    ],
)
def test_what_is_no_node_is_one_sentence_with_its_place(text: str, message: str) -> None:
    """And with the command that prints one."""
    with pytest.raises(InputError) as refused:
        read_node(text, "n.yaml")
    assert str(refused.value).startswith(message)


def test_a_node_that_is_not_in_the_file_is_told_with_those_that_are() -> None:
    """By name."""
    with pytest.raises(InputError, match=r"there is no Node x in this file \(there are worker-1\)"):
        read_node(NODE, name="x")


def test_a_release_that_is_not_covered_is_shown_where_it_stands() -> None:
    """Only when it is asked for."""
    with pytest.raises(InputError) as refused:
        read_node(NODE.replace("v1.30.4-eks-36bf25c", "v1.19.0"), "n.yaml").version()
    assert str(refused.value) == (
        "n.yaml:24:21: status.nodeInfo.kubeletVersion: kubelet v1.19.0 is not covered (numafit knows 1.20 to 1.37)"
    )


def test_a_file_is_known_to_hold_a_node() -> None:
    """By its first object."""
    assert holds_node(NODE)
    assert not holds_node("kind: DaemonSet\n")
    assert not holds_node("\0")
    assert not holds_node("")


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    ["kind", "items", "metadata", "spec", "status", "nodeInfo", "taints", "capacity", "name"]
                ),
                inner,
            )
        ),
    )
)
def test_any_document_is_a_node_or_one_sentence(value: object) -> None:
    """Never anything else."""
    try:
        sentence = read_node(json.dumps(value), "n").source
    except InputError as error:
        sentence = str(error)
    assert sentence.startswith("n")


def test_a_node_that_is_as_given_has_nothing_to_say() -> None:
    """A resource of which there is none is as good as one that is not named; a release without a patch is any patch."""
    assert node_disagreements(READ, MACHINE, OFFERED, parse_version("1.30")) == ()
    assert node_disagreements(READ, MACHINE, OFFERED, parse_version("1.30.4")) == ()


def told(*texts: str) -> tuple[Note, ...]:
    return tuple(Note("node-disagrees", "node", f"the Node object worker-1 says otherwise: {text}") for text in texts)


def test_each_difference_is_a_note() -> None:
    """Release, capacity, offers; a device that one of both does not have."""
    node = read_node(
        NODE.replace("    cpu: 1500m\n", "    cpu: 1500m\n    nvidia.com/gpu: '8'\n").replace("linux", "windows")
    )
    offered = {**OFFERED, "pods": Quantity(64), "example.com/nic": Quantity(1), "ephemeral-storage": Quantity(1)}
    assert node_disagreements(node, MACHINE, offered, parse_version("1.30.5")) == told(
        "its kubelet is v1.30.4-eks-36bf25c, and v1.30.5 is played",
        "it runs windows, and the managers of a kubelet on linux are played",
        "its allocatable of example.com/nic is 0, and what was given makes 1",
        "it lists 8 nvidia.com/gpu, for which the machine has no devices: they are counted, and not placed (--device)",
        "its allocatable of pods is 110, and what was given makes 64",
    )
    assert "node-disagrees" in NOTE_CODES


def test_another_capacity_with_the_same_reservation_is_told_once() -> None:
    """The offer differs only since the capacity does."""
    larger = Machine((*MACHINE.cpus, Cpu(2, 2, 0, 0)), MACHINE.numa_nodes, memory=4 << 30)
    offered = {**OFFERED, "cpu": parse_quantity("2500m")}
    version = parse_version("1.30")
    capacity = "its capacity of cpu is 2, and the machine that was given has 3"
    assert node_disagreements(READ, larger, offered, version) == told(capacity)
    assert node_disagreements(READ, larger, {**offered, "cpu": Quantity(3)}, version) == told(
        capacity, "its allocatable of cpu is 1500m, and what was given makes 3"
    )


def test_the_memory_of_the_node_is_taken_where_no_source_tells_it() -> None:
    """Both are MemTotal; what a source tells stays."""
    unknown = Machine(MACHINE.cpus, MACHINE.numa_nodes)
    assert with_total_memory(unknown, READ).memory == 4 << 30
    assert with_total_memory(Machine(memory=5), READ).memory == 5
    assert with_total_memory(unknown, NodeObject("n", "v1.30.0")).memory is None


def test_a_node_object_tells_what_no_machine_shows() -> None:
    """Labels, taints, storage and resources of others; not what machine and configuration make, nor volumes."""
    node = read_node(
        NODE.replace("    cpu: 1500m\n", "    cpu: 1500m\n    lab.io/x: '8'\n    attachable-volumes-a: '1'\n")
    )
    assert node.facts() == NodeFacts(
        "worker-1",
        {"kubernetes.io/arch": "amd64"},
        (Taint("nvidia.com/gpu", "present", "NoSchedule"),),
        group_policies=False,
        offers={"lab.io/x": Quantity(8)},
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (NODE, ("worker-1",)),
        (f"kind: Pod\n---\n{NODE}", ("worker-1",)),
        ("kind: Pod\nmetadata: {name: Node}\n", ()),
        ("kind: Node\nmetadata: 5\n", ()),
        ('{"kind": "List", "items": [{"kind": "Pod"}]}', ()),
    ],
)
def test_a_node_may_stand_among_other_objects(text: str, names: tuple[str, ...]) -> None:
    assert names_among(text.encode()) == names
