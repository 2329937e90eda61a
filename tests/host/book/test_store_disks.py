"""The ledger on disk when the disk is full or read-only, when it belongs to others, and under kill -9."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from numafit.host.book.folder import SHARED_FOLDER
from numafit.host.book.store import FILE, JOURNAL, LOCK, LOG, DamagedError, LedgerError, Store
from tests.host.book.test_store import ids, lease, opened, put
from tests.host.children import NOBODY, in_child, needs_root, opened_up
from tests.host.ledgers import check_claims

# Disks and rights


def mounted(folder: Path, size: str) -> None:
    needs_root()
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "none", folder], check=False)
    if done.returncode:
        pytest.skip("no file system can be mounted here")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    mounted(folder, "256k")
    yield folder
    subprocess.run(["umount", folder], check=True)


def fill(disk: Path) -> Path:
    """To the last block."""
    ballast = disk / "ballast"
    with suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()
    return ballast


def test_a_full_disk_takes_nothing_and_loses_nothing(small_disk: Path) -> None:
    """A lease that cannot be written is not given; when there is room again, all goes on."""
    kept: list[str] = []
    with opened(small_disk) as store:
        put(store, lease("first", 0b1))
        kept.append("first")
        ballast = fill(small_disk)
        with pytest.raises(LedgerError, match=r"the disk is full .*nothing was changed"):  # noqa: PT012
            for number in range(1, 2000):
                put(store, lease(f"l{number}", 1 << number))
                kept.append(f"l{number}")
        assert ids(store) == kept
    with opened(small_disk) as store:
        assert ids(store) == kept
        ballast.unlink()
        put(store, lease("after", 0b0))
        assert ids(store) == [*kept, "after"]
    check_claims(small_disk)


def test_a_ledger_that_is_opened_on_a_full_disk_is_left_alone(small_disk: Path) -> None:
    """SQLite calls it an I/O error when there is no room to open its log."""
    with opened(small_disk) as store:
        put(store, lease("first", 0b1))
    ballast = fill(small_disk)
    with opened(small_disk) as store, pytest.raises(LedgerError, match=r"the disk is full .*nothing was changed"):
        ids(store)
    ballast.unlink()
    with opened(small_disk) as store:
        assert ids(store) == ["first"]


def test_a_ledger_cannot_be_begun_on_a_full_disk(small_disk: Path) -> None:
    ballast = fill(small_disk)
    with opened(small_disk) as store, pytest.raises(LedgerError) as caught:
        ids(store)
    assert not isinstance(caught.value, DamagedError)
    ballast.unlink()
    with opened(small_disk) as again:
        assert ids(again) == []


def test_a_limit_on_the_size_of_files_is_no_damage(tmp_path: Path) -> None:
    """For those who cannot mount a disk: the kernel refuses to let the log grow."""

    def work() -> tuple[bool, str]:
        import resource

        with opened(tmp_path) as store:
            put(store, lease("first", 0b1))
            size = max(path.stat().st_size for path in tmp_path.iterdir())
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            try:
                for number in range(1, 500):
                    put(store, lease(f"l{number}", 1 << number))
            except LedgerError as error:
                return isinstance(error, DamagedError), str(error)
        return False, ""

    damaged, text = in_child(work)
    assert (damaged, bool(text)) == (False, True)
    with opened(tmp_path) as store:
        assert ids(store)[0] == "first"
    check_claims(tmp_path)


def test_a_read_only_disk_is_one_sentence(small_disk: Path) -> None:
    with opened(small_disk) as store:
        put(store, lease("a", 0b1))
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(LedgerError, match="cannot be opened: Read-only file system"):
        Store(small_disk)


def test_a_disk_that_becomes_read_only_meanwhile_is_one_sentence(tmp_path: Path) -> None:
    needs_root()
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "seen").mkdir()
    done = subprocess.run(["mount", "--bind", folder, tmp_path / "seen"], check=False)
    if done.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        with opened(tmp_path / "seen") as store:
            put(store, lease("a", 0b1))
        lock = Store(tmp_path / "seen")
        os.close(lock._lock)
        lock._lock = os.open(folder / LOCK, os.O_RDWR)
        subprocess.run(["mount", "-o", "remount,ro,bind", tmp_path / "seen"], check=True)
        with pytest.raises(LedgerError, match=r"Read-only|readonly"):
            ids(lock)
        lock.close()
    finally:
        subprocess.run(["umount", tmp_path / "seen"], check=True)
    with opened(folder) as store:
        assert ids(store) == ["a"]


def test_a_ledger_of_another_user_is_one_sentence(tmp_path: Path) -> None:
    """He may neither write it nor make files beside it; nor does he set it aside."""
    needs_root()
    with opened(tmp_path) as store:
        put(store, lease("a", 0b1))
    opened_up(tmp_path)

    def work() -> str:
        try:
            Store(tmp_path)
        except LedgerError as error:
            return str(error)
        return "opened"

    assert "Permission denied (check its permissions)" in in_child(work, user=NOBODY)


def test_a_shared_ledger_is_written_by_its_group(tmp_path: Path) -> None:
    """Made by root with a group; a member of it takes a lease, and root sees that, whoever made SQLite's files."""
    needs_root()
    folder = tmp_path / "shared"
    folder.mkdir()
    os.chown(folder, 0, NOBODY)
    folder.chmod(SHARED_FOLDER)
    opened_up(tmp_path)
    root = Store(folder, group=NOBODY)
    put(root, lease("roots", 0b1))

    def work() -> list[str]:
        with opened(folder) as store:
            put(store, lease("his", 0b10))
            return ids(store)

    assert in_child(work, user=NOBODY) == ["roots", "his"]
    assert ids(root) == ["roots", "his"]
    root.close()
    with opened(folder) as store:
        assert ids(store) == ["roots", "his"]
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {FILE: 0o660, LOCK: 0o660, JOURNAL: 0o660, LOG: 0o600}


@pytest.mark.parametrize("shared", [True, False])
def test_nobody_else_can_open_a_ledger_to_lock_it(tmp_path: Path, shared: bool) -> None:
    """One who may read a file can lock it for as long as he likes, and SQLite's log in the same way."""
    needs_root()
    opened_up(tmp_path)
    folder = tmp_path / "ledger"
    folder.mkdir()
    folder.chmod(0o3775 if shared else 0o755)
    stranger = 54321

    def tried() -> list[str]:
        found = []
        for path in sorted(folder.iterdir()):
            try:
                os.close(os.open(path, os.O_RDONLY))
            except PermissionError:
                continue
            found.append(path.name)
        return found

    with opened(folder) as store:
        put(store, lease("a", 0b1))
        assert (folder / (JOURNAL if shared else f"{FILE}-shm")).exists()
        assert in_child(tried, user=stranger) == []


def test_members_who_may_not_take_files_away_share_the_ledger(tmp_path: Path) -> None:
    """The folder has the sticky bit: SQLite's journal stays where root made it, and is used by everybody."""
    needs_root()
    opened_up(tmp_path)
    folder = tmp_path / "shared"
    folder.mkdir()
    group = 54300
    os.chown(folder, 0, group)
    folder.chmod(SHARED_FOLDER)
    with opened(folder) as store:
        assert ids(store) == []

    def put_by(uid: int, bit: int) -> list[str]:
        def work() -> list[str]:
            os.setgroups([group])
            os.setgid(uid)
            os.setuid(uid)
            with opened(folder) as store:
                put(store, lease(f"of-{uid}-{bit}", 1 << bit))
                return ids(store)

        return in_child(work)

    assert put_by(54301, 0) == ["of-54301-0"]
    assert put_by(54302, 1) == ["of-54301-0", "of-54302-1"]
    assert put_by(54301, 2) == ["of-54301-0", "of-54302-1", "of-54301-2"]


# Kill


def test_a_writer_may_be_killed_at_any_instant(tmp_path: Path) -> None:
    """What it was told to be committed is there, nothing is half there, and the next one is not kept waiting."""
    reported: list[str] = []
    for round_ in range(25):
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(reading)
                with opened(tmp_path) as store:
                    number = 0
                    while True:
                        name = f"{round_}-{number}"
                        with store.write() as tx:
                            for old in tx.leases():
                                tx.delete(old.id)
                            tx.insert(lease(name, 0b1111 << number % 40, "g0"))
                            tx.note("taken", name, "root", {})
                        os.write(writing, f"{name}\n".encode())
                        number += 1
            finally:
                os._exit(1)
        os.close(writing)
        time.sleep(0.004 * round_)
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        with os.fdopen(reading) as pipe:
            reported += pipe.read().split("\n")[:-1]
        with opened(tmp_path) as store, store.write() as tx:
            happened = [entry.lease for entry in reversed(tx.history(10_000))]
            # The last one of a round may have been committed and not reported.
            assert set(reported) <= set(happened)
            assert len(happened) <= len(reported) + round_ + 1
            held = [one.id for one in tx.leases()]
            assert held == happened[-1:]
        check_claims(tmp_path)
    assert len(reported) > 25
