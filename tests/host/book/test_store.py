"""The ledger on disk: all or nothing, whatever happens to the process, the disk and the file."""

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numafit.errors import NumafitError
from numafit.host.book.store import FILE, LOCK, DamagedError, LedgerError, Store
from numafit.host.book.tables import MOST_HISTORY, STEPS, VERSION, HeldError, Transaction
from numafit.host.lease import Lease, encode_lease
from numafit.host.process.identity import user_name
from tests.host.children import in_child
from tests.host.ledgers import check_claims

GPU = "nvidia.com/gpu"


def lease(name: str, cpus: int = 0, *gpus: str) -> Lease:
    return Lease(name, "", 0, "root", 1.0, exclusive=cpus, devices={GPU: gpus} if gpus else {})


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    store = Store(folder)
    try:
        yield store
    finally:
        store.close()


def put(store: Store, *leases: Lease) -> None:
    with store.write() as tx:
        for one in leases:
            tx.insert(one)


def ids(store: Store) -> list[str]:
    with store.write() as tx:
        return [one.id for one in tx.leases()]


# Transactions


def test_what_was_committed_is_there_for_the_next_one(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        put(store, lease("b", 0b1), lease("a", 0b10, "g0"))
    with opened(tmp_path) as store:
        assert ids(store) == ["b", "a"]
    assert [one.id for one in check_claims(tmp_path)] == ["b", "a"]


def test_whatever_is_raised_inside_undoes_everything(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        with pytest.raises(KeyboardInterrupt), store.write() as tx:  # noqa: PT012
            tx.insert(lease("a", 0b1))
            tx.note("taken", "a", "root", {})
            raise KeyboardInterrupt
        assert ids(store) == []
        with store.write() as tx:
            assert tx.history(10) == []


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        (lease("b", 0b110), "CPU 1 is held by the lease a"),
        (lease("b", 0, "g0"), f"{GPU} g0 is held by the lease a"),
        (lease("a"), "the lease a is in the ledger already"),
    ],
)
def test_the_database_itself_refuses_to_hold_anything_twice(tmp_path: Path, second: Lease, sentence: str) -> None:
    """Whatever the code above it does; it is no damage of the file."""
    with opened(tmp_path) as store:
        put(store, lease("a", 0b11, "g0"))
        with pytest.raises(HeldError, match=sentence):
            put(store, lease("c", 0b1000), second)
        assert ids(store) == ["a"]
    check_claims(tmp_path)


def test_a_lease_that_shrinks_gives_its_claims_back(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        put(store, lease("a", 0b11, "g0"))
        with store.write() as tx:
            tx.update(lease("a", 0b1))
        put(store, lease("b", 0b10, "g0"))
    check_claims(tmp_path)


def test_a_row_of_a_lease_that_is_not_there_is_damage(tmp_path: Path) -> None:
    """Nobody holds the CPU, and yet nobody could ever take it: the tables contradict each other."""
    with opened(tmp_path) as store:
        put(store, lease("a", 0b1))
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("DELETE FROM leases")
    connection.close()
    with opened(tmp_path) as store, pytest.raises(DamagedError):
        put(store, lease("b", 0b1))


def test_history_is_newest_first_and_ends_somewhere(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        with store.write() as tx:
            for number in range(MOST_HISTORY + 250):
                tx.note("taken", str(number), "root", {})
        with store.write() as tx:
            entries = tx.history(MOST_HISTORY * 2)
            assert [entry.lease for entry in entries[:2]] == [str(MOST_HISTORY + 249), str(MOST_HISTORY + 248)]
            assert MOST_HISTORY <= len(entries) < MOST_HISTORY + 100
            assert [entry.lease for entry in tx.history(1, before=entries[0].number)] == [entries[1].lease]


def test_writers_take_turns(tmp_path: Path) -> None:
    """Each reads and adds one in its own transaction, and none is lost."""

    def work() -> int:
        with opened(tmp_path) as store:
            for _ in range(25):
                with store.write() as tx:
                    tx.note(str(len(tx.history(1000))), "", "", {})
        return 0

    threads = [threading.Thread(target=lambda: in_child(work)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with opened(tmp_path) as store, store.write() as tx:
        assert [entry.event for entry in reversed(tx.history(1000))] == [str(number) for number in range(100)]


def test_a_lock_that_is_kept_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process must not hang all others for ever; they are told which one it is, and of whom."""
    monkeypatch.setattr("numafit.host.book.store.PATIENCE", 0.05)
    who = rf"process {os.getpid()} \(.*, of {user_name(os.getuid())}\) keeps it locked for .* can end it; nothing was"
    wrong = pytest.raises(LedgerError, match=who)
    with opened(tmp_path) as holder, holder.write(), opened(tmp_path) as store, wrong:
        put(store, lease("a"))


# Versions


def old_ledger(folder: Path, version: int) -> None:
    connection = sqlite3.connect(folder / FILE)
    for step in STEPS[:version]:
        for statement in step:
            connection.execute(statement)
    connection.execute("INSERT INTO leases (id, data) VALUES ('a', ?)", (encode_lease(lease("a", 0b11)),))
    connection.executemany("INSERT INTO claims VALUES ('cpu', ?, 'a')", [("0",), ("1",)])
    connection.execute("INSERT INTO history (time, event, lease, user, data) VALUES (1, 'taken', 'a', 'root', '{}')")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.commit()
    connection.close()
    (folder / LOCK).touch()


@pytest.mark.parametrize("version", range(1, VERSION))
def test_an_older_ledger_is_brought_up_with_its_data(tmp_path: Path, version: int) -> None:
    old_ledger(tmp_path, version)
    with opened(tmp_path) as store, store.write() as tx:
        assert tx.leases() == [lease("a", 0b11)]
        assert [entry.event for entry in tx.history(10)] == ["taken"]
        assert tx.waiting() == []
        ticket = tx.enqueue({"x": 1})
        assert [(one.ticket, bytes(one.data)) for one in tx.waiting()] == [(ticket, b'{"x":1}')]
    check_claims(tmp_path)


def test_an_upgrade_that_fails_leaves_the_old_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps are one transaction."""
    old_ledger(tmp_path, 1)
    monkeypatch.setattr("numafit.host.book.tables.STEPS", (*STEPS, ("CREATE TABLE leases (x)",)))
    with opened(tmp_path) as store, pytest.raises(LedgerError, match="already exists"):
        ids(store)
    connection = sqlite3.connect(tmp_path / FILE)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'waiting'").fetchall() == []
    connection.close()
    monkeypatch.undo()
    with opened(tmp_path) as store:
        assert ids(store) == ["a"]


def test_a_newer_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    old_ledger(tmp_path, VERSION)
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    before = (tmp_path / FILE).read_bytes()
    with opened(tmp_path) as store, pytest.raises(LedgerError, match="written by a newer numafit") as caught:
        ids(store)
    assert not isinstance(caught.value, DamagedError)
    assert (tmp_path / FILE).read_bytes() == before


# A file that is lost


def begun(folder: Path) -> list[str]:
    """Opens it, and says as what it was begun."""
    calls: list[str] = []

    def begin(tx: Transaction, lost: bool) -> None:
        calls.append("lost" if lost else "first")
        tx.insert(lease("r", 0b1))

    store = Store(folder, begin=begin)
    try:
        assert ids(store) == ["r"]
    finally:
        store.close()
    return calls


def test_a_ledger_is_begun_once(tmp_path: Path) -> None:
    assert begun(tmp_path) == ["first"]
    assert begun(tmp_path) == []


def test_a_ledger_that_was_deleted_is_begun_with_what_runs(tmp_path: Path) -> None:
    """Its lock is still there. An empty file, which a crash at the wrong moment leaves, counts as none."""
    assert begun(tmp_path) == ["first"]
    (tmp_path / FILE).unlink()
    assert begun(tmp_path) == ["lost"]
    (tmp_path / FILE).write_bytes(b"")
    assert begun(tmp_path) == ["lost"]


def test_what_fails_while_a_ledger_is_begun_leaves_none(tmp_path: Path) -> None:
    """Nobody ever sees a ledger that lacks what runs."""
    assert begun(tmp_path) == ["first"]
    (tmp_path / FILE).unlink()

    def begin(_: Transaction, lost: bool) -> None:
        assert lost
        raise NumafitError("not now")

    store = Store(tmp_path, begin=begin)
    with pytest.raises(NumafitError, match="not now"):
        ids(store)
    store.close()
    assert begun(tmp_path) == ["lost"]


def damage(path: Path, kind: str) -> None:
    data = path.read_bytes()
    if kind == "garbage":
        path.write_bytes(os.urandom(5000))
    elif kind == "text":
        path.write_text("leases:\n- none\n" * 100)
    elif kind == "cut":
        path.write_bytes(data[:6000])
    elif kind == "short":
        path.write_bytes(data[:50])
    elif kind == "page":
        page = 4096
        path.write_bytes(data[:page] + b"\xa5" * page + data[2 * page :])
    elif kind == "lease":
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE leases SET data = '{}'")
        connection.close()


KINDS = ("garbage", "text", "cut", "short", "page", "lease")


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_seen_and_set_aside_whole(tmp_path: Path, kind: str) -> None:
    """The file that was keeps its bytes under another name."""
    with opened(tmp_path) as store:
        put(store, *(lease(f"l{number}", 1 << number) for number in range(40)))
    damage(tmp_path / FILE, kind)
    bad = (tmp_path / FILE).read_bytes()
    with opened(tmp_path) as store:
        with pytest.raises(DamagedError, match="the ledger is damaged"):
            ids(store)
        aside = store.set_aside()
        assert aside == tmp_path / f"{FILE}.damaged-1"
        if kind != "lease":
            assert aside.read_bytes()[100:] == bad[100:]
        assert ids(store) == []
        put(store, lease("new", 0b1))
    check_claims(tmp_path)


def test_a_second_damaged_file_does_not_overwrite_the_first(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / FILE).write_bytes(b"no database %d" % number * 100)
        with opened(tmp_path) as store:
            with pytest.raises(DamagedError):
                ids(store)
            store.set_aside()
    assert (tmp_path / f"{FILE}.damaged-1").read_bytes().startswith(b"no database 1")
    assert (tmp_path / f"{FILE}.damaged-2").read_bytes().startswith(b"no database 2")


def test_of_two_that_find_the_damage_one_sets_it_aside(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database" * 100)
    with opened(tmp_path) as first, opened(tmp_path) as second:
        for store in (first, second):
            with pytest.raises(DamagedError):
                ids(store)
        assert first.set_aside() is not None
        put(first, lease("a", 0b1))
        assert second.set_aside() is None
        assert ids(second) == ["a"]


def test_one_that_had_the_old_file_open_goes_on_with_the_new_one(tmp_path: Path) -> None:
    """Nor does closing the old one take anything from the new one, whose log has the same name."""
    with opened(tmp_path) as late, opened(tmp_path) as idle, opened(tmp_path) as finder:
        put(late, lease("old", 0b1))
        assert ids(idle) == ["old"]
        assert ids(finder) == ["old"]
        assert finder.set_aside() is not None
        put(finder, lease("new", 0b1))
        idle.close()
        idle._lock = os.open(tmp_path / LOCK, os.O_RDWR)
        assert ids(late) == ["new"]
        put(late, lease("next", 0b10))
        assert ids(finder) == ["new", "next"]
    assert [one.id for one in check_claims(tmp_path)] == ["new", "next"]
