"""The folder of a cluster."""

import os
from pathlib import Path

import pytest

from numafit.cluster.up.folder import state_folder
from numafit.errors import InputError


def test_one_that_nobody_named_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with state_folder(None) as own:
        (own.path / "file").write_text("")
        assert (own.kept, own.path.parent) == (False, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_named_stays_with_its_ports(tmp_path: Path) -> None:
    with state_folder(tmp_path / "a" / "b") as own:
        ports = own.ports(3)
    with state_folder(tmp_path / "a" / "b") as own:
        assert (own.kept, own.ports(3)) == (True, ports)


def test_two_at_a_time_are_refused_and_the_first_is_named(tmp_path: Path) -> None:
    with state_folder(tmp_path):
        with pytest.raises(InputError) as told, state_folder(tmp_path):
            pass
        assert told.value.message == f"a cluster of this folder is up already (process {os.getpid()})"
    with state_folder(tmp_path):
        pass


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(InputError, match="has other files in it, and none of a cluster"), state_folder(tmp_path):
        pass
    assert os.listdir(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is damaged: "),
        ('{"format":"numafit/cluster/v9","ports":[1,2,3]}', 'is of the format "numafit/cluster/v9"'),
    ],
)
def test_one_that_cannot_be_read_is_one_sentence(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text(content)
    with state_folder(tmp_path) as own, pytest.raises(InputError) as told:
        own.ports(3)
    assert told.value.message.startswith(said)


def test_a_file_in_its_place_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used: "), state_folder(tmp_path / "file"):
        pass
