"""A case as a folder: whole or not at all."""

from pathlib import Path

import pytest

from numafit.cluster.case.case import ABOUT, NODE, README, About, NodeCase
from numafit.cluster.case.folder import read_about, write_case
from numafit.errors import InputError
from numafit.notes import Note

CASE = NodeCase(
    About("gpu-1", "2026-11-15T09:00:00.000Z", "0.1", (Note("node-partly-known", "kubelet", "not told"),), {"x": 2}),
    {NODE: b"{}"},
)


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "gpu-1"
    write_case(CASE, folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted((NODE, ABOUT, README))
    assert read_about(folder) == CASE.about
    text = (folder / README).read_text()
    assert "- kubelet: not told." in text
    assert "- x: 2" in text
    assert [path.name for path in folder.parent.iterdir()] == ["gpu-1"]


def test_an_old_case_is_replaced_on_request_only(tmp_path: Path) -> None:
    folder = tmp_path / "gpu-1"
    write_case(CASE, folder)
    (folder / "more").write_text("")
    with pytest.raises(InputError, match="is there already"):
        write_case(CASE, folder)
    write_case(CASE, folder, force=True)
    assert not (folder / "more").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["gpu-1"]


def test_a_folder_of_others_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    with pytest.raises(InputError) as error:
        write_case(CASE, tmp_path / "own", force=True)
    assert error.value.cure == "it is no case, so --force does not replace it; -o names another folder"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written: "):
        write_case(CASE, tmp_path / "file" / "gpu-1")


def test_a_file_of_that_name_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / ABOUT).write_text('{"node": 3}')
    with pytest.raises(InputError, match="tells of no node: Expected `str`"):
        read_about(tmp_path)


@pytest.mark.parametrize("data", [b'{"node": "\xff"}', b'{"node": ' + b"[" * 100_000])
def test_a_file_that_is_no_text_or_too_deep_is_told(data: bytes, tmp_path: Path) -> None:
    (tmp_path / ABOUT).write_bytes(data)
    with pytest.raises(InputError, match="tells of no node: "):
        read_about(tmp_path)


def test_a_link_to_a_case_is_replaced_and_the_case_behind_it_stays(tmp_path: Path) -> None:
    write_case(CASE, tmp_path / "real")
    (tmp_path / "gpu-1").symlink_to("real")
    write_case(CASE, tmp_path / "gpu-1", force=True)
    assert not (tmp_path / "gpu-1").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gpu-1", "real"]
    assert read_about(tmp_path / "real") == CASE.about
