"""What only a Node object or an option tells of a node."""

import shutil
from pathlib import Path

import pytest

from numafit.cli.options.node import NodeOptions
from numafit.cli.options.stage import load_stage
from numafit.decision.stage import Stage
from numafit.errors import InputError
from numafit.quantity import parse_quantity
from numafit.settings.facts import Taint

SMALL = Path(__file__).parents[3] / "examples" / "small-node"
NODE = """\
apiVersion: v1
kind: Node
metadata: {name: small, labels: {disk: ssd}}
spec: {taints: [{key: gpu, effect: NoExecute}]}
status:
  capacity: {cpu: "16", memory: 32Gi}
  allocatable:
    {cpu: "14", memory: 31Gi, pods: "110", nvidia.com/gpu: "2", ephemeral-storage: 10Gi, lab.io/dongle: "3",
     attachable-volumes-csi-x: "5"}
  nodeInfo: {kubeletVersion: v1.36.4, operatingSystem: linux}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: big}
spec:
  containers:
  - {name: app, image: app, resources: {requests: {ephemeral-storage: 20Gi}}}
"""


def codes(stage: Stage) -> list[str]:
    return [note.code for note in stage.notes_about(stage.pods)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small node whose only pod asks for 20Gi of disk."""
    for name in ("machine.json", "kubelet.yaml"):
        shutil.copy(SMALL / name, tmp_path / name)
    (tmp_path / "pod.yaml").write_text(POD)
    return tmp_path


def test_a_disk_that_nobody_told_is_noted_and_not_checked(folder: Path) -> None:
    stage = load_stage(NodeOptions(pods=(folder,)))
    assert stage.play(stage.pods).steps[0].decision.admitted
    assert "storage-not-checked" in codes(stage)


@pytest.mark.parametrize("name", ["node.yaml", "objects.yaml"])
def test_the_node_object_tells_what_no_machine_shows(folder: Path, name: str) -> None:
    """By its file, or from among the manifests. Resources of the machine's plugins are not taken from it."""
    (folder / name).write_text(NODE if name == "node.yaml" else f"{POD.replace('big', 'too')}---\n{NODE}")
    stage = load_stage(NodeOptions(pods=(folder,)))
    facts = stage.node.facts
    assert (facts.name, facts.labels, facts.taints) == ("small", {"disk": "ssd"}, (Taint("gpu", "", "NoExecute"),))
    offers = {"ephemeral-storage": parse_quantity("10Gi"), "lab.io/dongle": parse_quantity("3")}
    assert facts.offers == offers
    assert {name: stage.allocatable[name] for name in offers} == offers
    decision = stage.play(stage.pods).steps[0].decision
    assert decision.message == (
        "Node didn't have enough resource: ephemeral-storage, requested: 21474836480, used: 0, capacity: 10737418240"
    )
    assert decision.reason == "OutOfephemeral-storage"
    assert "storage-not-checked" not in codes(stage)
    assert any("it lists 3 lab.io/dongle" in note.text for note in stage.notes)


def test_a_node_among_several_counts_by_its_name(folder: Path) -> None:
    """Without one nobody knows which is meant."""
    (folder / "objects.yaml").write_text(f"{NODE}---\n{NODE.replace('name: small', 'name: other')}")
    assert load_stage(NodeOptions(pods=(folder,))).node.facts.labels is None
    assert load_stage(NodeOptions(pods=(folder,), node_name="other")).node.facts.name == "other"


def test_an_option_counts_before_the_node_object(folder: Path) -> None:
    (folder / "node.yaml").write_text(NODE)
    stage = load_stage(NodeOptions(pods=(folder,), offers=("ephemeral-storage=30Gi",)))
    assert stage.allocatable["ephemeral-storage"] == parse_quantity("30Gi")
    assert stage.allocatable["lab.io/dongle"] == parse_quantity("3")


def test_an_option_alone_is_enough(folder: Path) -> None:
    stage = load_stage(NodeOptions(pods=(folder,), offers=("ephemeral-storage=10Gi",)))
    assert stage.play(stage.pods).steps[0].decision.reason == "OutOfephemeral-storage"
    assert "storage-not-checked" not in codes(stage)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ephemeral-storage", "is not RESOURCE=AMOUNT"),
        ("ephemeral-storage=lots", '"lots" is not a quantity'),
        ("ephemeral-storage=-1", "-1 is less than nothing"),
        ("ephemeralstorage=3Gi", "no node offers ephemeralstorage"),
        ("cpu=4", "machine and configuration tell what there is of cpu"),
        ("nvidia.com/gpu=4", "the devices of the machine tell what there is of nvidia.com/gpu"),
    ],
)
def test_an_amount_that_cannot_be_meant_is_refused(folder: Path, text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load_stage(NodeOptions(pods=(folder,), offers=(text,)))


def test_static_pods_come_after_the_others(folder: Path) -> None:
    static = folder / "static"
    static.mkdir()
    (static / "proxy.yaml").write_text(POD.replace("big", "proxy").replace("20Gi", "1Gi"))
    stage = load_stage(NodeOptions(pods=(folder,), static=(static,)))
    assert [(pod.name, pod.static) for pod in stage.pods] == [("big", False), ("proxy", True)]


def test_what_a_known_node_answers_is_not_noted(folder: Path) -> None:
    """Ports are compared with those of pods that are known; labels with those of the Node object."""
    wish = "  nodeSelector: {disk: hdd}\n  hostNetwork: true\n"
    (folder / "pod.yaml").write_text(POD.replace("image: app", "ports: [{containerPort: 80}]") + wish)
    stage = load_stage(NodeOptions(pods=(folder,)))
    assert [code for code in codes(stage) if code.endswith("-checked")] == [
        "selectors-not-checked",
        "storage-not-checked",
    ]
    (folder / "node.yaml").write_text(NODE)
    assert [code for code in codes(load_stage(NodeOptions(pods=(folder,)))) if code.endswith("-checked")] == []


def test_a_node_object_without_labels_does_not_tell_them(folder: Path) -> None:
    """Each real one has some."""
    (folder / "node.yaml").write_text(NODE.replace(", labels: {disk: ssd}", ""))
    assert load_stage(NodeOptions(pods=(folder,))).node.facts.labels is None


@pytest.mark.parametrize(
    ("node_name", "node_object", "name"),
    [("", False, "default/big"), ("other", False, "default/big-other"), ("", True, "default/big-small")],
)
def test_static_pods_are_called_after_a_node_whose_name_is_known(
    folder: Path, node_name: str, node_object: bool, name: str
) -> None:
    """By the option, or by the Node object."""
    static = folder / "static"
    static.mkdir()
    (folder / "pod.yaml").rename(static / "pod.yaml")
    (folder / "object.yaml").write_text(NODE)
    options = NodeOptions(
        machines=(str(folder / "machine.json"),),
        kubelet=folder / "kubelet.yaml",
        static=(static,),
        node_name=node_name,
        node_object=folder / "object.yaml" if node_object else None,
    )
    assert [pod.full_name for pod in load_stage(options).pods] == [name]
