"""What stands in the journal counts, and only one process at a time writes it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.cluster.switch.journal import BEGUN, DONE, finished_journal, new_journal, only_one, open_journal
from numafit.errors import InputError
from tests.cluster.switch.fake_node import FakeNode


def test_a_journal_is_read_as_it_was_written(tmp_path: Path) -> None:
    journal = FakeNode(tmp_path).journal()
    journal.write("cordon", BEGUN)
    journal.write("cordon", DONE, "it was closed before")
    again = open_journal(journal.folder)
    assert again is not None
    assert (again.order, again.entries) == (journal.order, journal.entries)
    assert journal.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cut", range(1, 40, 7))
def test_a_line_that_a_crash_has_cut_was_never_begun(tmp_path: Path, cut: int) -> None:
    journal = FakeNode(tmp_path).journal()
    journal.write("cordon", BEGUN)
    whole = journal.path.read_bytes()
    journal.write("cordon", DONE)
    journal.path.write_bytes(journal.path.read_bytes()[: len(whole) + cut])
    again = open_journal(journal.folder)
    assert again is not None
    assert [entry.event for entry in again.entries] == [BEGUN]
    again.write("cordon", DONE)
    third = open_journal(journal.folder)
    assert third is not None
    assert third.entries == again.entries


def test_other_commands_may_take_the_place_of_those_that_failed(tmp_path: Path) -> None:
    journal = FakeNode(tmp_path).journal()
    journal.use_commands(None, "service kubelet start")
    assert (journal.order.stop_command, journal.order.start_command) == ("stop", "service kubelet start")


def test_a_finished_journal_lies_with_what_was_kept(tmp_path: Path) -> None:
    journal = FakeNode(tmp_path).journal()
    journal.finish("switched")
    assert open_journal(journal.folder) is None
    assert (journal.kept / "journal.jsonl").exists()


def test_a_file_that_is_no_journal_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_text("{}\n")
    with pytest.raises(InputError, match="is no journal of a switch"):
        open_journal(tmp_path)


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    refused = pytest.raises(InputError, match="another switch of this node is at work")
    with only_one(tmp_path), refused, only_one(tmp_path):
        pass
    with only_one(tmp_path):
        pass


def test_nothing_is_written_through_a_link_that_somebody_laid(tmp_path: Path) -> None:
    node = FakeNode(tmp_path)
    folder, other = node.root / "numafit-switch", tmp_path / "other"
    other.write_text("mine")
    folder.mkdir()
    (folder / ".journal.jsonl.new").symlink_to(other)
    journal = node.journal()
    assert other.read_text() == "mine"
    assert not journal.path.is_symlink()
    assert journal.path.stat().st_mode & 0o777 == 0o600


def test_a_switch_that_is_over_is_found_by_its_order(tmp_path: Path) -> None:
    """Among others, and those of releases that nobody knows here."""
    plain = FakeNode(tmp_path).journal()
    plain.finish("switched")
    ordered = new_journal(plain.folder, replace(plain.order, begun="2026-11-16T11:00:00Z", ordered="u"))
    assert finished_journal(plain.folder, "u") is None, "it is not over yet"
    ordered.finish("undone")
    (plain.folder / "other").mkdir()
    (plain.folder / "other" / "journal.jsonl").write_text("{}\n")
    found = finished_journal(plain.folder, "u")
    assert found is not None
    assert (found.order, found.entries[-1].step) == (ordered.order, "undone")
    assert finished_journal(plain.folder, "v") is None
