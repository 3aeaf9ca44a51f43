"""The embedded backend: one encrypted SQLite file per keep, through apsw-sqlite3mc."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import apsw

from truekeep import disk
from truekeep.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly, StoreTampered
from truekeep.stores.base import CARDED, TABLES, EventRow, Row, failure
from truekeep.stores.sqlite_schema import mend_schema, migrate, require_schema

_TOP_SEQ = 1 << 62
_PAUSE = 0.05
_OPEN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOFOLLOW
_BESIDE = ("-wal", "-shm", "-journal")
PAGE_BYTES = 8_192
"""Counts for a new file. Six memories fit a page of this size, so that opening reads a quarter less than with half."""
_SWITCHES = (
    (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
    (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
    (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_FKEY, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0),
    (apsw.SQLITE_DBCONFIG_DQS_DDL, 0),
    (apsw.SQLITE_DBCONFIG_DQS_DML, 0),
)
"""Whoever plants something in a file must not have it run by us."""
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
        connection = apsw.Connection(str(_plain(path)), flags=_OPEN)
    try:
        with translated(connection):
            _harden(connection)
            connection.set_busy_timeout(int(busy_seconds * 1000))
            connection.pragma("cipher", cipher)
            connection.pragma("key", f"raw:{key.hex()}")
            connection.pragma("page_size", PAGE_BYTES)
            _set_journal(connection, "wal", time.monotonic() + busy_seconds)
            connection.pragma("synchronous", "full")
            connection.pragma("cell_size_check", 1)
            connection.pragma("secure_delete", 1)
            connection.pragma("schema_version")
            if connection.readonly("main"):
                raise StoreReadOnly("The keep's file cannot be written.")
    except BaseException:
        connection.close()
        raise
    return connection


def _harden(connection: apsw.Connection) -> None:
    """Let nothing that a file brings with it run or be read. Its schema is compared as well; this holds meanwhile."""
    for switch, state in _SWITCHES:
        connection.config(switch, state)


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

    def __init__(self, connection: apsw.Connection, cipher: str, *, is_checked: bool = True) -> None:
        self._db = connection
        self._cipher = cipher
        self._is_checked = is_checked
        self._seen: tuple[int, int] | None = None
        """SQLite's counters of others' commits and of schemas, when the schema was last compared."""

    @classmethod
    def open(
        cls, path: Path, key: bytes, cipher: str, *, busy_seconds: float = 30.0, is_checked: bool = True
    ) -> SqliteBackend:
        """Open or create the file, and bring its schema up to date.

        Without ``is_checked`` an altered schema is not refused; nothing can be asked of it before it is mended.
        """
        _make(path)
        connection = connect(path, key, cipher, busy_seconds=busy_seconds)
        try:
            with translated(connection):
                if is_checked:
                    migrate(connection)
        except BaseException:
            connection.close()
            raise
        return cls(connection, cipher, is_checked=is_checked)

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
                self._require_schema()
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
                self._require_schema()
                yield
            finally:
                if not self._db.get_autocommit():
                    self._db.execute("ROLLBACK")

    def _require_schema(self) -> None:
        """Another process may have changed the schema since the last transaction, or said that it had not."""
        seen = int(self._db.execute("PRAGMA schema_version").get), self.changes()
        if seen != self._seen and self._is_checked:
            require_schema(self._db)
        self._seen = seen

    def mend(self) -> list[str]:
        """Put the schema back as it should be, inside a write transaction; says what was not."""
        faults = mend_schema(self._db)
        self._is_checked = True
        return faults

    def changes(self) -> int:
        """SQLite's own counter of commits by other connections."""
        return int(self._db.execute("PRAGMA data_version").get)

    def insert(self, table: str, row: Row) -> None:
        """Add a row at its place."""
        self._db.execute(_SQL[table]["insert"], _values(table, row))

    def replace(self, table: str, row: Row) -> None:
        """Put a row in the place of the one with its ``seq``."""
        self._db.execute(_SQL[table]["replace"], (*_values(table, row)[1:], row.seq))
        if self._db.changes() != 1:
            where = f"{table} row {row.seq}"
            raise StoreTampered(f"A row is missing from the store: {where}.", code="rows_missing", where=where)

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

    def glance(self, changes: int, seq: int, link: bytes, table: str, seqs: Sequence[int]) -> list[Row] | None:
        """The rows at those places, if nothing has changed."""
        with self.reading():
            newest = self._db.execute(_NEWEST).fetchone() or (0, link)
            return self.by_seqs(table, seqs) if (self.changes(), *newest) == (changes, seq, link) else None

    def rows(self, table: str, *, after: int = 0, limit: int | None = None, cards: bool = False) -> Iterator[Row]:
        """Rows in order of place, wherever a foreign one may have been put."""
        bounds = (after if after else -_TOP_SEQ * 2, -1 if limit is None else limit)
        return map(_as_row, self._found(_SQL[table]["card_rows" if cards else "rows"], bounds))

    def count(self, table: str) -> int:
        """How many rows there are."""
        return int(self._db.execute(_SQL[table]["count"]).get)

    def append(self, event: EventRow) -> None:
        """Add a link to the chain."""
        self._db.execute(
            "INSERT INTO events(seq, at, kind, body, state, hash) VALUES (?, ?, ?, ?, ?, ?)",
            (event.seq, event.at, event.kind, event.body, event.state, event.hash),
        )

    def restate(self, event: EventRow) -> None:
        """Give the event of that number another body."""
        self._db.execute("UPDATE events SET body = ? WHERE seq = ?", (event.body, event.seq))

    def drop_events(self) -> None:
        """Take the whole chain away."""
        self._db.execute("DELETE FROM events")

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

    def has_sound_index(self, table: str) -> bool:
        """Whether the table and its indexes agree, entry by entry."""
        return self._db.execute(_SQL[table]["check"]).fetchall() == [("ok",)]

    def is_whole(self) -> bool:
        """Whether every page that the file says it has is there and readable, those that hold nothing too."""
        with translated(self._db):
            return self._db.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]

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

_NEWEST = "SELECT seq, hash FROM events ORDER BY seq DESC LIMIT 1"


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
        "check": f"PRAGMA integrity_check({table})",
        "reindex": f"REINDEX {table}",
        "count": f"SELECT count(*) FROM {table}",  # noqa: S608
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


def leave_log(backend: SqliteBackend) -> None:
    """Bring everything into the one file, which is then complete by itself."""
    with translated(backend._db):
        backend._db.pragma("journal_mode", "delete")


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


def _make(path: Path) -> None:
    """Make the file before the engine does: its log and shared memory get the mode that it has when they are made."""
    try:
        disk.make_directory(path.parent)
        disk.create(path)
    except OSError as error:
        raise failure(error.errno, f"The keep's file cannot be made in {path.parent}.", StoreReadOnly) from error


def _plain(path: Path) -> Path:
    """The path of a file that the engine may open: it and what lies beside it are regular files of ours, or not there.

    The engine itself follows no link from here on. Links that lead to the directory are the operator's own.
    """
    place = path.parent.resolve() / path.name
    beside = [place.with_name(place.name + end) for end in _BESIDE]
    try:
        disk.require_plain(place)
        for file in beside:
            disk.require_plain(file)
            disk.make_private(file)
    except OSError as error:
        raise StoreTampered(
            "Something that is no file of this keep stands where one should be.",
            code="not_a_file",
            hint=f"Look into {path.parent}, and take away what is a link or somebody else's.",
            where=path.name,
        ) from error
    return place
