"""Connections to a PostgreSQL store: a few for all keeps of a process, each lent for the length of a transaction.

Nothing is kept in a session, so a pooler in transaction mode may stand between: no prepared statements, no session
settings, no session locks, no listening. Every new connection is asked what server and role it is before it is used.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors

from truekeep.errors import (
    ConfigError,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreIOError,
    StoreReadOnly,
    StoreTampered,
    StoreUnavailable,
)
from truekeep.stores.postgres_schema import SCHEMA, require_current, unsecured, version

Connection = psycopg.Connection[tuple[Any, ...]]

OLDEST_SERVER = 140_000
MOST_LINES = 16
"""Connections of one process: a transaction is short, and the server's memory is finite."""
_PATIENCE = 10
"""Seconds until a server that does not answer counts as unavailable."""

_ERRORS: tuple[tuple[type[psycopg.Error], type[StoreError], str, str, str], ...] = (
    (errors.DiskFull, StoreFull, "The database server's disk is full.", "store_full", "Free some space there."),
    (
        errors.ReadOnlySqlTransaction,
        StoreReadOnly,
        "The database takes no writes: it is a replica, or was set read-only.",
        "store_on_replica",
        "Let the connection string lead to the primary, as with target_session_attrs=read-write.",
    ),
    (
        errors.InsufficientPrivilege,
        StoreReadOnly,
        "The role lacks rights in the database, or row-level security refused a row.",
        "store_rights_missing",
        "Let the owner of the tables run: truekeep db migrate --role ROLE.",
    ),
    (errors.LockNotAvailable, StoreBusy, "Another process is writing to this keep.", "store_busy", ""),
    (errors.QueryCanceled, StoreBusy, "The database took too long.", "store_slow", "Look at the server's load."),
    (
        errors.IdleInTransactionSessionTimeout,
        StoreUnavailable,
        "The server ended a transaction whose process had stood still, and nothing of it was written.",
        "not_committed",
        "Try again.",
    ),
    (errors.TooManyConnections, StoreBusy, "The database has no connection to spare.", "store_busy", ""),
    (errors.UniqueViolation, StoreTampered, "A row stands where this keep did not put it.", "store_tampered", ""),
    (errors.UndefinedTable, StoreCorrupt, "The database does not have the tables.", "schema_too_old", ""),
    (errors.InvalidSchemaName, StoreCorrupt, "The database does not have the tables.", "schema_too_old", ""),
    (errors.IoError, StoreIOError, "The database server could not read or write.", "store_io_error", ""),
    (errors.DataCorrupted, StoreCorrupt, "The database is damaged.", "store_corrupt", ""),
    (errors.IndexCorrupted, StoreCorrupt, "An index of the database is damaged.", "store_corrupt", ""),
)
_LOST = (psycopg.OperationalError, psycopg.InterfaceError)


def told(error: psycopg.Error) -> StoreError:
    """The house's error for the driver's. What the driver says may quote rows and secrets, and is left out."""
    for kind, ours, message, code, hint in _ERRORS:
        if isinstance(error, kind):
            return ours(message, code=code, hint=hint)
    if isinstance(error, _LOST):
        return StoreUnavailable("The connection to the database was lost.", code="connection_lost")
    return StoreError("The database reported an error.", hint=type(error).__name__)


@contextmanager
def translated() -> Iterator[None]:
    """Turn the driver's errors into the house's."""
    try:
        yield
    except psycopg.Error as error:
        raise told(error) from None


def connect(dsn: str) -> Connection:
    """A connection that holds no state worth losing. Errors never quote the connection string."""
    try:
        psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        raise ConfigError(
            "The setting store is no connection string.",
            code="store_dsn",
            hint="It looks like postgresql://user@host/database; passwords are better in PGPASSWORD or ~/.pgpass.",
        ) from None
    try:
        return psycopg.connect(
            dsn, autocommit=True, prepare_threshold=None, connect_timeout=_PATIENCE, application_name="truekeep"
        )
    except psycopg.Error:
        raise StoreUnavailable("The database cannot be reached, or does not let this role in.") from None


class Lines:
    """The connections of this process to one database."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._free: list[Connection] = []
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST_LINES)
        self.facts: dict[str, str] = {}
        self.is_lax = False
        """Whether the server acknowledges what it has not written; every transaction then asks for better."""

    def take(self, patience: float) -> Connection:
        """A connection for one transaction; give it back."""
        if not self._places.acquire(timeout=patience):
            raise StoreBusy("All connections to the database are in use.", hint="Try again.")
        try:
            with self._lock:
                while self._free:
                    found = self._free.pop()
                    if not found.closed:
                        return found
            return self._made()
        except BaseException:
            self._places.release()
            raise

    def give_back(self, connection: Connection) -> None:
        """Take a connection back. One that is not idle had something happen to it, and is closed."""
        if not connection.closed and connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            with self._lock:
                self._free.append(connection)
        else:
            connection.close()
        self._places.release()

    def drop_idle(self) -> None:
        """Close what nobody uses: after one connection broke, the others lead to the same dead server."""
        with self._lock:
            idle, self._free = self._free, []
        for connection in idle:
            connection.close()

    def _made(self) -> Connection:
        connection = connect(self._dsn)
        try:
            with translated():
                self._require_usable(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_usable(self, connection: Connection) -> None:
        require_server(connection.info.server_version)
        require_role(connection)
        found = version(connection)
        require_current(found)
        if tables := unsecured(connection):
            raise StoreReadOnly(
                f"Row-level security is not forced on {len(tables)} tables.",
                code="row_security_off",
                hint=f"Let the owner run: ALTER TABLE {SCHEMA}.{tables[0]} FORCE ROW LEVEL SECURITY (and ENABLE).",
            )
        shown = connection.execute("SHOW synchronous_commit").fetchone()
        self.is_lax = shown is not None and shown[0] == "off"
        number = connection.info.server_version
        self.facts = {
            "engine": f"PostgreSQL {number // 10_000}.{number % 10_000}, psycopg {psycopg.__version__}",
            "schema": str(found),
        }

    def __del__(self) -> None:
        self.drop_idle()


def require_server(number: int) -> None:
    """Refuse a server that is older than what was tried."""
    if number < OLDEST_SERVER:
        raise StoreCorrupt(
            f"The database server is too old: {number // 10_000}.",
            code="server_too_old",
            hint=f"truekeep needs PostgreSQL {OLDEST_SERVER // 10_000} or newer.",
        )


def require_role(connection: Connection) -> None:
    """Refuse a role for which row-level security is none, or that could take it away."""
    row = connection.execute(
        "SELECT r.rolsuper OR r.rolbypassrls, EXISTS (SELECT FROM pg_catalog.pg_class c "
        "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s "
        "AND pg_catalog.pg_has_role(c.relowner, 'MEMBER')) FROM pg_catalog.pg_roles r WHERE r.rolname = current_user",
        (SCHEMA,),
    ).fetchone()
    bypasses, owns = row if row is not None else (True, True)
    if bypasses:
        raise StoreReadOnly(
            "The role bypasses row-level security.",
            code="role_bypasses_rls",
            hint="Use a role that is NOSUPERUSER NOBYPASSRLS, and that owns nothing.",
        )
    if owns:
        raise StoreReadOnly(
            "The role owns the tables, and could take their protection away.",
            code="role_owns_tables",
            hint="Serve with another role; the owner only migrates: truekeep db migrate --role ROLE.",
        )


_lines: dict[tuple[int, str], Lines] = {}
_lines_lock = threading.Lock()


def lines_to(dsn: str) -> Lines:
    """The lines of this process to a database: a child that was forked must not talk over its parent's."""
    with _lines_lock:
        return _lines.setdefault((os.getpid(), dsn), Lines(dsn))


def forget_lines(dsn: str) -> None:
    """Close this process's idle lines to a database, as before it is dropped."""
    with _lines_lock:
        found = _lines.pop((os.getpid(), dsn), None)
    if found is not None:
        found.drop_idle()
