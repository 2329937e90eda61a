"""Which ledger is meant."""

import grp
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from numafit.errors import InputError
from numafit.host.book.folder import GROUP, SHARED_FOLDER, VARIABLE, ledger_folder, make_folder
from numafit.host.book.store import FILE
from tests.host.children import NOBODY, in_child, needs_root, opened_up

T = TypeVar("T")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)


def as_user(work: Callable[[], T]) -> T:
    needs_root()
    return in_child(work, user=NOBODY)


def test_an_option_comes_before_the_variable_and_that_before_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "variable"))
    assert ledger_folder(tmp_path / "option", tmp_path) == tmp_path / "option"
    assert ledger_folder(None, tmp_path) == tmp_path / "variable"


def test_root_has_the_ledger_of_the_host(tmp_path: Path) -> None:
    needs_root()
    assert ledger_folder(None, tmp_path / "host") == tmp_path / "host"


def test_a_user_has_his_own_where_the_host_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_up(tmp_path)
    monkeypatch.setenv("HOME", "/home/u")
    assert (
        as_user(lambda: ledger_folder(None, tmp_path / "host"))
        == Path("/home/u/.local/state/numafit") / os.uname().nodename
    )
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert as_user(lambda: ledger_folder(None, tmp_path / "host")) == Path("/state/numafit") / os.uname().nodename


def test_a_user_without_a_home_is_told_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may be started as a number that no list of users has."""
    opened_up(tmp_path)
    monkeypatch.delenv("HOME", raising=False)
    nobody_knows = 54321

    def work() -> str:
        try:
            return str(ledger_folder(None, tmp_path / "host"))
        except InputError as error:
            return str(error)

    needs_root()
    sentence = in_child(work, user=nobody_knows)
    assert sentence == f"user {nobody_knows} has no home for a ledger (set HOME or {VARIABLE})"


def test_a_user_shares_the_ledger_of_the_host_when_he_may_write_it(tmp_path: Path) -> None:
    opened_up(tmp_path)
    (tmp_path / FILE).write_bytes(b"")
    tmp_path.chmod(0o777)
    (tmp_path / FILE).chmod(0o666)
    assert as_user(lambda: ledger_folder(None, tmp_path)) == tmp_path


@pytest.mark.parametrize("mode", [0o755, 0o700])
@pytest.mark.parametrize("group", [True, False])
def test_a_user_never_goes_past_the_ledger_of_the_host(
    tmp_path: Path, mode: int, group: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger of his own beside it would give the same CPUs twice; also when he cannot even look into the folder."""
    opened_up(tmp_path)
    folder = tmp_path / "host"
    folder.mkdir()
    (folder / FILE).write_bytes(b"")
    folder.chmod(mode)

    def work() -> str:
        try:
            return str(ledger_folder(None, folder))
        except InputError as error:
            return str(error)

    def known(name: str) -> grp.struct_group:
        if not group:
            raise KeyError(name)
        return grp.struct_group((name, "x", 54300, []))

    monkeypatch.setattr(grp, "getgrnam", known)
    cure = f"join the group {GROUP} and log in again" if group else "`numafit host setup`, once by root, shares it"
    assert as_user(work) == (
        f"{folder}: this host has a ledger that user {NOBODY} may not write ({cure}; a ledger of your own, "
        f"{VARIABLE}=…, knows of no others)"
    )


def test_the_ledger_of_the_host_belongs_to_its_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is one; what is made in the folder belongs to it, too."""
    needs_root()
    entry = grp.struct_group(("numafit", "x", NOBODY, []))
    monkeypatch.setattr(grp, "getgrnam", lambda _: entry)
    folder = tmp_path / "host"
    assert make_folder(folder, system=folder) == NOBODY
    assert (folder.stat().st_gid, folder.stat().st_mode & 0o7777) == (NOBODY, SHARED_FOLDER)


def test_any_other_folder_is_made_as_usual(tmp_path: Path) -> None:
    folder = tmp_path / "a/b/c"
    assert make_folder(folder) is None
    assert folder.is_dir()
    assert (folder.stat().st_gid, folder.stat().st_mode & 0o7777) == (os.getgid(), 0o700)


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be made: Not a directory"):
        make_folder(tmp_path / "file/folder")
