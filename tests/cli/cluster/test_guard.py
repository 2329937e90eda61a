"""`numafit guard`: which words go together, and what it prints. What it does is tested in tests/kube."""

import shlex
from pathlib import Path

import pytest
import yaml

from numafit.__main__ import main


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--image x", "--image: goes with --manifest only"),
        ("--jobs", "--jobs: goes with --manifest only"),
        ("--manifest", "--manifest: an image is needed (name one with numafit in it by --image)"),
        ("--release-all --enforce", "--release-all: is done alone"),
        ("--kubeconfig none.conf", "none.conf: "),
    ],
)
def test_what_does_not_go_together_is_one_sentence(
    words: str, said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["guard", *shlex.split(words)]) == 2
    assert capsys.readouterr().err.startswith(f"numafit: {said}")


@pytest.mark.parametrize("by", ["policy", "webhook"])
def test_the_manifest_is_for_what_was_said(by: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"--manifest --image example.com/numafit:1 --enforce --jobs --opt-in --namespace own --by {by}"
    assert main(["guard", *words.split()]) == 0
    found = list(yaml.safe_load_all(capsys.readouterr().out))
    command = found[-1]["spec"]["template"]["spec"]["containers"][0]["command"]
    assert {"--namespace=own", "--enforce", "--opt-in"} <= set(command)
    names = {own["metadata"]["name"] for own in found if own["kind"] == "MutatingAdmissionPolicy"}
    assert names == {"numafit-guard-jobs", *(["numafit-guard-hold"] if by == "policy" else [])}
