import json
from pathlib import Path

import pytest

from numafit.cluster.node import recordings
from numafit.cluster.node.recordings import RecordingFolder
from numafit.errors import InputError


def test_a_case_is_one_line_of_a_file(tmp_path: Path) -> None:
    path = RecordingFolder(tmp_path / "new").keep({"id": "decision of team/a b"}, "2026-01-01T00:00:00Z")
    assert path.name == "2026-01-01T00-00-00Z-decision-of-team-a-b.jsonl"
    assert json.loads(path.read_text()) == {"id": "decision of team/a b"}


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path) -> None:
    folder = RecordingFolder(tmp_path)
    for number in range(recordings.MOST + 3):
        folder.keep({"id": "x"}, f"2026-01-01T00:00:00.{number:03}Z")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert (len(names), names[0]) == (recordings.MOST, "2026-01-01T00-00-00.003Z-x.jsonl")


def test_a_folder_that_cannot_be_written_in_is_told_at_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as refused:
        RecordingFolder(tmp_path / "file" / "new").prepare()
    place = tmp_path / "file" / "new"
    said = f"--recordings: {place}: cannot be written in: Not a directory (name another folder)"
    assert str(refused.value) == said
    RecordingFolder(tmp_path / "new").prepare()
    assert not list((tmp_path / "new").iterdir())
