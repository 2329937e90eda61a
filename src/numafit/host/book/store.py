"""The ledger on disk: one SQLite file per host, one transaction per change.

A lock beside the file is held through every transaction. It makes writers take turns, and it lets a damaged file be
set aside without anybody writing into it afterwards: whoever gets the lock looks first whether the file is still the
one that it has open. The database itself refuses to hold a CPU or a device twice, whatever the code above it does.

Where a lock lies without a file, a ledger was lost: one that was set aside, or that somebody deleted. Whoever begins
the new one enters what runs in the transaction that makes it, so that nobody ever sees it without. Without a lock it
seems to be the first one; but somebody may have deleted the whole folder.

SQLite opens the files beside its own by name, also through a link. In a folder of many users one of them could put a
link there, and the next one, who may be root, would write into a file of his own. So there the journal stays for ever,
and an empty file keeps the name of the other kind of journal, which SQLite then takes for missing: root makes both,
nobody else can take them away, and what is not root's is refused.
"""

import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from numafit.errors import NumafitError
from numafit.host.book.opening import NO_TRAPS
from numafit.host.book.tables import VERSION, Transaction, migrate
from numafit.host.process.locks import lock_holder

FILE = "leases.db"
LOCK = "leases.lock"
PATIENCE = 60.0
"""Seconds to wait for other writers; each needs milliseconds."""

JOURNAL, LOG = f"{FILE}-journal", f"{FILE}-wal"

_JOURNAL_SECONDS = 1.0
_DAMAGE = ("malformed", "not a database", "file is encrypted", "unsupported file format", "database corruption")


class LedgerError(NumafitError):
    """The ledger cannot be used; nothing was taken or lost."""

    def __init__(self, path: Path, message: str, cure: str = "") -> None:
        super().__init__(f"{path}: {message}" + (f" ({cure})" if cure else ""))


class DamagedError(LedgerError):
    """The file is no database any more; `Book.open` sets it aside and rebuilds it."""


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
        self.rest()
        os.close(self._lock)

    def rest(self) -> None:
        """Nothing of SQLite is open until the next transaction: what it has open is not for another process."""
        if self._connection is not None:
            # The last one to close removes SQLite's log by its name: that must not be the log of a newer file.
            with suppress(LedgerError), self._locked():
                self._disconnect()

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
                    raise self._held_up() from None
                time.sleep(pause)
                pause = min(pause * 2, 0.02)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _held_up(self) -> LedgerError:
        holder = lock_holder(self._lock)
        who = holder.words if holder is not None else "another process, which cannot be seen from here,"
        cure = "its user or root can end it" if holder is not None else "root can end it: `lslocks` names it"
        return LedgerError(self.path, f"{who} keeps it locked for {PATIENCE:.0f} s", f"{cure}; nothing was changed")

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
        shared = is_shared(self.folder)
        if shared:
            self._check_beside()
        connection = None
        try:
            connection = self._with_journal() if shared else sqlite3.connect(self.path, isolation_level=None)
            connection.execute(f"PRAGMA busy_timeout={PATIENCE * 1000:.0f}")
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            if found > VERSION:
                raise LedgerError(self.path, "it was written by a newer numafit", "use that one, or upgrade this one")
            if not shared:
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

    def _with_journal(self) -> sqlite3.Connection:
        """Of a ledger of many users."""
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=_JOURNAL_SECONDS)
        try:
            # What one who was killed left in the journal is undone by whoever reads first, and then the journal is
            # removed, which only root can do; in this mode it is emptied.
            for setting in ("locking_mode=EXCLUSIVE", "journal_mode=TRUNCATE", "locking_mode=NORMAL"):
                connection.execute(f"PRAGMA {setting}")
        except sqlite3.Error:
            connection.close()
            if not self._has_log():
                raise
            # Somebody opened it before it was shared, and still has it open.
            connection = sqlite3.connect(self.path, isolation_level=None)
        self._check_beside()
        return connection

    def _has_log(self) -> bool:
        """Whether SQLite keeps the other kind of journal for it: the file itself says so."""
        with self.path.open("rb") as file:
            return file.read(20)[18:] == b"\2\2"

    def _check_beside(self) -> None:
        for name, mode in ((JOURNAL, 0o660), (LOG, 0o600)):
            path = self.folder / name
            try:
                if os.geteuid() == 0 and not os.path.lexists(path):
                    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_TRAPS, 0o600)
                    os.fchmod(handle, mode)
                    os.close(handle)
                found = path.lstat()
            except OSError as error:
                cure = "any command of root's that opens the ledger makes it"
                raise LedgerError(path, error.strerror or "", cure) from None
            if not stat.S_ISREG(found.st_mode) or found.st_uid or found.st_nlink != 1:
                raise LedgerError(path, "is no file of root's own, as it must be", "root can take it away")

    def _entering(self, connection: sqlite3.Connection) -> None:
        if self._begin is not None:
            self._begin(Transaction(connection), not self._first)


def is_shared(folder: Path) -> bool:
    """Whether it is one of root's that others may write, as `numafit host setup` makes it: in there nobody but root
    takes away what is root's."""
    found = folder.stat()
    return not found.st_uid and bool(found.st_mode & stat.S_ISVTX) and bool(found.st_mode & 0o022)


def _open_shared(path: Path, group: int | None) -> int:
    """A file that every user of the ledger may write, and nobody else may open: one who may read it can lock it, here
    and inside SQLite, and hold up all others."""
    careful = NO_TRAPS if is_shared(path.parent) else 0
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | careful)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | careful, 0o600)
        with suppress(OSError):
            if group is not None:
                os.fchown(handle, -1, group)
            if group is not None or path.parent.stat().st_mode & stat.S_IWGRP:
                os.fchmod(handle, 0o660)
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
