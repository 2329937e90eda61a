"""A look at a ledger that cannot be written: what it holds is read as it lies there, and nothing is made or freed."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from numafit.host.book.rebuild import running_leases
from numafit.host.book.store import FILE, LedgerError, of_sqlite
from numafit.host.book.tables import VERSION, LeaseEvent, Transaction, Waiting
from numafit.host.book.work import is_in_use
from numafit.host.grant import QueuePlace
from numafit.host.lease import Lease, LiveContainers
from numafit.host.process.identity import Liveness, is_alive

T = TypeVar("T")


class Glance(msgspec.Struct, frozen=True):
    leases: list[Lease]
    waiting: list[QueuePlace]
    history: list[LeaseEvent]
    sentence: str
    """What is shown."""
    whole: bool = True
    """No: others may hold more."""


def glance(folder: Path | None, docker: Callable[[list[Lease]], LiveContainers | None], most: int = 0) -> Glance:
    """`folder` None: there is no place for a ledger. `most`: so many entries of the history."""
    if folder is None or _is_missing(folder / FILE):
        return Glance([], [], [], "there is no ledger, so nobody holds anything by one")
    try:
        leases, waiting, entries = _read(
            folder / FILE, lambda tx: (tx.leases(), tx.waiting(), tx.history(most) if most else [])
        )
    except LedgerError:
        seen = running_leases(ledger=folder)
        said = f"shown are only leases of jobs that user {os.geteuid()} may see"
        return Glance(seen, [], [], said, whole=False)
    liveness = Liveness()
    kept = [lease for lease in leases if is_in_use(lease, lambda: docker(leases), liveness=liveness)]
    return Glance(kept, list(_alive(waiting)), entries, "shown is what it says now; nothing is freed or moved")


def _alive(waiting: list[Waiting]) -> Iterator[QueuePlace]:
    for each in waiting:
        with suppress(ValueError):
            place = msgspec.json.decode(each.data, type=QueuePlace)
            if any(is_alive(process) is not False for process in place.owner.processes):
                yield place


def _is_missing(file: Path) -> bool:
    """Not there for sure; what may not be looked at could be there."""
    try:
        os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def _read(file: Path, action: Callable[[Transaction], T]) -> T:
    """SQLite wants to write beside a file with a log. Where it may not, and nobody has the file open, there is no log
    and the file alone is the whole."""
    for how in ("mode=ro", "immutable=1"):
        try:
            with closing(sqlite3.connect(f"{file.resolve().as_uri()}?{how}", uri=True)) as connection:
                if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
                    raise LedgerError(file, "it was written by another numafit")
                return action(Transaction(connection))
        except sqlite3.Error as error:
            refused = of_sqlite(file, error)
        except OSError as error:
            refused = LedgerError(file, f"cannot be read: {error.strerror}")
        if os.path.exists(f"{file}-wal"):
            break
    raise refused
