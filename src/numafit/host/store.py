"""The ledger on disk: one SQLite file per host, one transaction per change.

A lock beside the file is held through every transaction. It makes writers take turns, and it lets a damaged file be
set aside without anybody writing into it afterwards: whoever gets the lock looks first whether the file is still the
one that it has open. The database itself refuses to hold a CPU or a device twice, whatever the code above it does.

Where a lock lies without a file, a ledger was lost: one that was set aside, or that somebody deleted. Whoever begins
the new one enters what runs in the transaction that makes it, so that nobody ever sees it without. Without a lock it
seems to be the first one; but somebody may have deleted the whole folder.
"""

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from numafit.errors import NumafitError
from numafit.host.lease import Lease, claims, decode_lease, encode_lease
from numafit.host.schema import VERSION, migrate

FILE = "leases.db"
LOCK = "leases.lock"
PATIENCE = 60.0
"""Seconds to wait for other writers; each needs milliseconds."""
MOST_HISTORY = 10_000

_DAMAGE = ("malformed", "not a database", "file is encrypted", "unsupported file format", "database corruption")


class LedgerError(NumafitError):
    """The ledger cannot be used; nothing was taken or lost."""

    def __init__(self, path: Path, message: str, cure: str = "") -> None:
        super().__init__(f"{path}: {message}" + (f" ({cure})" if cure else ""))


class DamagedError(LedgerError):
    """The file is no database any more; `Book.open` sets it aside and rebuilds it."""


class HeldError(NumafitError):
    """Another lease holds it; nothing was changed."""


class Entry(msgspec.Struct, frozen=True):
    """Something that happened."""

    number: int
    time: float
    event: str
    """taken, refused, released, freed, moved, adopted, extended or rebuilt."""
    lease: str
    user: str
    data: msgspec.Raw
    """The lease then, or what was refused, as JSON."""


class Waiting(msgspec.Struct, frozen=True):
    ticket: int
    data: msgspec.Raw


class Store:
    """An open ledger. Not to be shared between threads or across a fork."""

    def __init__(
        self, folder: Path, *, group: int | None = None, begin: Callable[["Transaction", bool], None] | None = None
    ) -> None:
        """`begin` enters what runs into a new ledger, and is told whether that takes the place of a lost one."""
        self.folder = folder
        self.path = folder / FILE
        self._begin = begin
        try:
            self._first = not (folder / LOCK).exists()
            self._lock = _open_shared(folder / LOCK, group)
        except OSError as error:
            raise _of_os(self.path, error) from None
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._group = group

    def close(self) -> None:
        if self._connection is not None:
            # The last one to close removes SQLite's log by its name: that must not be the log of a newer file.
            with suppress(LedgerError), self._locked():
                self._disconnect()
        os.close(self._lock)

    # Transactions

    @contextmanager
    def write(self) -> Iterator["Transaction"]:
        """All or nothing: whatever is raised inside undoes it."""
        with self._locked():
            connection = self._connected()
            try:
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield Transaction(connection)
                except BaseException:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise of_sqlite(self.path, error) from error

    def set_aside(self) -> Path | None:
        """Rename the damaged file. None: somebody else did it meanwhile."""
        with self._locked():
            if self._is_current():
                place = _free_name(self.path)
                self._disconnect()
                try:
                    os.rename(self.path, place)
                    for suffix in ("-wal", "-shm"):
                        with suppress(FileNotFoundError):
                            os.rename(f"{self.path}{suffix}", f"{place}{suffix}")
                except OSError as error:
                    raise _of_os(self.path, error) from None
                return place
            self._disconnect()
            return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        end = time.monotonic() + PATIENCE
        pause = 0.0005
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise LedgerError(self.path, f"another process keeps it locked for {PATIENCE:.0f} s") from None
                time.sleep(pause)
                pause = min(pause * 2, 0.02)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    # The connection

    def _is_current(self) -> bool:
        """Whether the file is still the one that was opened last, be it that it could not be read."""
        try:
            return self.path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._is_current():
            return self._connection
        self._disconnect()
        try:
            os.close(_open_shared(self.path, self._group))
            self._inode = self.path.stat().st_ino
        except OSError as error:
            raise _of_os(self.path, error) from None
        connection = None
        try:
            connection = sqlite3.connect(self.path, isolation_level=None, timeout=PATIENCE)
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found > VERSION:
                raise LedgerError(self.path, "it was written by a newer numafit", "use that one, or upgrade this one")
            connection.execute("PRAGMA journal_mode=WAL")
            # A lease that was given must be there after a power cut, or it would be given again.
            connection.execute("PRAGMA synchronous=FULL")
            if found < VERSION:
                migrate(connection, found, None if found else self._entering)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, sqlite3.Error):
                raise of_sqlite(self.path, error) from error
            raise
        self._connection = connection
        return connection

    def _entering(self, connection: sqlite3.Connection) -> None:
        if self._begin is not None:
            self._begin(Transaction(connection), not self._first)


class Transaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def leases(self) -> list[Lease]:
        """In the order they were taken."""
        rows = self._connection.execute("SELECT data FROM leases ORDER BY number").fetchall()
        return [_lease(row[0]) for row in rows]

    def lease(self, lease_id: str) -> Lease | None:
        row = self._connection.execute("SELECT data FROM leases WHERE id = ?", (lease_id,)).fetchone()
        return _lease(row[0]) if row is not None else None

    def insert(self, lease: Lease) -> None:
        """Raises `HeldError` when another lease holds some of it."""
        try:
            self._connection.execute("INSERT INTO leases (id, data) VALUES (?, ?)", (lease.id, encode_lease(lease)))
        except sqlite3.IntegrityError:
            raise HeldError(f"the lease {lease.id} is in the ledger already") from None
        try:
            self._connection.executemany(
                "INSERT INTO claims (kind, name, lease) VALUES (?, ?, ?)",
                [(kind, name, lease.id) for kind, name in claims(lease)],
            )
        except sqlite3.IntegrityError as error:
            raise self._held(lease) or _corrupt(str(error)) from None

    def _held(self, lease: Lease) -> "HeldError | None":
        """None: nobody holds any of it, and the tables contradict each other."""
        own = set(claims(lease))
        for other in self.leases():
            both = sorted(own.intersection(claims(other)))
            if both and other.id != lease.id:
                kind, name = both[0]
                return HeldError(f"{'CPU' if kind == 'cpu' else kind} {name} is held by the lease {other.label}")
        return None

    def update(self, lease: Lease) -> None:
        """What it holds may shrink or stay."""
        self._connection.execute("UPDATE leases SET data = ? WHERE id = ?", (encode_lease(lease), lease.id))
        held = set(claims(lease))
        listed = self._connection.execute("SELECT kind, name FROM claims WHERE lease = ?", (lease.id,)).fetchall()
        self._connection.executemany(
            "DELETE FROM claims WHERE kind = ? AND name = ?", [tuple(row) for row in listed if tuple(row) not in held]
        )

    def delete(self, lease_id: str) -> None:
        self._connection.execute("DELETE FROM leases WHERE id = ?", (lease_id,))
        self._connection.execute("DELETE FROM claims WHERE lease = ?", (lease_id,))

    # History

    def note(self, event: str, lease: str, user: str, data: object) -> None:
        cursor = self._connection.execute(
            "INSERT INTO history (time, event, lease, user, data) VALUES (?, ?, ?, ?, ?)",
            (time.time(), event, lease, user, msgspec.json.encode(data)),
        )
        if cursor.lastrowid is not None and cursor.lastrowid % 100 == 0:
            self._connection.execute("DELETE FROM history WHERE number <= ?", (cursor.lastrowid - MOST_HISTORY,))

    def history(self, limit: int, before: int | None = None) -> list[Entry]:
        """Newest first."""
        rows = self._connection.execute(
            "SELECT number, time, event, lease, user, data FROM history WHERE number < ? ORDER BY number DESC LIMIT ?",
            (before if before is not None else 1 << 62, limit),
        ).fetchall()
        return [
            Entry(number, when, event, lease, user, msgspec.Raw(data))
            for number, when, event, lease, user, data in rows
        ]

    def latest(self) -> int:
        """The number of the last entry of the history: it grows with every change."""
        row = self._connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'history'").fetchone()
        return int(row[0]) if row else 0

    # The queue

    def waiting(self) -> list[Waiting]:
        """First come first."""
        rows = self._connection.execute("SELECT ticket, data FROM waiting ORDER BY ticket").fetchall()
        return [Waiting(row[0], msgspec.Raw(row[1])) for row in rows]

    def enqueue(self, data: object) -> int:
        cursor = self._connection.execute("INSERT INTO waiting (data) VALUES (?)", (msgspec.json.encode(data),))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def dequeue(self, ticket: int) -> None:
        self._connection.execute("DELETE FROM waiting WHERE ticket = ?", (ticket,))


def _lease(data: bytes) -> Lease:
    try:
        return decode_lease(data)
    except ValueError as error:
        raise _corrupt(str(error)) from None


def _corrupt(reason: str) -> sqlite3.DatabaseError:
    """What SQLite cannot see: it reads well, and makes no sense."""
    return sqlite3.DatabaseError(f"database corruption: {reason}")


def _open_shared(path: Path, group: int | None) -> int:
    """A file that every user of the ledger may write."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o664)
        if group is not None:
            with suppress(OSError):
                os.fchown(handle, -1, group)
                os.fchmod(handle, 0o664)
        return handle


def _free_name(path: Path) -> Path:
    number = 1
    while (place := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    return place


def of_sqlite(path: Path, error: sqlite3.Error) -> LedgerError:
    text = str(error)
    if any(word in text for word in _DAMAGE):
        return DamagedError(path, f"the ledger is damaged: {text}")
    # Without room for the log's index SQLite speaks of an I/O error only.
    if "full" in text or ("disk I/O" in text and _is_full(path)):
        return LedgerError(path, "the disk is full", "make room and try again; nothing was changed")
    if "readonly" in text or "unable to open" in text:
        return LedgerError(path, f"the ledger cannot be written: {text}", "check its permissions and its file system")
    if "disk I/O" in text:
        return LedgerError(path, f"the ledger cannot be used: {text}", "check its disk; nothing was changed")
    return LedgerError(path, f"the ledger cannot be used: {text}")


def _is_full(path: Path) -> bool:
    try:
        space = os.statvfs(path.parent)
    except OSError:
        return False
    return bool(space.f_blocks) and not space.f_bavail


def _of_os(path: Path, error: OSError) -> LedgerError:
    return LedgerError(path, f"the ledger cannot be opened: {error.strerror or error}", "check its permissions")
