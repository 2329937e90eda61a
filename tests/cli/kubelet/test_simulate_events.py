"""Event files, and the picture of who sits where."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from numafit.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"


def test_a_removed_pod_makes_room(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The CPUs of the removed pod are free again when the CPU manager has ticked."""
    events = tmp_path / "events"
    events.write_text("add train\nremove train\nreconcile\nadd train\nrestart\n")
    picture = tmp_path / "who.svg"
    assert main(["simulate", str(EXAMPLES), "--events", str(events), "--picture", str(picture)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if " default/train " in line]
    assert [(row[0], row[5]) for row in rows] == [("add", "1-2,9-10"), ("add", "1-2,9-10"), ("restart", "1-2,9-10")]
    assert "default/train" in "".join(ElementTree.fromstring(picture.read_text()).itertext())


def test_each_event_is_told_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In order, with its decisions and the node after it; with --files all state files."""
    events = tmp_path / "events"
    events.write_text("add train # first\nstop\nremove train\nstart\nstart\n")
    arguments = ["simulate", str(EXAMPLES), "--events", str(events), "-o", "json"]
    assert main(arguments) == 0
    answer = json.loads(capsys.readouterr().out)
    told = answer["events"]
    assert [entry["event"] for entry in told] == ["add train", "stop", "remove train", "start", "start"]
    assert [[each["pod"] for each in entry["decisions"]] for entry in told] == [["default/train"], [], [], [], []]
    assert told[0]["decisions"] == answer["decisions"]
    assert told[0]["allocatable"]["pods"] == "110"
    assert (told[4]["void"], "files" in told[4]) == ("it runs already", False)
    assert main([*arguments, "--files"]) == 0
    told = json.loads(capsys.readouterr().out)["events"]
    states = [json.loads(entry["files"]["cpu_manager_state"])["defaultCpuSet"] for entry in told]
    assert states == ["0,3-8,11-15"] * 5
    assert "events" not in json.loads(run_json(capsys))


def test_a_crash_stands_at_its_event(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = tmp_path / "events"
    kubelet = (EXAMPLES / "kubelet.yaml").read_text().replace("single-numa-node", "strict")
    assert "strict" in kubelet
    (tmp_path / "wrong.yaml").write_text(kubelet)
    events.write_text("add train\nrestart config=wrong.yaml\n")
    assert main(["simulate", str(EXAMPLES), "--events", str(events), "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["events"]
    assert "crash" not in told[0]
    assert "strict" in told[1]["crash"]


def run_json(capsys: pytest.CaptureFixture[str]) -> str:
    main(["simulate", str(EXAMPLES), "-o", "json"])
    return capsys.readouterr().out
