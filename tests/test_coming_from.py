"""docs/coming-from.md: each line of numafit is understood, and decided on a captured machine. What it does to a process
is seen where real systems are: `coming_from.py` says where each line runs."""

import shlex
from collections import Counter
from pathlib import Path

import pytest

from numafit.__main__ import main
from tests.coming_from import BESIDE, CONTAINERS, GUEST, LAUNCHED, PAIRS, Pair, pair_for

DECIDED = [pair for pair in PAIRS if pair.ours.startswith("numafit run ")]


def test_each_row_is_run_somewhere() -> None:
    """A new row needs a place in `coming_from.py`, and so a test."""
    run = Counter(pair_for(today) for today in (*BESIDE, *GUEST, *LAUNCHED, *CONTAINERS))
    assert run == Counter(PAIRS)
    assert len(PAIRS) > 20


@pytest.mark.parametrize("pair", DECIDED, ids=lambda pair: pair.today)
def test_a_line_that_places_finds_a_place(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    _, run, *words = shlex.split(pair.ours.replace("$(nproc)", "128"))
    assert main([run, "--machine", "gpu8-128cpu", "--dry-run", *words]) == 0
    planned = capsys.readouterr().out
    for option, row in {
        "--cpus 8": "(8, exclusive)",
        "nproc": "CPUs            0-127 (128, exclusive)",
        "--gpus 4": "GPU3",
        "--memory 8Gi": "8Gi on node",
    }.items():
        assert (f" {option} " in pair.ours) <= (row in planned)


def test_a_compose_file_gets_its_second_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("compose.yaml").write_text("services: {web: {image: web, cpus: 1}}\n")
    _, *words = shlex.split(pair_for("docker compose").ours)
    assert main([*words, "--machine", "gpu8-128cpu"]) == 0
    assert "cpuset" in Path("pinned.yaml").read_text()
