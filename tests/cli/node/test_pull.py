"""`numafit node pull`: a node kept as a folder."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main
from tests.cluster.api_server import CONFIGZ, FORBIDDEN, ApiServer
from tests.cluster.conftest import config, server

__all__ = ["config", "server"]


def test_a_node_becomes_a_folder(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "case"
    assert main(["node", "pull", "gpu-1", "-o", str(folder), "--kubeconfig", str(config)]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{folder}: kubelet.json, node.json, nrt.json, pods.json\n"
    assert printed.err.startswith("Taken out: addresses (14), annotations (7), commands and their arguments (5), ")
    assert b"hunter2" not in b"".join(path.read_bytes() for path in folder.iterdir())


def test_what_could_not_be_had_is_told_and_kept(
    server: ApiServer, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.replies[CONFIGZ] = FORBIDDEN
    folder = tmp_path / "case"
    assert main(["node", "pull", "gpu-1", "-o", str(folder), "--kubeconfig", str(config)]) == 0
    sentence = "its configuration is not known: you may not ask for it"
    assert f"numafit: kubelet: {sentence}" in capsys.readouterr().err
    assert sentence in (folder / "README.md").read_text()
    [note] = json.loads((folder / "case.json").read_text())["notes"]
    assert note["code"] == "node-partly-known"


def test_a_machine_can_be_put_beside_it(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For a node of which the cluster tells none."""
    folder = tmp_path / "case"
    pull = ["node", "pull", "gpu-2", "-o", str(folder), "--kubeconfig", str(config)]
    assert main(pull) == 0
    assert (
        "machine: the cluster tells none (no NodeResourceTopology, no NodeTopology): give --machine"
        in capsys.readouterr().err
    )
    assert main([*pull, "--force", "--machine", "examples/small-node/machine.json"]) == 0
    assert "machine:" not in capsys.readouterr().err
    assert "two-numa" in (folder / "machine.yaml").read_text()


def test_a_folder_that_is_there_is_kept(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node", "pull", "gpu-1", "-o", str(tmp_path), "--kubeconfig", str(config)]) == 2
    assert "is there already (--force replaces a case; -o names another folder)" in capsys.readouterr().err
