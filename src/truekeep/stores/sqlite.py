"""The embedded backend: one encrypted SQLite file per keep, through apsw-sqlite3mc."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import apsw

from truekeep.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreTampered
from truekeep.stores.base import CARDED, TABLES, EventRow, Row
from truekeep.stores.failures import failure
from truekeep.stores.sqlite_schema import migrate

_TOP_SEQ = 1 << 62
_PAUSE = 0.05
PAGE_BYTES = 8_192
"""Counts for a new file. Six memories fit a page of this size, so that opening reads a quarter less than with half."""
_ERRORS: tuple[tuple[type[apsw.Error], type[StoreError], str], ...] = (
    (apsw.FullError, StoreFull, "The disk is full."),
    (apsw.BusyError, StoreBusy, "Another process is writing to this keep."),
    (apsw.LockedError, StoreBusy, "Another process is writing to this keep."),
    (apsw.ReadOnlyError, StoreReadOnly, "The keep's file cannot be written."),
    (apsw.CantOpenError, StoreReadOnly, "The keep's file cannot be opened."),
    (apsw.PermissionsError, StoreReadOnly, "The keep's file cannot be opened."),
    (apsw.CorruptError, StoreCorrupt, "The keep's file is damaged."),
    (
        apsw.NotADBError,
        StoreCorrupt,
        "The file is not this keep's database, or it was encrypted with another key.",
    ),
    (apsw.SQLError, StoreCorrupt, "The keep's file does not have the tables it should have."),
    (apsw.ConstraintError, StoreTampered, "A row stands where this keep did not put it."),
)


def connect(path: Path, key: bytes, cipher: str, *, busy_seconds: float = 30.0) -> apsw.Connection:
    """An open, unlocked connection to an encrypted file; raises the house's errors."""
    with translated():
        connection = apsw.Connection(str(path))
    try:
        with translated(connection):
            connection.set_busy_timeout(int(busy_seconds * 1000))
            connection.pragma("cipher", cipher)
            connection.pragma("key", f"raw:{key.hex()}")
            connection.pragma("page_size", PAGE_BYTES)
            _set_journal(connection, "wal", time.monotonic() + busy_seconds)
            connection.pragma("synchronous", "full")
            connection.pragma("trusted_schema", 0)
            connection.pragma("secure_delete", 1)
            connection.pragma("schema_version")
            if connection.readonly("main"):
                raise StoreReadOnly("The keep's file cannot be written.")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def translated(connection: apsw.Connection | None = None) -> Iterator[None]:
    """Turn the database library's errors into the house's; the connection knows what the system said."""
    try:
        yield
    except apsw.IOError as error:
        number = connection.system_errno if connection is not None else None
        raise failure(number, "The keep's file could not be read or written.") from error
    except apsw.Error as error:
        for kind, ours, message in _ERRORS:
            if isinstance(error, kind):
                raise ours(message) from error
        raise StoreError("The database reported an error.", hint=type(error).__name__) from error


class SqliteBackend:
    """A keep in one SQLite file: WAL, synchronous=FULL."""

    def __init__(self, connection: apsw.Connection, cipher: str) -> None:
        self._db = connection
        self._cipher = cipher

    @classmethod
    def open(cls, path: Path, key: bytes, cipher: str, *, busy_seconds: float = 30.0) -> SqliteBackend:
        """Open or create the file, and bring its schema up to date."""
        existed = path.exists()
        _make_directory(path.parent)
        connection = connect(path, key, cipher, busy_seconds=busy_seconds)
        try:
            with translated(connection):
                migrate(connection)
        except BaseException:
            connection.close()
            raise
        if not existed:
            path.chmod(0o600)
        return cls(connection, cipher)

    @classmethod
    def alone(cls, path: Path, keys: Sequence[bytes], cipher: str, *, busy_seconds: float) -> SqliteBackend:
        """Open the file with nobody else in it, and encrypted with the first key; it may be with any of them yet."""
        for key in keys[1:]:
            try:
                connection = _alone(path, key, cipher, busy_seconds)
            except StoreCorrupt:
                continue
            with translated(connection):
                # A crash here leaves a journal, from which the next opening with the old key restores the file.
                connection.pragma("rekey", f"raw:{keys[0].hex()}")
                return cls(connection, cipher)
        return cls(_alone(path, keys[0], cipher, busy_seconds), cipher)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A write transaction, immediate so that two writers queue up instead of colliding."""
        with translated(self._db):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if not self._db.get_autocommit():
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A read transaction; inside another one it is part of that."""
        with translated(self._db):
            if not self._db.get_autocommit():
                yield
                return
            self._db.execute("BEGIN")
            try:
                # A deferred transaction pins its view at the first read, not at BEGIN.
                self._db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
                yield
            finally:
                if not self._db.get_autocommit():
                    self._db.execute("ROLLBACK")

    def changes(self) -> int:
        """SQLite's own counter of commits by other connections."""
        return int(self._db.execute("PRAGMA data_version").get)

    def insert(self, table: str, row: Row) -> None:
        """Add a row at its place."""
        self._db.execute(_SQL[table]["insert"], _values(table, row))

    def replace(self, table: str, row: Row) -> None:
        """Put a row in the place of the one with its ``seq``."""
        self._db.execute(_SQL[table]["replace"], (*_values(table, row)[1:], row.seq))

    def remove(self, table: str, seq: int) -> None:
        """Take the row at that place away."""
        self._db.execute(_SQL[table]["remove"], (seq,))

    def next_seq(self, table: str) -> int:
        """The place after the last one; a forged place at the far end does not exhaust the numbers."""
        return int(self._db.execute(_SQL[table]["last"], (_TOP_SEQ,)).get) + 1

    def by_id(self, table: str, row_id: str) -> Row | None:
        """The row of that id."""
        return next(map(_as_row, self._found(_SQL[table]["by_id"], (row_id,))), None)

    def by_seqs(self, table: str, seqs: Sequence[int], *, cards: bool = False) -> list[Row]:
        """The rows at those places."""
        find = _SQL[table]["card_by_seq" if cards else "by_seq"]
        return [_as_row(found) for seq in seqs for found in self._found(find, (seq,))]

    def rows(self, table: str, *, after: int = 0, limit: int | None = None, cards: bool = False) -> Iterator[Row]:
        """Rows in order of place, wherever a foreign one may have been put."""
        bounds = (after if after else -_TOP_SEQ * 2, -1 if limit is None else limit)
        return map(_as_row, self._found(_SQL[table]["card_rows" if cards else "rows"], bounds))

    def tagged(self, table: str, tag: str, limit: int, *, newest: bool = False) -> list[Row]:
        """Rows with exactly that tag."""
        find = _SQL[table]["newest_tagged" if newest else "tagged"]
        return list(map(_as_row, self._found(find, (tag, limit))))

    def tags_among(self, table: str, tags: Sequence[str]) -> set[str]:
        """Those of the tags that a row has."""
        return {tag for (tag,) in self._db.execute(_SQL[table]["tags_among"], (json.dumps(tags),))}

    def count(self, table: str, tag: str | None = None) -> int:
        """How many rows there are."""
        if tag is None:
            return int(self._db.execute(_SQL[table]["count"]).get)
        return int(self._db.execute(_SQL[table]["count_tag"], (tag,)).get)

    def append(self, event: EventRow) -> None:
        """Add a link to the chain."""
        self._db.execute(
            "INSERT INTO events(seq, at, kind, body, state, hash) VALUES (?, ?, ?, ?, ?, ?)",
            (event.seq, event.at, event.kind, event.body, event.state, event.hash),
        )

    def events(self, *, after: int = 0, limit: int | None = None) -> Iterator[EventRow]:
        """Events in order."""
        bounds = (after if after else -_TOP_SEQ * 2, -1 if limit is None else limit)
        return map(_as_event, self._found(f"{_EVENT} WHERE seq > ? ORDER BY seq LIMIT ?", bounds))

    def event(self, seq: int) -> EventRow | None:
        """The event with that number."""
        return next(map(_as_event, self._found(f"{_EVENT} WHERE seq = ?", (seq,))), None)

    def last_event(self) -> EventRow | None:
        """The newest event."""
        return next(map(_as_event, self._found(f"{_EVENT} ORDER BY seq DESC LIMIT 1")), None)

    def has_sound_index(self, table: str, rows: int | None = None) -> bool:
        """Whether the table and its indexes agree, entry by entry or in their numbers."""
        if rows is not None:
            return int(self._db.execute(_SQL[table]["entries"]).get) == rows
        return self._db.execute(_SQL[table]["check"]).fetchall() == [("ok",)]

    def rebuild_index(self, table: str) -> None:
        """Write the table's indexes anew."""
        self._db.execute(_SQL[table]["reindex"])

    def _found(self, statement: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """What a statement finds. One row whose bytes are no text must not keep all others from being read."""
        done = 0
        try:
            for found in self._db.execute(statement, values):
                yield found
                done += 1
        except UnicodeEncodeError:
            return  # asked for with a lone surrogate in it, which nothing stored has
        except UnicodeDecodeError:
            raw = statement.replace(_TEXTS, _RAW_TEXTS).replace(_EVENT_TEXTS, _RAW_EVENT_TEXTS)
            yield from map(_decoded, islice(self._db.execute(raw, values), done, None))

    def scrub(self) -> bool:
        """Write the file anew without free space, and empty the log."""
        with translated(self._db):
            self._db.execute("VACUUM")
            (busy, _, _), *_ = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return not busy

    def describe(self) -> dict[str, str]:
        """Engine, versions, cipher and schema."""
        return {
            "engine": f"SQLite {apsw.sqlite_lib_version()}, apsw-sqlite3mc {apsw.apsw_version()}",
            "cipher": self._cipher,
            "journal": str(self._db.pragma("journal_mode")),
            "schema": str(self._db.pragma("user_version")),
        }

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()


# What a named tuple's own constructor does, without its way through Python: opening a keep makes one of every row.
_as_row = cast("Callable[[Any], Row]", partial(tuple.__new__, Row))
_as_event = cast("Callable[[Any], EventRow]", partial(tuple.__new__, EventRow))
_TEXTS, _EVENT_TEXTS = "id, tag, body", "at, kind, body"
_RAW_TEXTS, _RAW_EVENT_TEXTS = (
    ", ".join(f"CAST({column} AS BLOB)" for column in columns.split(", ")) for columns in (_TEXTS, _EVENT_TEXTS)
)
_EVENT = f"SELECT seq, {_EVENT_TEXTS}, state, hash FROM events"  # noqa: S608 - fixed names


def _statements(table: str) -> dict[str, str]:
    # Table names come from the fixed tuple TABLES; every value is bound.
    card = ", card" if table in CARDED else ""
    row = f"SELECT seq, {_TEXTS}, mac, NULL FROM {table}"  # noqa: S608
    whole = f"SELECT seq, {_TEXTS}, mac{card or ', NULL'} FROM {table}"  # noqa: S608
    return {
        "insert": f"INSERT INTO {table}(seq, id, tag, body, mac{card}) VALUES (?, ?, ?, ?, ?{card and ', ?'})",  # noqa: S608
        "replace": f"UPDATE {table} SET id = ?, tag = ?, body = ?, mac = ?{card and ', card = ?'} WHERE seq = ?",  # noqa: S608
        "remove": f"DELETE FROM {table} WHERE seq = ?",  # noqa: S608
        "last": f"SELECT ifnull(max(seq), 0) FROM {table} WHERE seq BETWEEN 0 AND ?",  # noqa: S608
        "by_id": f"{row} WHERE id = ?",
        "by_seq": f"{row} WHERE seq = ?",
        "card_by_seq": f"{whole} WHERE seq = ?",
        "rows": f"{row} WHERE seq > ? ORDER BY seq LIMIT ?",
        "card_rows": f"{whole} WHERE seq > ? ORDER BY seq LIMIT ?",
        "tagged": f"{row} WHERE tag = ? AND tag <> '' ORDER BY seq LIMIT ?",
        "newest_tagged": f"{row} WHERE tag = ? AND tag <> '' ORDER BY seq DESC LIMIT ?",
        "tags_among": f"SELECT value FROM json_each(?) WHERE EXISTS (SELECT 1 FROM {table} WHERE tag = value AND tag <> '')",  # noqa: E501, S608
        "entries": f"SELECT count(*) FROM {table} INDEXED BY sqlite_autoindex_{table}_1",  # noqa: S608
        "check": f"PRAGMA integrity_check({table})",
        "reindex": f"REINDEX {table}",
        "count": f"SELECT count(*) FROM {table}",  # noqa: S608
        "count_tag": f"SELECT count(*) FROM {table} WHERE tag = ? AND tag <> ''",  # noqa: S608
    }


_SQL = {table: _statements(table) for table in TABLES}


def _values(table: str, row: Row) -> tuple[Any, ...]:
    return row if table in CARDED else row[:5]


def _decoded(found: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row read as bytes; one that is not text was not written here, and gets no seal to be believed by."""
    seq, *texts, seal, rest = found
    try:
        return (seq, *(text.decode() for text in texts), seal, rest)
    except UnicodeDecodeError:
        return (seq, *(text.decode(errors="replace") for text in texts), b"", b"")


def _alone(path: Path, key: bytes, cipher: str, busy_seconds: float) -> apsw.Connection:
    connection = connect(path, key, cipher, busy_seconds=busy_seconds)
    try:
        with translated(connection):
            migrate(connection)
            connection.pragma("locking_mode", "exclusive")
            _leave_shared_log(connection, time.monotonic() + busy_seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def _leave_shared_log(connection: apsw.Connection, until: float) -> None:
    """Possible only for the last one who has the file open."""
    try:
        _set_journal(connection, "delete", until)
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy(
            "Another process has this keep open.", code="keep_in_use", hint="Close it there and try again."
        ) from error


def _set_journal(connection: apsw.Connection, mode: str, until: float) -> None:
    """Wait for whoever has the file for himself, which SQLite's own patience does not do here."""
    while True:
        try:
            connection.pragma("journal_mode", mode)
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _make_directory(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise failure(error.errno, f"The data directory cannot be made: {directory}", StoreReadOnly) from error
