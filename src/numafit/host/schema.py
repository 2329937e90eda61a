"""The tables of the ledger on disk, and how an older ledger becomes a newer one."""

import sqlite3
from collections.abc import Callable

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
