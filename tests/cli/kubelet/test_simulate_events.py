"""Event files, and the picture of who sits where."""

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
