"""Options that describe a node: the Node object, and files of a folder that are known by their names."""

import shutil
from pathlib import Path

import pytest

from numafit.cli.options.node import NodeOptions
from numafit.cli.options.stage import load_stage
from numafit.notes import Note

SMALL = Path(__file__).parents[3] / "examples" / "small-node"
NODE = """\
kind: Node
metadata: {name: small}
status:
  capacity: {cpu: "16", memory: 32Gi}
  allocatable: {cpu: "14", memory: 31Gi, pods: "110", nvidia.com/gpu: "%s"}
  nodeInfo: {kubeletVersion: v1.31.2, operatingSystem: linux}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "case"
    shutil.copytree(SMALL, copy)
    return copy


def notes_of(options: NodeOptions) -> list[str]:
    return [note.text for note in load_stage(options).notes if note.code == "node-disagrees"]


def test_the_node_object_tells_the_release_where_nobody_else_does(tmp_path: Path) -> None:
    """An option is stronger, and then the difference is told."""
    path = tmp_path / "n.yaml"
    path.write_text(NODE % 2)
    options = NodeOptions(pods=(SMALL,), node_object=path)
    stage = load_stage(options)
    assert str(stage.node.settings.version) == "v1.31.2"
    assert notes_of(options) == []
    assert notes_of(NodeOptions(pods=(SMALL,), node_object=path, kube_version="1.36")) == [
        "the Node object small says otherwise: its kubelet is v1.31.2, and v1.36 is played"
    ]


def test_of_several_node_objects_the_one_of_the_named_node_counts(tmp_path: Path) -> None:
    """`kubectl get nodes -o yaml` beside the pods of all nodes, and --node-name."""
    path = tmp_path / "nodes.yaml"
    other = (NODE % 2).replace("name: small", "name: other").replace("v1.31.2", "v1.30.4")
    path.write_text(f"{NODE % 2}---\n{other}")
    stage = load_stage(NodeOptions(pods=(SMALL,), node_object=path, node_name="other"))
    assert str(stage.node.settings.version) == "v1.30.4"


def test_a_node_file_in_the_folder_is_compared_too(folder: Path) -> None:
    """`node.yaml` or `node.json`, if a Node is in it."""
    (folder / "node.yaml").write_text(NODE % 8)
    expected = (
        "the Node object small says otherwise: its allocatable of nvidia.com/gpu is 8, and what was given makes 2"
    )
    stage = load_stage(NodeOptions(pods=(folder,)))
    assert Note("node-disagrees", "node", expected) in stage.notes
    assert [pod.full_name for pod in stage.pods] == ["default/train"]


def test_a_manifest_called_node_is_a_manifest(folder: Path) -> None:
    """The name alone makes no Node object."""
    (folder / "pod.yaml").rename(folder / "node.yaml")
    assert [pod.full_name for pod in load_stage(NodeOptions(pods=(folder,))).pods] == ["default/train"]


@pytest.mark.parametrize("form", ["configz.json", "kubelet-config.yaml"])
def test_a_kubelet_is_the_same_in_every_form(form: str) -> None:
    """What a running kubelet answers, and the ConfigMap of kubeadm."""
    plain = load_stage(NodeOptions(pods=(SMALL,)))
    other = load_stage(NodeOptions(pods=(SMALL,), kubelet=SMALL / "cluster" / form))
    assert (other.node.settings, other.allocatable) == (plain.node.settings, plain.allocatable)


def test_configz_in_the_folder_is_the_kubelet(folder: Path) -> None:
    """The note of what it cannot tell goes where flags are given."""
    (folder / "kubelet.yaml").unlink()
    shutil.copy(folder / "cluster" / "configz.json", folder)
    options = NodeOptions(pods=(folder,), kube_version="1.36.4")
    assert [note.code for note in load_stage(options).notes] == ["flags-not-told"]
    (folder / "kubelet.env").write_text("ARGS=--root-dir=/data/kubelet\n")
    stage = load_stage(options)
    assert (stage.notes, stage.config.root_dir) == ((), "/data/kubelet")
