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
