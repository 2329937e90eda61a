"""`numafit kubelet-sim`: what it needs, and what it says where that lacks. Playing is tested elsewhere."""

from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.document import read_documents
from tests.cluster.api_server import ApiServer, kubeconfig, refusal, serving

NODES = "nodes: [{name: gpu, machine: dgx-h100}]\n"


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["kubelet-sim", *words]) == 2
    return capsys.readouterr().err


def test_its_rights_are_two_roles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kubelet-sim", "--rights"]) == 0
    kinds = [
        document.value["kind"]
        for document in read_documents(capsys.readouterr().out)
        if isinstance(document.value, dict)
    ]
    assert kinds == ["ClusterRole", "Role"]


def test_it_prints_the_definition_of_what_it_publishes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kubelet-sim", "--definition"]) == 0
    (document,) = read_documents(capsys.readouterr().out)
    assert isinstance(document.value, dict)
    assert (document.value["kind"], document.value["metadata"]["name"]) == (
        "CustomResourceDefinition",
        "nodetopologies.topology.numafit.io",
    )


def test_without_a_file_there_is_nothing_to_play(capsys: pytest.CaptureFixture[str]) -> None:
    assert "it is not said which nodes" in said([], capsys)


def test_a_mistake_in_the_file_is_told_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nodes.yaml"
    config = str(kubeconfig(tmp_path, "http://127.0.0.1:1"))
    for text, sentence in (
        ("nodes: [{name: gpu, machine: dgx-h1000}]", "nodes.yaml:1:30: nodes[0].machine:"),
        (NODES.replace("}", ", sockets: true}"), "nodes with sockets need a folder for them (name one with --state)"),
        (NODES.replace("}", ", kubelet: {cpuManagerPolicy: static}}"), "the kubelet of gpu does not start"),
    ):
        file.write_text(text)
        assert sentence in said([str(file), "--kubeconfig", config], capsys)


def test_a_cluster_that_does_not_let_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(NODES)
    with serving(ApiServer()) as server:
        server.replies["/api/v1/pods"] = refusal(403, 'pods is forbidden: User "jane" cannot list resource "pods"')
        answer = said([str(file), "--kubeconfig", str(kubeconfig(tmp_path, server.url))], capsys)
    assert 'User "jane" cannot list resource "pods"' in answer
