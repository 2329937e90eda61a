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
