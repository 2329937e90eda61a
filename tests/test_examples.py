"""The example folders: what `numafit simulate` prints for each lies beside it."""

from pathlib import Path

import pytest

from numafit.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "version", "golden"),
    [
        ("gpu-box", "1.36.4", "simulate.txt"),
        ("p100-box", "1.20.1", "simulate-1.20.txt"),
        ("p100-box", "1.36.4", "simulate.txt"),
    ],
)
def test_an_example_reads_as_its_golden_text(
    name: str, version: str, golden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some pods of each are rejected, so the status is 1."""
    assert main(["simulate", str(EXAMPLES / name), "--kube-version", version]) == 1
    assert capsys.readouterr().out == (EXAMPLES / name / golden).read_text()


@pytest.mark.parametrize(
    ("files", "golden"),
    [(["kubelet-wrong.yaml"], "lint-wrong.txt"), (["kubelet-right.yaml", "pods.yaml"], "lint-right.txt")],
)
def test_the_guides_read_as_their_golden_text(
    files: list[str], golden: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mistakes of the guides are found, on the box that they speak of."""
    monkeypatch.chdir(EXAMPLES / "guides")
    assert main(["lint", "--machine", "gpu8-128cpu", *files]) == 1
    assert capsys.readouterr().out == Path(golden).read_text()
