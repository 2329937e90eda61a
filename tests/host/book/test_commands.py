"""Command lines in a ledger that many users share."""

import os
import sqlite3
from pathlib import Path

import pytest

from numafit.host.book.book import Book
from numafit.host.book.commands import COMMANDS, Commands, program_of
from numafit.host.book.folder import SHARED_FOLDER
from numafit.host.book.store import FILE
from numafit.host.request import JobRequest
from tests.host.children import in_child, needs_root, opened_up
from tests.host.ledgers import me, small_host, taken

pytestmark = pytest.mark.usefixtures("alone")

GROUP, ANN, BOB = 54300, 54301, 54302
SECRET = "train --token=hunter2"


def shared(tmp_path: Path) -> Path:
    """As `numafit host setup` makes it."""
    needs_root()
    opened_up(tmp_path)
    folder = tmp_path / "shared"
    for place in (folder, folder / COMMANDS):
        place.mkdir()
        os.chown(place, 0, GROUP)
        place.chmod(SHARED_FOLDER)
    return folder


def become(uid: int) -> None:
    os.setgroups([GROUP])
    os.setgid(uid)
    os.setuid(uid)


def test_the_others_read_the_name_of_the_program(tmp_path: Path) -> None:
    """Its user and root read the rest; it stands nowhere in the files of the ledger."""
    folder = shared(tmp_path)
    with Book.open(folder) as book:
        book.leases()

    def work() -> str:
        become(ANN)
        with Book.open(folder) as book:
            lease = taken(book, small_host(), JobRequest(cpus=1), me(SECRET))
            assert book.commands() == {(ANN, lease.id): SECRET}
            assert book.history(1)[0].command == lease.command == "train"
            return lease.id

    def other() -> dict[tuple[int, str], str]:
        become(BOB)
        with Book.open(folder) as book:
            return book.commands()

    lease_id = in_child(work)
    assert in_child(other) == {}
    assert Commands(folder).known() == {(ANN, lease_id): SECRET}
    connection = sqlite3.connect(folder / FILE)
    assert not [row for row in connection.iterdump() if "hunter2" in row]
    connection.close()
    assert (folder / COMMANDS / str(ANN)).stat().st_mode & 0o777 == 0o600


def test_a_ledger_of_one_user_has_the_whole_command(tmp_path: Path) -> None:
    with Book.open(tmp_path) as book:
        assert taken(book, small_host(), JobRequest(cpus=1), me(SECRET)).command == SECRET
        assert book.commands() == {}


def test_what_another_member_put_there_is_not_written_to(tmp_path: Path) -> None:
    """Nor waited for: a pipe without a reader would hold up its user, or root."""
    folder = shared(tmp_path)
    (tmp_path / "other").write_text("")
    os.chown(tmp_path / "other", BOB, BOB)

    def put() -> None:
        become(ANN)
        os.mkfifo(folder / COMMANDS / str(BOB))
        os.symlink(tmp_path / "other", folder / COMMANDS / "0")
        Commands(folder).keep(BOB, "b", SECRET)

    def keep() -> None:
        become(BOB)
        Commands(folder).keep(BOB, "b", SECRET)

    in_child(put)
    in_child(keep)
    Commands(folder).keep(0, "r", SECRET)
    assert Commands(folder).known() == {}
    assert (tmp_path / "other").read_text() == ""


def test_a_long_file_loses_its_older_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / COMMANDS).mkdir()
    monkeypatch.setattr("numafit.host.book.commands._MOST_BYTES", 1000)
    commands = Commands(tmp_path)
    uid = os.geteuid()
    for number in range(100):
        commands.keep(uid, f"lease-{number}", f"train --number={number}")
    known = commands.known()
    assert known[uid, "lease-99"] == "train --number=99"
    assert len(known) < 50
    assert os.listdir(tmp_path / COMMANDS) == [str(uid)]


@pytest.mark.parametrize(
    ("command", "program"),
    [("/opt/bin/train --x=1", "train"), ("'a b' c", "a b"), ("it's", "it's"), ("", ""), ("docker run image", "docker")],
)
def test_the_program_is_the_last_part_of_the_first_word(command: str, program: str) -> None:
    assert program_of(command) == program
