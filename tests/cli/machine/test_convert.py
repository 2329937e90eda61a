"""`numafit machine convert`, called as a person calls it."""

from pathlib import Path

import pytest

from numafit.__main__ import main

EXAMPLE = str(Path(__file__).resolve().parents[3] / "examples" / "small-node" / "machine.json")


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["machine", "convert", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("target", "first"),
    [
        ("numactl", "available: 2 nodes (0-1)"),
        ("synthetic", "Package:2 [NUMANode(memory=17179869184)] Core:4 PU:2(indexes=2*8:1*2)"),
        ("nrt", "apiVersion: topology.node.k8s.io/v1alpha2"),
    ],
)
def test_a_machine_is_written_in_the_format_asked_for(
    target: str, first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard output, with nothing else on it."""
    status, out, error = run("--machine", EXAMPLE, "--to", target, capsys=capsys)
    assert (status, out.splitlines()[0], error) == (0, first, "")


def test_what_the_format_cannot_hold_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing is written."""
    status, out, error = run("--machine", "gb200", "--to", "synthetic", capsys=capsys)
    assert (status, out) == (2, "")
    assert error.startswith("numafit: NUMA node 10 has no CPUs, which cannot be written")


def test_sources_that_disagree_are_named_beside_the_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, so that the output stays clean."""
    topo = tmp_path / "topo.txt"
    topo.write_text("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-3\t1\n")
    sketch = "sketch:2 numa x 2 cores, gpu 0@0"
    status, out, error = run("--machine", sketch, "--machine", str(topo), "--to", "numactl", capsys=capsys)
    assert (status, out.splitlines()[0]) == (0, "available: 2 nodes (0-1)")
    assert "NUMA node of GPU0" in error


def test_a_format_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    """There is no usual one."""
    status, _, error = run("--machine", "laptop", capsys=capsys)
    assert status == 2
    assert "--to" in error
