"""The tables of the ledger on disk: how an older ledger becomes a newer one, and what one transaction reads and
writes.
"""

import sqlite3
import time
from collections.abc import Callable, Mapping

import msgspec

from numafit.bits import mask_of
from numafit.errors import NumafitError
from numafit.host.lease import Lease, claims, decode_lease, encode_lease

STEPS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE leases (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, data BLOB NOT NULL)",
        # One row per CPU and device that is held: a second holder breaks the primary key.
        "CREATE TABLE claims (kind TEXT, name TEXT, lease TEXT NOT NULL, PRIMARY KEY (kind, name)) WITHOUT ROWID",
        "CREATE INDEX claims_of_lease ON claims (lease)",
        "CREATE TABLE history (number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, event TEXT NOT NULL,"
        " lease TEXT NOT NULL, user TEXT NOT NULL, data BLOB NOT NULL)",
    ),
    ("CREATE TABLE waiting (ticket INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL)",),
)
"""Each step leads from the version of its index to the next one; a step that was released is never changed."""

VERSION = len(STEPS)


def migrate(
    connection: sqlite3.Connection, found: int, fill: Callable[[sqlite3.Connection], None] | None = None
) -> None:
    """In one transaction, `fill` with it: a ledger is of one version or of the other, never between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in STEPS[found:]:
            for statement in step:
                connection.execute(statement)
        if fill is not None:
            fill(connection)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


MOST_HISTORY = 10_000


class HeldError(NumafitError):
    """Another lease holds it; nothing was changed."""


class LeaseEvent(msgspec.Struct, frozen=True):
    """Something that happened."""

    number: int
    time: float
    event: str
    """taken, refused, released, freed, moved, adopted, extended, expired, cancelled, rebuilt or planned (for a compose
    file)."""
    lease: str
    user: str
    data: Mapping[str, object] = {}
    """The lease then, or what was refused, as it is stored; empty where that cannot be read."""
    sentence: str = ""
    """Why the lease lies where it does, or why there is none."""
    name: str = ""
    command: str = ""
    reason: str = ""
    """Of a refusal, in one word."""


class Waiting(msgspec.Struct, frozen=True):
    ticket: int
    data: msgspec.Raw


class Transaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.loosened = False
        """Whether somebody who waits may find more than before, or one more waits."""

    def leases(self) -> list[Lease]:
        """In the order they were taken."""
        rows = self._connection.execute("SELECT data FROM leases ORDER BY number").fetchall()
        return [_lease(row[0]) for row in rows]

    def held_cpus(self) -> int:
        """Of all leases."""
        return mask_of(int(name) for (name,) in self._connection.execute("SELECT name FROM claims WHERE kind = 'cpu'"))

    def lease(self, lease_id: str) -> Lease | None:
        row = self._connection.execute("SELECT data FROM leases WHERE id = ?", (lease_id,)).fetchone()
        return _lease(row[0]) if row is not None else None

    def insert(self, lease: Lease) -> None:
        """Raises `HeldError` when another lease holds some of it."""
        try:
            self._connection.execute("INSERT INTO leases (id, data) VALUES (?, ?)", (lease.id, encode_lease(lease)))
        except sqlite3.IntegrityError:
            raise HeldError(f"the lease {lease.id} is in the ledger already") from None
        self._claim(lease)

    def _claim(self, lease: Lease) -> None:
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
        self.loosened = True
        self._connection.execute("UPDATE leases SET data = ? WHERE id = ?", (encode_lease(lease), lease.id))
        held = set(claims(lease))
        listed = self._connection.execute("SELECT kind, name FROM claims WHERE lease = ?", (lease.id,)).fetchall()
        self._connection.executemany(
            "DELETE FROM claims WHERE kind = ? AND name = ?", [tuple(row) for row in listed if tuple(row) not in held]
        )

    def replace(self, lease: Lease) -> None:
        """What it holds may be other things than before. Raises `HeldError`; then nothing of it is held any more."""
        self._unclaim(lease.id)
        self._connection.execute("UPDATE leases SET data = ? WHERE id = ?", (encode_lease(lease), lease.id))
        self._claim(lease)

    def delete(self, lease_id: str) -> None:
        self.loosened = True
        self._connection.execute("DELETE FROM leases WHERE id = ?", (lease_id,))
        self._unclaim(lease_id)

    def _unclaim(self, lease_id: str) -> None:
        self._connection.execute("DELETE FROM claims WHERE lease = ?", (lease_id,))

    # History

    def note(self, event: str, lease: str, user: str, data: object) -> None:
        cursor = self._connection.execute(
            "INSERT INTO history (time, event, lease, user, data) VALUES (?, ?, ?, ?, ?)",
            (time.time(), event, lease, user, msgspec.json.encode(data)),
        )
        if cursor.lastrowid is not None and cursor.lastrowid % 100 == 0:
            self._connection.execute("DELETE FROM history WHERE number <= ?", (cursor.lastrowid - MOST_HISTORY,))

    def history(self, limit: int, before: int | None = None) -> list[LeaseEvent]:
        """Newest first."""
        rows = self._connection.execute(
            "SELECT number, time, event, lease, user, data FROM history WHERE number < ? ORDER BY number DESC LIMIT ?",
            (before if before is not None else 1 << 62, limit),
        ).fetchall()
        return [_event(*row) for row in rows]

    def remembers(self, lease_id: str) -> bool:
        """Whether the lease was in this ledger, as far as the history goes back."""
        row = self._connection.execute("SELECT 1 FROM history WHERE lease = ? LIMIT 1", (lease_id,)).fetchone()
        return row is not None

    # The queue

    def waiting(self) -> list[Waiting]:
        """First come first."""
        rows = self._connection.execute("SELECT ticket, data FROM waiting ORDER BY ticket").fetchall()
        return [Waiting(row[0], msgspec.Raw(row[1])) for row in rows]

    def enqueue(self, data: object) -> int:
        self.loosened = True
        cursor = self._connection.execute("INSERT INTO waiting (data) VALUES (?)", (msgspec.json.encode(data),))
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def is_waiting(self, ticket: int | None = None) -> bool:
        """Whether anybody is, without a ticket."""
        chosen = ("", ()) if ticket is None else (" WHERE ticket = ?", (ticket,))
        return self._connection.execute(f"SELECT 1 FROM waiting{chosen[0]} LIMIT 1", chosen[1]).fetchone() is not None

    def dequeue(self, ticket: int) -> None:
        self.loosened = True
        self._connection.execute("DELETE FROM waiting WHERE ticket = ?", (ticket,))


def _event(number: int, when: float, event: str, lease: str, user: str, stored: bytes) -> LeaseEvent:
    """That something happened is worth a line even if nobody can read what."""
    try:
        data = msgspec.json.decode(stored, type=dict[str, object])
    except ValueError:
        data = {}
    sentence, name, command, reason = (str(data.get(field, "")) for field in ("sentence", "name", "command", "reason"))
    return LeaseEvent(number, when, event, lease, user, data, sentence, name, command, reason)


def _lease(data: bytes) -> Lease:
    try:
        return decode_lease(data)
    except ValueError as error:
        raise _corrupt(str(error)) from None


def _corrupt(reason: str) -> sqlite3.DatabaseError:
    """What SQLite cannot see: it reads well, and makes no sense."""
    return sqlite3.DatabaseError(f"database corruption: {reason}")
