"""Event files, and the picture of who sits where."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from numafit.__main__ import main

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: a}}
spec:
  containers:
  - {{name: main, resources: {{limits: {{cpu: 1, memory: 1Gi{more}}}}}}}
"""


def test_a_removed_pod_makes_room(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The CPUs of the removed pod are free again when the CPU manager has ticked."""
    events = tmp_path / "events"
    events.write_text("add train\nremove train\nreconcile\nadd train\nrestart\n")
    picture = tmp_path / "who.svg"
    assert main(["simulate", str(EXAMPLES), "--events", str(events), "--picture", str(picture)]) == 0
    row = "   default/train  Guaranteed  admitted  0     1-2,9-10  4Gi@0   GPU-0"
    assert capsys.readouterr().out.split("\n\n")[0].splitlines()[1:] == [
        "1. add train",
        row,
        "2. remove train",
        "3. reconcile",
        "4. add train",
        row,
        "5. restart",
        row,
    ]
    assert "default/train" in "".join(ElementTree.fromstring(picture.read_text()).itertext())


def test_a_pod_that_comes_again_and_again_has_its_notes_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON would grow with the square of the events otherwise."""
    pod, events = tmp_path / "pod.yaml", tmp_path / "events"
    pod.write_text(POD.format(more=", lab.io/none: 1"))
    events.write_text("add a\nremove a\n" * 3)
    node = ["--machine", str(EXAMPLES / "machine.json"), "--kubelet", str(EXAMPLES / "kubelet.yaml")]
    assert main(["simulate", *node, "--events", str(events), "-o", "json", str(pod)]) == 0
    answer = json.loads(capsys.readouterr().out)
    own = [note for note in answer["notes"] if note["about"] == "default/a"]
    assert [note["code"] for note in own] == ["resource-not-offered"]
    assert [decision["notes"] for decision in answer["decisions"]] == [own] * 3


@pytest.mark.parametrize("command", ["simulate", "explain"])
def test_a_field_that_no_kubelet_knows_is_refused_in_a_later_configuration_too(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = tmp_path / "events"
    events.write_text("restart config=other.yaml\n")
    (tmp_path / "other.yaml").write_text((EXAMPLES / "kubelet.yaml").read_text() + "cpuManagerPolcy: static\n")
    assert main([command, str(EXAMPLES), "--events", str(events)]) == 2
    error = capsys.readouterr().err
    assert "other.yaml:" in error
    assert "cpuManagerPolcy: the kubelet v1.36.4 does not know this field" in error


def test_events_and_pods_cannot_both_be_standard_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--machine", "dgx-h100", "--events", "-", "-"]) == 2
    message = "--events: events and pods cannot both come from standard input (keep one of them in a file)"
    assert message in capsys.readouterr().err
