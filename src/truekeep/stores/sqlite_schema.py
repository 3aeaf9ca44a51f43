"""The SQLite schema and its migrations: ``user_version`` says which have run, each runs once in one transaction."""

from __future__ import annotations

import apsw

from truekeep.errors import StoreCorrupt
from truekeep.stores.base import CARDED, TABLES

_SEALED = """
CREATE TABLE {table}(
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, tag TEXT NOT NULL, body TEXT NOT NULL, mac BLOB NOT NULL{card}
) STRICT;
CREATE INDEX {table}_tag ON {table}(tag) WHERE tag <> '';
"""

_EVENTS = """
CREATE TABLE events(
    seq INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL,
    state BLOB NOT NULL, hash BLOB NOT NULL
) STRICT;
"""

MIGRATIONS: tuple[str, ...] = (
    "".join(_SEALED.format(table=table, card=", card BLOB" if table in CARDED else "") for table in TABLES) + _EVENTS,
)
"""One script for each schema version, in order. A released one is never edited; changes are appended."""


def migrate(connection: apsw.Connection, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Bring the file to the newest schema; a file from a newer truekeep is refused, not guessed at."""
    if _version(connection) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        if version > len(migrations):
            raise StoreCorrupt(
                "The keep's file was written by a newer truekeep.",
                code="schema_too_new",
                hint="Upgrade truekeep.",
            )
        for script in migrations[version:]:
            connection.execute(script)
        connection.pragma("user_version", len(migrations))
        connection.execute("COMMIT")
    except BaseException:
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")
        raise


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))
