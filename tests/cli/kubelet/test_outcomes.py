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
    assert [line.split(", ", 2)[-1].strip() for line in listed] == [
        "a, c  c is taken instead of b",
        "b, c  c is taken instead of a",
        "(these are all)",
    ]


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


def test_a_program_learns_what_an_outcome_depends_on(box: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *box, "--outcomes", "1", "-o", "json"]) == 0
    [other] = json.loads(capsys.readouterr().out)["decisions"][0]["outcomes"]["others"]
    draw = {"kind": "preferred", "taken": ["a", "c"], "instead": ["a", "b"]}
    assert other["depends"] == [{**draw, "container": "app", "resource": "nvidia.com/gpu"}]


def test_a_story_says_in_a_sentence_what_was_left_to_chance(box: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "Which nvidia.com/gpu it gets is left to chance."
    assert main(["explain", *box]) == 0
    assert f"\n  {sentence}\n" in capsys.readouterr().out
    assert main(["explain", *box, "-o", "json"]) == 0
    [told] = json.loads(capsys.readouterr().out)["stories"]
    assert told["story"]["chance"] == sentence


def test_a_story_of_events_says_it_at_the_decision(
    tmp_path: Path, box: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """It draws when it comes; at the restart it keeps what it has."""
    (tmp_path / "events").write_text("add train\nrestart\n")
    assert main(["explain", *box, "--events", str(tmp_path / "events")]) == 0
    out = capsys.readouterr().out
    assert out.count("Which nvidia.com/gpu it gets is left to chance.") == 1
    assert main(["explain", *box, "--events", str(tmp_path / "events"), "-o", "json"]) == 0
    stories = json.loads(capsys.readouterr().out)["stories"]
    follows = "What it gets follows from what is left to chance before it."
    assert [each["story"]["chance"] for each in stories] == ["Which nvidia.com/gpu it gets is left to chance.", follows]


def test_a_story_tells_whose_place_depends_on_the_order_of_static_pods(
    tmp_path: Path, box: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Of seven CPUs four and five are wanted, none of them exclusive."""
    paths = []
    for name, cpus in (("one", "4"), ("two", "5")):
        content = json.loads(pod(name))
        content["metadata"]["annotations"] = {"kubernetes.io/config.source": "file"}
        content["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpus}}
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
        paths.append(str(tmp_path / f"{name}.json"))
    (tmp_path / "events").write_text("add one\nadd two\nrestart\n")
    arguments = [*box[:-1], *paths, "--events", str(tmp_path / "events")]
    assert main(["explain", *arguments]) == 0
    sentence = "Whether it is admitted depends on the order of the static pods at the restart, which is left to chance."
    assert capsys.readouterr().out.count(sentence) == 2
    assert main(["simulate", *arguments, "--outcomes", "5"]) == 0
    listed = capsys.readouterr().out
    assert (
        "(restart)  default/two admitted: shared CPUs               default/two is admitted before default/one"
        in listed
    )
