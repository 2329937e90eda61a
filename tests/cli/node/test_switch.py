"""`numafit node switch`: what is asked, refused and told before a node is touched."""

import json
import os
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.cluster.switch.journal import BEGUN, only_one
from tests.cluster.api_server import NODE, ApiServer, refusal
from tests.cluster.conftest import config, server
from tests.cluster.switch.fake_node import FakeNode

__all__ = ["config", "server"]

KUBELET = Path("examples/small-node/kubelet.yaml")
OTHER = KUBELET.read_text().replace("single-numa-node", "restricted")


@pytest.fixture
def kubelet_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "kubelet"
    folder.mkdir()
    (folder / "config.yaml").write_text(KUBELET.read_text())
    (tmp_path / "new.yaml").write_text(OTHER)
    return folder


@pytest.fixture
def switch(kubelet_dir: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    machine = "examples/small-node/machine.json"
    return [
        *("node", "switch", "--node", "gpu-1", "--kubelet-dir", str(kubelet_dir), "--kubeconfig", str(config)),
        *("--machine", machine, "--stop-command", "false", "--start-command", "false"),
    ]


def test_a_dry_run_shows_the_plan(switch: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*switch, str(tmp_path / "new.yaml"), "--dry-run", "--force"]) == 0
    printed = capsys.readouterr().out
    assert "topologyManagerPolicy: single-numa-node -> restricted" in printed
    assert "ml/train-0: is evicted; nobody makes it again" in printed
    assert (tmp_path / "kubelet" / "config.yaml").read_text() == KUBELET.read_text()
    assert sorted(path.name for path in (tmp_path / "kubelet").iterdir()) == ["config.yaml"]


def test_a_dry_run_for_programs(switch: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*switch, "--set", "topologyManagerPolicy=restricted", "--keep-pods", "--dry-run", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"] == "planned"
    assert found["plan"]["keepPods"] is True
    assert {fate["pod"] for fate in found["plan"]["fates"]} == {"ml/cache-0", "ml/train-0", "web/front-0"}


def test_a_plan_that_says_no_ends_with_1(switch: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*switch, "--set", "topologyManagerPolicy=strict", "--yes", "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["outcome"] == "refused"
    assert "strict" in found["refusals"][0]


def test_where_nobody_can_be_asked_nothing_is_done(
    switch: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*switch, str(tmp_path / "new.yaml"), "--keep-pods"]) == 2
    assert "there is nobody to ask (--yes does what the plan says" in capsys.readouterr().err
    assert (tmp_path / "kubelet" / "config.yaml").read_text() == KUBELET.read_text()


def test_the_configuration_that_is_there_needs_no_switch(switch: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = "The kubelet has this configuration already: there is nothing to do.\n"
    assert main([*switch, str(KUBELET), "--keep-pods", "--yes"]) == 0
    assert capsys.readouterr().out == said
    # pods that would be in the way of another one are not in the way of none
    assert main([*switch, str(KUBELET), "--dry-run"]) == 0
    assert capsys.readouterr().out == said


def test_somebody_who_may_not_patch_the_node_has_touched_nothing(
    switch: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorded server knows no PATCH: the first step fails, and so does the way back, which is told."""
    monkeypatch.setattr("numafit.cluster.switch.server.PATIENCE", 0.0)
    assert main([*switch, str(tmp_path / "new.yaml"), "--keep-pods", "--yes"]) == 1
    printed = capsys.readouterr()
    assert "cordon failed" in printed.err
    assert "undo-uncordon failed" in printed.err
    assert "Not finished: --undo" in printed.out
    assert (tmp_path / "kubelet" / "config.yaml").read_text() == KUBELET.read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "it is not said which configuration"),
        ([str(KUBELET), "--set", "a=b"], "NEW and --set are two"),
        (["--continue"], "there is no switch that is not finished"),
        (["--undo"], "there is no switch that is not finished"),
        (["--undo", "--continue"], "--continue and --undo do not go together"),
        (["--undo", str(KUBELET)], "no other configuration can be given"),
        (["/nowhere.yaml"], "/nowhere.yaml"),
    ],
)
def test_what_makes_no_sense_is_refused(
    switch: list[str], words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*switch, *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_node_that_is_not_there(server: ApiServer, switch: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    server.replies[NODE] = refusal(404, 'nodes "gpu-1" not found')
    assert main([*switch, str(KUBELET)]) == 2
    assert "there is no node gpu-1" in capsys.readouterr().err


def test_a_switch_that_is_not_finished_is_told(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = FakeNode(tmp_path)
    node.journal().write("drain", BEGUN)
    call = ["node", "switch", str(KUBELET), "--kubelet-dir", str(node.root), "--kubeconfig", str(config)]
    assert main(call) == 2
    said = capsys.readouterr().err
    assert "the switch of 2026-11-16T10:00:00Z is not finished, it got to drain" in said
    assert "--continue goes on with it, --undo brings back" in said


def test_two_at_once_are_refused(switch: list[str], kubelet_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with only_one(kubelet_dir):
        assert main([*switch, str(KUBELET), "--dry-run"]) == 2
    assert "another switch of this node is at work" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_whoever_may_not_write_is_told_before_he_is_asked(
    switch: list[str], kubelet_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubelet_dir.chmod(0o555)
    assert main([*switch, str(tmp_path / "new.yaml"), "--keep-pods", "--yes"]) == 2
    assert "may not be written by you (run it as root)" in capsys.readouterr().err
