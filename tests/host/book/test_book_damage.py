"""Leases when their ledger is damaged or deleted, and under kill -9."""

import os
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.errors import NumafitError
from numafit.host.book.book import Book
from numafit.host.book.store import FILE
from numafit.host.grant import Refused
from numafit.host.host import Host
from numafit.host.request import JobRequest
from tests.host.book.test_book import HOST, ids
from tests.host.children import NOBODY, in_child, needs_root, opened_up
from tests.host.ledgers import check_claims, me, taken

pytestmark = pytest.mark.usefixtures("alone")


# Damage


def test_a_damaged_ledger_is_set_aside_and_said_so(tmp_path: Path) -> None:
    warnings: list[str] = []
    with Book.open(tmp_path, warn=warnings.append) as book:
        taken(book, HOST, JobRequest(cpus=1))
    (tmp_path / FILE).write_bytes(b"garbage" * 1000)
    with Book.open(tmp_path, warn=warnings.append) as book:
        assert taken(book, HOST, JobRequest(cpus=4)).exclusive == 0b1111
    assert warnings == [
        f"{tmp_path / FILE}: the ledger is damaged: file is not a database; it lies in {tmp_path / FILE}.damaged-1 "
        "now, and a new one is made from what runs"
    ]


@pytest.mark.parametrize("how", ["damaged", "deleted"])
def test_a_ledger_of_several_users_is_made_anew_by_root_only(tmp_path: Path, how: str) -> None:
    """Another one does not see everybody's jobs, and would give their CPUs away."""
    needs_root()
    folder = tmp_path / "ledger"
    with Book.open(folder) as book:
        taken(book, HOST, JobRequest(cpus=1))
    opened_up(tmp_path)
    for path in (folder, *folder.iterdir()):
        path.chmod(0o777)
    if how == "deleted":
        (folder / FILE).unlink()
    else:
        (folder / FILE).write_bytes(b"garbage" * 1000)

    def work() -> str:
        with Book.open(folder) as book:
            try:
                book.leases()
            except NumafitError as error:
                return str(error)
        return "made"

    assert "let root run `numafit ps`" in in_child(work, user=NOBODY)
    assert list(folder.glob("*.damaged-*")) == []
    with Book.open(folder) as book:
        assert ids(book) == []


def test_a_damaged_page_of_the_history_is_found_when_it_is_read(tmp_path: Path) -> None:
    with Book.open(tmp_path) as book:
        for _ in range(40):
            book.release(taken(book, HOST, JobRequest(cpus=1)).id)
    data = bytearray((tmp_path / FILE).read_bytes())
    middle = len(data) // 4096 // 2 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    (tmp_path / FILE).write_bytes(data)
    warnings: list[str] = []
    with Book.open(tmp_path, warn=warnings.append) as book:
        assert book.history(1000) == []
    assert len(warnings) == 1


def test_a_place_in_the_queue_that_cannot_be_read_stops_nobody(tmp_path: Path) -> None:
    with Book.open(tmp_path) as book:
        book.enqueue(HOST, JobRequest(cpus=1), me())
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE waiting SET data = 'x'")
    connection.close()
    with Book.open(tmp_path) as book:
        taken(book, HOST, JobRequest(cpus=1))
        assert book.waiting() == []


def test_two_that_find_the_damage_at_once_both_go_on(tmp_path: Path) -> None:
    """In processes of their own; both get a lease, and never the same CPU."""
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        with Book.open(folder) as book:
            taken(book, HOST, JobRequest(cpus=1))
        (folder / FILE).write_bytes(b"garbage" * 1000)
        pipes = []
        for _ in range(2):
            reading, writing = os.pipe()
            pid = os.fork()
            if not pid:
                try:
                    with Book.open(folder) as book:
                        os.write(writing, taken(book, HOST, JobRequest(cpus=2)).id.encode())
                    # Alive until both have it.
                    signal.pause()
                finally:
                    os._exit(1)
            os.close(writing)
            pipes.append((pid, reading))
        found = [os.read(reading, 100).decode() for _, reading in pipes]
        for pid, reading in pipes:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            os.close(reading)
        leases = check_claims(folder)
        assert sorted(lease.id for lease in leases) == sorted(found)
        assert len(list(folder.glob("*.damaged-*"))) == 1


# Kill


def test_a_taker_may_be_killed_at_any_instant(tmp_path: Path) -> None:
    """A lease that it was given is in the ledger after the kill, unless it gave it back; the next look frees it."""
    folder = tmp_path / "ledger"
    with Book.open(folder):
        pass
    for round_ in range(20):
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(reading)
                with Book.open(folder) as book:
                    while True:
                        lease = taken(book, HOST, JobRequest(cpus=2), me())
                        os.write(writing, f"+{lease.id}\n".encode())
                        os.write(writing, f"-{lease.id}\n".encode())
                        book.release(lease.id)
            finally:
                os._exit(1)
        os.close(writing)
        time.sleep(0.01 + 0.005 * round_)
        os.kill(pid, 9)
        with os.fdopen(reading) as pipe:
            lines = pipe.read().split("\n")[:-1]
        # Not waited for yet: a process that is dead and lies there holds nothing.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        promised = {line[1:] for line in lines if line[0] == "+"} - {line[1:] for line in lines if line[0] == "-"}
        assert promised <= {lease.id for lease in check_claims(folder)}
        with Book.open(folder) as book:
            assert ids(book) == []
            mine = taken(book, HOST, JobRequest(cpus=4))
            book.release(mine.id)
        os.waitpid(pid, 0)
        assert check_claims(folder) == []


def test_a_book_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NumafitError, match="cannot be made: Not a directory"):
        Book.open(tmp_path / "file" / "ledger")


def test_leases_of_two_users_know_of_each_other(tmp_path: Path) -> None:
    """In one folder that both may write; each lease belongs to the one who took it."""
    needs_root()
    folder = tmp_path / "ledger"
    folder.mkdir()
    opened_up(tmp_path)
    folder.chmod(0o777)
    with Book.open(folder) as book:
        mine = taken(book, HOST, JobRequest(cpus=2))
    for path in folder.iterdir():
        path.chmod(0o666)

    def work() -> tuple[list[int], int, bool]:
        with Book.open(folder) as book:
            his = taken(book, HOST, JobRequest(cpus=2))
            again = book.take(HOST, JobRequest(cpus=1), me())
            return [lease.uid for lease in book.leases()], his.exclusive, isinstance(again, Refused)

    uids, cpus, refused = in_child(work, user=NOBODY)
    assert (uids, cpus & mine.exclusive, refused) == ([0, NOBODY], 0, True)


def test_hosts_are_values() -> None:
    """What the caller may use is a part of the host, not of the ledger."""
    assert replace(HOST, allowed_cpus=0b1).usable_cpus == 0b1
    assert Host(HOST.machine).usable_cpus == 0b1111
