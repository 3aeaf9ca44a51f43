"""The SQLite schema, its migrations, and the check that a file has exactly this schema and nothing beside it.

Whoever holds a file and its encryption key can plant triggers, views, further indexes, generated columns or
constraints in it, all of which would run inside the keep's own transactions. So nothing of a schema is used before
every statement in it was compared with the ones below. ``user_version`` says which migrations have run; each runs once
in one transaction.
"""

from __future__ import annotations

from collections.abc import Set
from functools import cache
from typing import Any, NamedTuple

import apsw

from truekeep.errors import StoreCorrupt, StoreTampered
from truekeep.stores.base import CARDED, TABLES
from truekeep.stores.chain import ACCEPT

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

Migrations = tuple[str, ...]
_FIRST = 20
"""How many of the tables 0.1.0 made; the others came one by one."""
MIGRATIONS: Migrations = (
    "".join(_SEALED.format(table=name, card=", card BLOB" if name in CARDED else "") for name in TABLES[:_FIRST])
    + _EVENTS,
    _SEALED.format(table="grants", card=""),
    _SEALED.format(table="entries", card=""),
)
"""One script for each schema version, in order. A released one is never edited; changes are appended."""

_OBJECTS = "SELECT type, name, tbl_name, sql, rootpage FROM sqlite_schema"


class SchemaObject(NamedTuple):
    """A table or index as the schema lists it; the statement is none for an index that a constraint makes."""

    kind: str
    name: str
    table: str
    statement: str | None


def migrate(connection: apsw.Connection, migrations: Migrations = MIGRATIONS) -> None:
    """Bring the file to the newest schema. What it has must be a released one to the letter; nothing is guessed at."""
    if _version(connection) == len(migrations):
        require_schema(connection, migrations)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)
        require_schema(connection, migrations[:version])
        for script in migrations[version:]:
            connection.execute(script)
        connection.pragma("user_version", len(migrations))
        connection.execute("COMMIT")
    except BaseException:
        if not connection.get_autocommit():
            connection.execute("ROLLBACK")
        raise


def require_schema(connection: apsw.Connection, migrations: Migrations = MIGRATIONS) -> None:
    """Refuse a file whose schema is not to the letter what these migrations make."""
    if _version(connection) > len(MIGRATIONS) and migrations == MIGRATIONS:
        raise StoreCorrupt(
            "The keep's file was written by a newer truekeep.", code="schema_too_new", hint="Upgrade truekeep."
        )
    if faults := schema_faults(connection, migrations):
        raise StoreTampered(
            f"The database's schema was altered: {', '.join(faults)}.",
            code="schema_altered",
            hint=f"Put a good copy of the data directory back. {ACCEPT}",
            where="the database's schema",
            since="nobody can know: a schema can change what is written and read",
        )


def schema_faults(connection: apsw.Connection, migrations: Migrations = MIGRATIONS) -> list[str]:
    """What in a file's schema is not what these migrations make. Names in it that are not ours are not repeated."""
    wanted = expected(migrations)
    try:
        rows: list[Any] = connection.execute(_OBJECTS).fetchall()
    except UnicodeDecodeError:
        return ["names or statements in it are no text"]
    found = {SchemaObject(*row[:4]): row[4] for row in rows}
    # No two objects lie in the same pages, and none in those of the schema itself.
    apart = len({place for place in found.values() if isinstance(place, int) and place > 1}) == len(rows)
    if apart and found.keys() == wanted and connection.pragma("application_id") == 0:
        return []
    return _told(found.keys(), wanted) or ["what lies where, or what the file says it is"]


def _told(found: Set[SchemaObject], wanted: Set[SchemaObject]) -> list[str]:
    """The differences, for people."""
    ours, theirs = ({(one.kind, one.name) for one in objects} for objects in (wanted, found))
    changed = {(one.kind, one.name) for one in wanted - found} & theirs
    strange = f"{len(theirs - ours)} objects that this keep did not make"
    return [
        *([strange] if theirs - ours else ()),
        *(f"the {kind} {name} is missing" for kind, name in sorted(ours - theirs)),
        *(f"the {kind} {name} is defined otherwise" for kind, name in sorted(changed)),
    ]


def mend_schema(connection: apsw.Connection) -> list[str]:
    """Write the schema down as it should be, over the same pages, in the transaction that is open; gives the faults.

    Rows are not touched: what they are worth is decided by their seals. Pages that were laid out for another
    definition do not read as rows, and a table that is gone has none.
    """
    faults = schema_faults(connection)
    if not faults:
        return []
    wanted = _made_by(MIGRATIONS)
    places = dict(connection.execute("SELECT type || ' ' || name, rootpage FROM sqlite_schema"))
    kept = [one for one in wanted if f"{one.kind} {one.name}" in places]
    rows = [(*one, places[f"{one.kind} {one.name}"]) for one in kept]
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        connection.execute("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema")
        connection.executemany(
            "INSERT INTO sqlite_schema(type, name, tbl_name, sql, rootpage) VALUES (?, ?, ?, ?, ?)", rows
        )
        connection.pragma("schema_version", int(connection.pragma("schema_version")) + 1)
        connection.execute("PRAGMA writable_schema = RESET")
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    for one in wanted:
        if one not in kept and one.statement:
            connection.execute(one.statement)
    connection.pragma("application_id", 0)
    connection.pragma("user_version", len(MIGRATIONS))
    require_schema(connection)
    return faults


@cache
def expected(migrations: Migrations) -> frozenset[SchemaObject]:
    """What these migrations make of an empty file."""
    return frozenset(_made_by(migrations))


@cache
def _made_by(migrations: Migrations) -> tuple[SchemaObject, ...]:
    connection = apsw.Connection(":memory:")
    try:
        for script in migrations:
            connection.execute(script)
        return tuple(SchemaObject(*row[:4]) for row in connection.execute(_OBJECTS))
    finally:
        connection.close()


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))
