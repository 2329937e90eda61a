"""A ledger of many users, one of whom means ill: what he puts in the way leads nobody astray."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest

from numafit.errors import NumafitError
from numafit.host.book.bell import BELL, WATCH, open_pipe, ring, try_watch
from numafit.host.book.book import Book
from numafit.host.book.opening import open_plain, read_plain
from numafit.host.book.store import FILE, JOURNAL, LOG, LedgerError
from tests.host.book.test_commands import ANN, BOB, become, shared
from tests.host.children import in_child


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = shared(tmp_path)
    with Book.open(found) as book:
        book.leases()
    return found


def test_only_plain_files_are_opened(tmp_path: Path) -> None:
    """No link, no pipe, which would make one wait, no file with a second name elsewhere."""
    file = tmp_path / "file"
    file.write_text("0123456789")
    assert read_plain(file, 4) == b"6789"
    with pytest.raises(PermissionError):
        read_plain(file, 4, uid=file.stat().st_uid + 1)
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    os.link(file, tmp_path / "second")
    for name in ("link", "pipe", "second"):
        with pytest.raises(OSError, match=name):
            open_plain(tmp_path / name, os.O_RDONLY)


def test_links_in_the_place_of_pipes_are_not_written_to(folder: Path) -> None:
    """By who rings, who watches and who waits."""
    precious = folder.parent / "precious"
    precious.write_text("precious")
    precious.chmod(0o600)

    def put() -> None:
        become(ANN)
        for name in (BELL, WATCH, "waiting-1-1"):
            (folder / name).symlink_to(precious)

    in_child(put)
    ring(folder)
    with pytest.raises(NumafitError, match="nobody can wait with it"):
        try_watch(folder)
    for name in (BELL, "waiting-1-1"):
        with pytest.raises(NumafitError, match="nobody can wait with it"):
            open_pipe(folder / name)
    assert (precious.read_text(), precious.stat().st_mode & 0o777) == ("precious", 0o600)


def test_the_files_beside_the_ledger_stay_those_of_root(folder: Path) -> None:
    """Nobody else can take them away; where one is not root's, nobody works with the ledger."""

    def work() -> list[str]:
        become(ANN)
        with Book.open(folder) as book:
            book.leases()
        refused = []
        for name in (JOURNAL, LOG):
            try:
                (folder / name).unlink()
            except PermissionError:
                refused.append(name)
        return refused

    assert in_child(work) == [JOURNAL, LOG]
    assert {(folder / name).stat().st_uid for name in (FILE, JOURNAL, LOG)} == {0}
    (folder / LOG).unlink()
    (folder / LOG).symlink_to(folder.parent / "elsewhere")
    with pytest.raises(LedgerError, match="is no file of root's own"), Book.open(folder) as book:
        book.leases()
    assert not (folder.parent / "elsewhere").exists()


def test_what_one_who_was_killed_left_is_undone_by_any_other(folder: Path) -> None:
    """Without root: the journal is emptied, not removed."""
    large = b"x" * 2000

    def die() -> None:
        become(ANN)
        connection = sqlite3.connect(folder / FILE, isolation_level=None)
        for statement in ("journal_mode=TRUNCATE", "cache_size=1"):
            connection.execute(f"PRAGMA {statement}")
        connection.execute("BEGIN IMMEDIATE")
        row = (1.0, "taken", "0badcafe", "ann", large)
        for _ in range(200):
            connection.execute("INSERT INTO history (time, event, lease, user, data) VALUES (?, ?, ?, ?, ?)", row)
        os.kill(os.getpid(), signal.SIGKILL)

    pid = os.fork()
    if not pid:
        die()
    os.waitpid(pid, 0)
    before = (folder / FILE).stat().st_size
    assert (folder / JOURNAL).stat().st_size > 0
    assert before > 200 * len(large)

    def look() -> int:
        become(BOB)
        with Book.open(folder) as book:
            return len(book.history(1000)) + len(book.leases())

    assert in_child(look) == 0
    assert (folder / FILE).stat().st_size < before
    assert (folder / JOURNAL).stat().st_uid == 0
