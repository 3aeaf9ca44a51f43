"""The schema in PostgreSQL: two data tables keyed by keep, hash-partitioned, beside the table of keeps.

A keep is an encryption domain, not a schema of its own: a keep more is rows more, and nothing in the catalogue. The
tables belong to a role that the service does not have. Row-level security is forced, and compares the keep of a row
with a setting that lasts as long as a transaction.

``truekeep.migrations`` says which migrations have run. They run one after another, each in a transaction of its own
and under a lock, and wait for no longer than a moment for a table that is in use; whoever serves goes on meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from truekeep.errors import ConfigError, StoreBusy, StoreCorrupt

if TYPE_CHECKING:
    import psycopg

SCHEMA = "truekeep"
PARTITIONS = 16
KEEP_SETTING = "truekeep.keep"
_LOCK = 7_304_182_019
"""The advisory lock under which migrations run; a number that nobody else uses."""
LOCK_PATIENCE = 5_000
"""Milliseconds a migration waits for a table in use: whoever comes after it to that table waits as long."""
_TABLES = ("keeps", "sealed", "events")
_THIS_KEEP = f"keep = nullif(current_setting('{KEEP_SETTING}', true), '')::uuid"

_KEEPS = f"""
CREATE TABLE {SCHEMA}.keeps(
    keep uuid PRIMARY KEY, name text NOT NULL, key text NOT NULL, data_keys integer NOT NULL,
    version bigint NOT NULL DEFAULT 0, epoch bigint NOT NULL DEFAULT 0, writer uuid
) WITH (fillfactor = 50);
"""
_DATA = f"""
CREATE TABLE {SCHEMA}.sealed(
    keep uuid NOT NULL, tbl smallint NOT NULL, seq bigint NOT NULL, id bytea NOT NULL, body bytea NOT NULL,
    mac bytea NOT NULL, card bytea, PRIMARY KEY (keep, tbl, seq), UNIQUE (keep, tbl, id)
) PARTITION BY HASH (keep);
CREATE TABLE {SCHEMA}.events(
    keep uuid NOT NULL, seq bigint NOT NULL, body bytea NOT NULL, state bytea NOT NULL, hash bytea NOT NULL,
    PRIMARY KEY (keep, seq)
) PARTITION BY HASH (keep);
"""


def _secured(table: str) -> str:
    """Nobody but a keep itself sees or changes its rows; which keeps there are, the service has to know."""
    seen = "true" if table == "keeps" else _THIS_KEEP
    changes = "".join(
        f"CREATE POLICY {verb.lower()}_own ON {SCHEMA}.{table} FOR {verb} {clause} ({_THIS_KEEP});\n"
        for verb, clause in (("INSERT", "WITH CHECK"), ("UPDATE", "USING"), ("DELETE", "USING"))
    )
    return (
        f"ALTER TABLE {SCHEMA}.{table} ENABLE ROW LEVEL SECURITY;\n"
        f"ALTER TABLE {SCHEMA}.{table} FORCE ROW LEVEL SECURITY;\n"
        f"CREATE POLICY see_own ON {SCHEMA}.{table} FOR SELECT USING ({seen});\n{changes}"
    )


def _partitions(table: str) -> str:
    """Partitions are secured as well: whoever may read the table may name a part of it."""
    made = "".join(
        f"CREATE TABLE {SCHEMA}.{table}_{number:02} PARTITION OF {SCHEMA}.{table} "
        f"FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {number});\n"
        for number in range(PARTITIONS)
    )
    return made + "".join(_secured(f"{table}_{number:02}") for number in range(PARTITIONS))


_SERVICE = f"""
CREATE TABLE {SCHEMA}.service(
    name text COLLATE "C" PRIMARY KEY, version bigint NOT NULL DEFAULT 1, box bytea NOT NULL,
    at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE {SCHEMA}.service ENABLE ROW LEVEL SECURITY;
ALTER TABLE {SCHEMA}.service FORCE ROW LEVEL SECURITY;
CREATE POLICY of_the_service ON {SCHEMA}.service USING (true) WITH CHECK (true);
"""
"""What service processes share is no keep's. It is secured like every table, and what is in it is sealed."""

MIGRATIONS: tuple[str, ...] = (
    _KEEPS + _DATA + "".join(map(_secured, _TABLES)) + _partitions("sealed") + _partitions("events"),
    _SERVICE,
)
"""One script for each version, in order. A released one is never edited; changes are appended."""

_MAKE = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE IF NOT EXISTS {SCHEMA}.migrations(
    version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()
);
"""
_VERSION = f"SELECT coalesce(max(version), 0) FROM {SCHEMA}.migrations"  # noqa: S608 - fixed names
_GRANTS = f"GRANT USAGE ON SCHEMA {SCHEMA} TO {{role}}; GRANT SELECT ON {SCHEMA}.migrations TO {{role}}; " + "; ".join(
    f"GRANT SELECT, INSERT, UPDATE, DELETE ON {SCHEMA}.{table} TO {{role}}" for table in (*_TABLES, "service")
)


def migrate(connection: psycopg.Connection[Any], role: str = "") -> tuple[int, int]:
    """Bring the database to the newest schema, as the tables' owner. Gives the versions before and after.

    ``role`` gets the rights that the service needs, and none besides. Running it again changes nothing.
    """
    from psycopg import errors, sql  # noqa: PLC0415 - an extra

    with connection.transaction():
        _lock(connection)
        connection.execute(_MAKE.encode())
        before = version(connection)
    require_known(before)
    for number in range(before, len(MIGRATIONS)):
        with connection.transaction():
            _lock(connection)
            if version(connection) == number:  # another process may have been quicker
                connection.execute(MIGRATIONS[number].encode())
                connection.execute(f"INSERT INTO {SCHEMA}.migrations(version) VALUES (%s)".encode(), (number + 1,))  # noqa: S608
    if role:
        with connection.transaction():
            _lock(connection)
            try:
                connection.execute(sql.SQL(_GRANTS).format(role=sql.Identifier(role)))
            except errors.UndefinedObject:
                raise ConfigError(
                    "The database has no such role.",
                    code="role_missing",
                    hint="Make it first: CREATE ROLE … LOGIN NOSUPERUSER NOBYPASSRLS.",
                ) from None
    return before, len(MIGRATIONS)


def _lock(connection: psycopg.Connection[Any]) -> None:
    """One migration at a time; and never one that makes a queue of the service's own statements behind it."""
    connection.execute(f"SET LOCAL lock_timeout = {LOCK_PATIENCE}".encode())
    found = connection.execute("SELECT pg_try_advisory_xact_lock(%s)", (_LOCK,)).fetchone()
    if found is None or not found[0]:
        raise StoreBusy("Another process is migrating this database.", code="migrating", hint="Try again later.")


def version(connection: psycopg.Connection[Any]) -> int:
    """The version of the schema; 0 if there is none."""
    if connection.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.migrations",)).fetchone() == (None,):
        return 0
    found = connection.execute(_VERSION.encode()).fetchone()
    return int(found[0]) if found else 0


def require_current(found: int) -> None:
    """Refuse a database that was not migrated yet."""
    require_known(found)
    if found < len(MIGRATIONS):
        raise StoreCorrupt(
            "The database does not have the tables of this version of truekeep.",
            code="schema_too_old",
            hint="Let the owner of the tables run: truekeep db migrate.",
        )


def require_known(found: int) -> None:
    """Refuse a database that a newer version has migrated."""
    if found > len(MIGRATIONS):
        raise StoreCorrupt(
            "The database was migrated by a newer truekeep.", code="schema_too_new", hint="Upgrade truekeep."
        )


def unsecured(connection: psycopg.Connection[Any]) -> list[str]:
    """The tables on which row-level security is not forced, whatever the reason."""
    found = connection.execute(
        "SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = %s AND c.relkind IN ('r', 'p') AND c.relname <> 'migrations' "
        "AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY 1",
        (SCHEMA,),
    )
    return [str(name) for (name,) in found.fetchall()]
