"""`simulate --past`: a log or objects, known by what stands in them."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from numafit.__main__ import main

ROOT = Path(__file__).resolve().parents[3]
SMALL = ROOT / "examples" / "small-node"
NODE = ["simulate", "--machine", str(SMALL / "machine.json"), "--kubelet", str(SMALL / "kubelet.yaml")]
LOG, PODS, OBJECTS = SMALL / "past" / "kubelet.log", str(SMALL / "past" / "pods.yaml"), SMALL / "past" / "objects"
EVENTS = [
    "add default/train",
    "add default/serve",
    "stop",
    "remove default/train",
    "add default/batch",
    "start",
    "exit default/serve app",
]


def written(path: Path) -> list[str]:
    lines = (line.partition("#")[0].rstrip() for line in path.read_text().splitlines())
    return [line for line in lines if line]


def test_a_log_is_played_compared_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "events"
    assert main([*NODE, "--past", str(LOG), "--write-events", str(file), "-o", "json", PODS]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["agreement"] == {"source": "log", "told": 4, "same": 4}
    assert answer["kubeVersion"] == "v1.36.4"
    assert [note["code"] for note in answer["notes"]] == ["past-pod-unknown"]
    assert written(file) == EVENTS
    play = "Play it with: numafit simulate --kube-version v1.36.4 --events FILE PODS\n"
    assert file.read_text().startswith(f"# The past of a node, from its log. {play}")
    assert main([*NODE, "--kube-version", "1.36.4", "--events", str(file), "-o", "json", PODS]) == 0
    assert json.loads(capsys.readouterr().out)["decisions"] == answer["decisions"]


def test_a_packed_log_and_one_from_a_pipe_are_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = tmp_path / "log"
    packed.write_bytes(gzip.compress(LOG.read_bytes()))
    assert main([*NODE, "--past", str(packed), PODS]) == 0
    first = capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG.read_bytes())))
    assert main([*NODE, "--past", "-", PODS]) == 0
    assert capsys.readouterr().out.replace("standard input", str(packed)) == first


def test_objects_are_played_from_a_folder_and_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "events"
    assert main([*NODE, "--past", str(OBJECTS), "--write-events", str(file)]) == 0
    first = capsys.readouterr().out
    assert "The objects tell the same of 3 of 3 decisions." in first
    assert written(file) == [*EVENTS[:2], "remove default/train", "stop", "add default/batch", *EVENTS[5:]]
    assert main([*NODE, "--events", str(file), str(OBJECTS)]) == 0
    assert capsys.readouterr().out.split("\n\n")[:2] == first.split("\n\n")[:2]
    assert main([*NODE, "--past", str(OBJECTS / "pods.yaml")]) == 0
    assert "The objects tell the same of" in capsys.readouterr().out


@pytest.mark.parametrize(("release", "noted"), [("1.22", True), ("1.36", False), ("1.36.4", False), ("1.36.3", True)])
def test_a_log_of_another_release_is_noted(release: str, noted: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NODE, "--kube-version", release, "--past", str(LOG), PODS]) == 0
    text = f"- kubelet: the log is that of a kubelet v1.36.4, and is played with v{release}\n"
    assert (text in capsys.readouterr().out) == noted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--past", str(LOG), "--events", "x", PODS], "--events and --past both say what happens"),
        (["--write-events", "x", PODS], "goes with --past only"),
        (["--past", str(ROOT / "LICENSE"), PODS], "no line of a kubelet"),
        (["--past", str(ROOT / "nowhere"), PODS], "cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_past_is_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NODE, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_explain_tells_each_event_of_a_past(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *NODE[1:], "--past", str(LOG), "--pod", "batch", PODS]) == 0
    told = capsys.readouterr().out
    assert "6. start" in told
    assert "default/batch (Guaranteed): rejected, TopologyAffinityError" in told
    assert main(["explain", *NODE[1:], "--past", str(LOG), "--log", str(LOG), PODS]) == 2
    assert "--past: goes without --log" in capsys.readouterr().err


def test_pods_beside_a_log_meet_the_node_of_that_time(capsys: pytest.CaptureFixture[str]) -> None:
    """What a pod held that went while the kubelet was down still counts at its start, so `batch` is rejected."""
    assert main(["explain", *NODE[1:], "--log", str(LOG), "-o", "json", PODS]) == 0
    compared = json.loads(capsys.readouterr().out)["compared"]
    assert [(own["pod"], own["agrees"]) for own in compared] == [
        ("default/train", True),
        ("default/serve", True),
        ("default/batch", True),
    ]
