"""The anchor in a PostgreSQL table to which rows are only ever added.

Meant for a role that may select and insert, and neither update nor delete: whoever rolls the store back with that role
in hand cannot take the newest head away. All keeps of a process share one connection to a database.

A keep's heads are found by a digest that its key makes. That key is in the store, which may be put back to a time
before the keep was: so one more row says under the keep's name whose heads are its, and a keep made anew does not pass
for it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from typing import Any
from weakref import WeakValueDictionary

import psycopg

from truekeep.errors import AnchorUnavailable
from truekeep.stores.anchor import AnchorHead, AnchorRecords, newest_of

TABLE = "truekeep_anchors"
MAKE = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
    anchor text NOT NULL, term integer NOT NULL, seq bigint NOT NULL, record bytea NOT NULL,
    PRIMARY KEY (anchor, term, seq)
)"""
_NEWEST = (
    f"SELECT term, seq, record FROM {TABLE} WHERE anchor = %s AND %s = "  # noqa: S608
    f"coalesce((SELECT o.record FROM {TABLE} o WHERE o.anchor = %s ORDER BY o.seq DESC LIMIT 1), %s) "
    "ORDER BY term DESC, seq DESC LIMIT 64"
)
"""The heads of a keep, unless its name has gone to another one, or to none."""
_ADD = f"INSERT INTO {TABLE} (anchor, term, seq, record) VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"  # noqa: S608
_REMOVE = f"DELETE FROM {TABLE} WHERE anchor = ANY(%s)"  # noqa: S608
_LAST = f"SELECT max(seq) FROM {TABLE} WHERE anchor = %s"  # noqa: S608
_OWNER = f"SELECT seq, record FROM {TABLE} WHERE anchor = %s ORDER BY seq DESC LIMIT 1"  # noqa: S608
_OPTIONS = "-c synchronous_commit=on -c statement_timeout=10000"
_PATIENCE = 10
"""Seconds until a server that does not answer counts as unavailable."""


class PostgresAnchor:
    """Rows of one table; the newest whose MAC holds is the head. A row names its keep by a keyed digest only."""

    def __init__(self, dsn: str, key: bytes, name: str, keep: str) -> None:
        self.name = name
        self._line = _line(dsn)
        self._records = AnchorRecords(key)
        self._id = hmac.digest(key, b"anchor in a database", "sha256").hex()[:32]
        self._place = "keep " + hashlib.sha256(b"truekeep anchor of\x1f" + keep.encode()).hexdigest()[:32]
        self._is_registered = False

    def create(self) -> None:
        """Make the table, where there is none, and the row of a keep in which nothing has happened yet."""
        if self._ask("SELECT to_regclass(%s)", TABLE) == [(None,)]:
            self._ask(MAKE)
        self._register()
        if self.read() is None:
            self._insert(AnchorHead(0, bytes(32)))

    def claimed(self) -> int:
        """The newest event of whichever keep had this name last."""
        _, owner = self._owner()
        found = self._ask(_LAST, owner) if owner else []
        return int(found[0][0] or 0) if found else 0

    def _owner(self) -> tuple[int, str]:
        """Whose heads those of the keep of this name are, and how many there were before; nobody's once it is gone."""
        try:
            found = self._ask(_OWNER, self._place)
        except psycopg.errors.UndefinedTable:
            found = []
        return (int(found[0][0]), bytes(found[0][1]).decode()) if found else (-1, "")

    def _register(self) -> None:
        """Say under the keep's name that these heads are its: once for every keep that has had the name."""
        number, owner = self._owner()
        if owner != self._id:
            self._ask(_ADD, self._place, 0, number + 1, self._id.encode())
        self._is_registered = True

    def read(self) -> AnchorHead | None:
        """The newest head that was anchored, or none if nothing genuine is there."""
        owner = self._id.encode()
        try:
            return newest_of(self._genuine(*row) for row in self._ask(_NEWEST, self._id, owner, self._place, owner))
        except psycopg.errors.UndefinedTable:
            return None

    def advance(self, head: AnchorHead) -> None:
        """Add ``head``, unless it or a later one is there."""
        known = self.read()
        if known is None:
            raise AnchorUnavailable(f"The anchor is not in its database any more: {self.name}")
        if not self._is_registered:
            self._register()
        if known.seq < head.seq:
            self._insert(AnchorHead(head.seq, head.hash, head.at, known.term))

    def restart(self, head: AnchorHead) -> None:
        """Begin a new term at ``head``."""
        self.create()
        known = self.read()
        self._insert(AnchorHead(head.seq, head.hash, head.at, (known.term if known else 0) + 1))

    def remove(self) -> None:
        """Take the rows away, where the role may; rows that stay say nothing about content.

        The keep's key may be gone already, so they are found by its name.
        """
        number, owner = self._owner()
        try:
            self._ask(_REMOVE, [self._id, owner, self._place])
        except psycopg.errors.InsufficientPrivilege:
            self._ask(_ADD, self._place, 0, number + 1, b"")
        except psycopg.errors.UndefinedTable:
            return

    def close(self) -> None:
        """The connection is closed with the last anchor that uses it."""

    def _genuine(self, term: int, seq: int, record: bytes) -> AnchorHead | None:
        """Old records that were added again under high numbers must not crowd the newest out."""
        head = self._records.unpack(bytes(record))
        return head if head is not None and (head.term, head.seq) == (term, seq) else None

    def _insert(self, head: AnchorHead) -> None:
        self._ask(_ADD, self._id, head.term, head.seq, self._records.pack(head))

    def _ask(self, query: str, *given: Any) -> list[tuple[Any, ...]]:
        try:
            return self._line.ask(query, given)
        except (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege):
            if query in (_NEWEST, _REMOVE, _OWNER):
                raise
            raise AnchorUnavailable(f"The anchor's table cannot be written: {self.name}") from None
        except psycopg.Error as error:
            # What the driver says may quote the connection string, so it is not passed on.
            raise AnchorUnavailable(
                f"The anchor's database did not answer: {self.name}", hint=type(error).__name__
            ) from None


class _Line:
    """One connection to a database, opened again when it was lost."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def ask(self, query: str, given: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self._lock:
            is_old = self._connection is not None
            try:
                return self._run(query, given)
            except (psycopg.OperationalError, psycopg.InterfaceError):
                self._drop()
                if not is_old:
                    raise
                return self._run(query, given)  # nothing here does harm when it is done twice

    def _run(self, query: str, given: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._dsn, autocommit=True, connect_timeout=_PATIENCE, options=_OPTIONS, application_name="truekeep"
            )
        # Plain bytes: the queries are this module's own, and what varies is bound.
        cursor = self._connection.execute(query.encode(), given)
        return cursor.fetchall() if cursor.description else []

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __del__(self) -> None:
        self._drop()


_lines: WeakValueDictionary[tuple[int, str], _Line] = WeakValueDictionary()
_lines_lock = threading.Lock()


def _line(dsn: str) -> _Line:
    """The line of this process to a database: a child that was forked must not talk over its parent's."""
    with _lines_lock:
        found = _lines.get((os.getpid(), dsn))
        if found is None:
            found = _lines[os.getpid(), dsn] = _Line(dsn)
        return found
