"""The options of `numafit run` about memory, as far as one NUMA node shows them; tests/vm has more nodes."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main
from tests.host.ledgers import job, numafit


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--interleave", "--memory-bind", "bind"], "--interleave: does not go with --memory-bind bind"),
        (["--node", "x"], "--node: "),
        (["--node", ""], '--node: "" names no NUMA node (write it like 0 or 0,2-3)'),
        (["--node", "7"], "--node: this machine has no NUMA node 7 (there are 0)"),
        (["--limit-memory", "some"], "--limit-memory: "),
        (
            ["--memory", "2Gi", "--limit-memory", "1Gi"],
            "--limit-memory: a job may not hold more memory than it may use",
        ),
    ],
)
def test_bad_input_is_one_sentence(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--machine", "laptop", "--dry-run", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith(f"numafit: {sentence}"), err.count("\n")) == ("", True, 1), err


def test_interleaving_is_written_down(tmp_path: Path) -> None:
    """As it was asked for, and told to the command."""
    with job(tmp_path, "--cpus", "1", "--interleave"):
        (lease,) = json.loads(numafit(tmp_path, "ps", "-o", "json").stdout)["leases"]
    assert (lease["bind"], lease["limitMemory"]) == ("interleave", 0)
    done = numafit(tmp_path, "run", "--interleave", "--", "printenv", "NUMAFIT_BIND")
    assert done.stdout == "interleave\n"
    assert "memory interleaved over node 0" in done.stderr or "not bound by memory policy" in done.stderr


def test_docker_cannot_interleave(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docker", "plan", "--machine", "laptop", "--interleave", "--", "image"]) == 2
    assert capsys.readouterr().err.startswith("numafit: --memory-bind interleave: Docker has no option for it")


def test_docker_limits_memory_by_its_own_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["docker", "plan", "--machine", "laptop", "--cpus", "1", "--limit-memory", "2Gi"]) == 0
    assert capsys.readouterr().out == "--cpuset-cpus=0,4 --memory=2g\n"
