"""Event files, and the picture of who sits where."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from numafit.__main__ import main
from numafit.cli.kubelet.simulate import read_events
from numafit.decision.simulation import Event
from numafit.errors import InputError
from numafit.workload.pod import Container, Pod

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "small-node"
ONE, TWO = (Pod(name, name, (Container("app"),)) for name in ("one", "two"))


def test_an_event_stands_on_a_line_of_its_own() -> None:
    text = "add one  # first\n\nremove default/one\nreconcile\nadd two\nrestart\n"
    assert read_events(text, "events", [ONE, TWO]) == [
        Event("add", ONE),
        Event("remove", ONE),
        Event("reconcile"),
        Event("add", TWO),
        Event("restart"),
    ]


def test_pods_that_are_never_added_come_first() -> None:
    assert read_events("remove two\nadd one\n", "events", [ONE, TWO]) == [
        Event("add", TWO),
        Event("remove", TWO),
        Event("add", ONE),
    ]


@pytest.mark.parametrize("line", ["add", "add one two", "explode", "restart now", "remove three"])
def test_a_line_that_is_no_event_is_named(line: str) -> None:
    with pytest.raises(InputError) as caught:
        read_events(f"add one\n{line}\n", "events", [ONE, TWO])
    assert (caught.value.source, caught.value.line) == ("events", 2)


def test_a_removed_pod_makes_room(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The CPUs of the removed pod are free again when the CPU manager has ticked."""
    events = tmp_path / "events"
    events.write_text("add train\nremove train\nreconcile\nadd train\nrestart\n")
    picture = tmp_path / "who.svg"
    assert main(["simulate", str(EXAMPLES), "--events", str(events), "--picture", str(picture)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if " default/train " in line]
    assert [(row[0], row[5]) for row in rows] == [("add", "1-2,9-10"), ("add", "1-2,9-10"), ("restart", "1-2,9-10")]
    assert "default/train" in "".join(ElementTree.fromstring(picture.read_text()).itertext())
