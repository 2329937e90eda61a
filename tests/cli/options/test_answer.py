"""The end of an answer: its notes, and an exit status that tells an answer from an error."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main
from tests.cli.kubelet.test_simulate import EXAMPLES, NODE, pod

COMMANDS = ("simulate", "explain", "advise", "fit")
ASSUMED = "- kubelet: no release was given, so it is taken to be v1.36.4 (--kube-version)"


@pytest.fixture
def wide(tmp_path: Path) -> str:
    """A pod that single-numa-node rejects."""
    path = tmp_path / "wide.json"
    path.write_text(pod("wide", cpu="9"))
    return str(path)


@pytest.mark.parametrize("command", COMMANDS)
def test_bad_news_is_an_answer(command: str, wide: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Only --check makes a failure of it."""
    assert main([command, *NODE, wide]) == 0
    assert main([command, *NODE, "--check", wide]) == 1
    assert main([command, *NODE, "--check", str(EXAMPLES / "pod.yaml")]) == 0
    capsys.readouterr()


def test_a_comparison_that_changes_something_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["compare", *NODE, "--with-machine", "laptop", str(EXAMPLES / "pod.yaml")]
    assert (main(words), main([*words, "--check"])) == (0, 1)
    capsys.readouterr()


@pytest.mark.parametrize("command", [*COMMANDS, "doctor"])
def test_an_assumed_release_is_said_below_the_answer(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [command, *NODE[:4], str(EXAMPLES / "pod.yaml")]
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["Notes:", ASSUMED]
    assert main([*words, "-o", "json"]) == 0
    assert [note["code"] for note in json.loads(capsys.readouterr().out)["notes"]] == ["release-assumed"]


@pytest.mark.parametrize("command", [*COMMANDS, "doctor"])
def test_strict_ends_an_answer_with_notes_by_2(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is printed all the same."""
    words = [command, *NODE[:4], "--strict", str(EXAMPLES / "pod.yaml")]
    assert main(words) == 2
    captured = capsys.readouterr()
    assert (captured.out.splitlines()[-1], captured.err) == (
        ASSUMED,
        "numafit: --strict: this answer stands on a note\n",
    )
    assert main([*words, "--kube-version", "1.36.4"]) == 0


def test_explain_ends_by_the_pod_that_was_asked_for(
    wide: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another pod that is rejected is another question."""
    words = ["explain", *NODE, "--check", wide, str(EXAMPLES / "pod.yaml")]
    assert main([*words, "--pod", "train"]) == 0
    assert main([*words, "--pod", "wide"]) == 1
    assert main(words) == 1
    capsys.readouterr()


def test_a_resource_that_nothing_offers_is_named_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kubelet admits the pod, and the pod has no GPU."""
    path = tmp_path / "pod.json"
    path.write_text(pod("train", **{"nvidia.com/gpus": "1"}))
    assert main(["simulate", *NODE, str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "- default/train: no device plugin of this machine offers nvidia.com/gpus: the kubelet drops it, and the pod "
        "gets none (the nearest that it offers is nvidia.com/gpu)"
    )
    assert main(["simulate", *NODE, "-o", "json", str(path)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["decisions"][0]["notes"] == answer["notes"]
    assert [(note["code"], note["about"]) for note in answer["notes"]] == [("resource-not-offered", "default/train")]


def test_the_kubelet_that_was_made_up_is_a_note(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *NODE[:2], *NODE[4:], str(EXAMPLES / "pod.yaml")]) == 0
    assert "- kubelet: no configuration was given, so an example with all managers on decides" in (
        capsys.readouterr().out.splitlines()
    )
