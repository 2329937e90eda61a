"""What an answer cannot be sure of: other outcomes by chance, and rows that depend on a guess."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main
from tests.cli.kubelet.test_simulate import pod
from tests.machine.test_notes import NUMACTL

GPUS = ["--device", "nvidia.com/gpu=a@0,b@0,c@0", "--kube-version", "1.36"]


@pytest.fixture
def box(tmp_path: Path) -> list[str]:
    """Two NUMA nodes as numactl tells them, and a pod of two CPUs and two of three GPUs."""
    (tmp_path / "numactl.txt").write_text(NUMACTL.replace("1000 MB", "16000 MB"))
    (tmp_path / "pod.json").write_text(pod("train", cpu="2", memory="1Gi", **{"nvidia.com/gpu": "2"}))
    return ["--machine", str(tmp_path / "numactl.txt"), *GPUS, str(tmp_path / "pod.json")]


def test_other_outcomes_are_listed_with_whether_they_are_all(
    box: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *box, "--outcomes", "5"]) == 0
    out = capsys.readouterr().out
    listed = out[out.index("POD            COULD ALSO BE") :].split("\n\n")[0].splitlines()[1:]
    assert [line.split(", ", 2)[-1].strip() for line in listed] == ["a, c", "b, c", "(these are all)"]


def test_a_row_that_depends_on_a_guess_has_a_star(box: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With other thread siblings the pod would get other CPUs: numactl does not tell them."""
    assert main(["simulate", *box]) == 0
    out = capsys.readouterr().out
    assert " 1,4* " in out
    assert "- default/train: what it gets depends on a guess about the cores; give `lscpu -p` or /sys" in out


def test_programs_find_both_in_the_record_of_the_pod(box: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *box, "--outcomes", "1", "-o", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    [decision] = answer["decisions"]
    assert decision["outcomes"]["extent"] == "more"
    [other] = decision["outcomes"]["others"]
    assert list(other["containers"]["app"]["devices"]["nvidia.com/gpu"]) == ["a", "c"]
    assert [note["code"] for note in decision["notes"]] == ["cores-matter", "left-to-chance"]


def test_a_run_without_chance_says_so(tmp_path: Path, box: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pod.json").write_text(pod("plain", cpu="2", memory="1Gi"))
    assert main(["simulate", *box, "--outcomes", "5"]) == 0
    assert "No decision of this run was left to chance." in capsys.readouterr().out
