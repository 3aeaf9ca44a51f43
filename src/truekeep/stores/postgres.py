"""The backend for keeps in PostgreSQL: many keeps in shared tables, each closed to all others and to the server.

One writer per keep: a write begins by changing the keep's own row, and the row's lock is its lease. It ends with the
transaction, and the server ends a transaction whose process has stopped; no clock of ours is asked. Whoever writes next
sees by the row's version that others wrote, and verifies what they wrote under the same lock.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count as counting
from typing import TYPE_CHECKING, Any

import psycopg

from truekeep.errors import CommitUnknown, KeyUnavailable, StoreError, StoreTampered, StoreUnavailable
from truekeep.stores import postgres_statements as sql
from truekeep.stores.base import CARDED, TABLES, EventRow, Row
from truekeep.stores.postgres_cipher import Boxes
from truekeep.stores.postgres_lines import Connection, Lines, lines_to, told, translated
from truekeep.stores.postgres_wire import Answer, ask, commit, data, number, run

if TYPE_CHECKING:
    from truekeep.stores.keys import KeepKeys

_TOP_SEQ = 1 << 62
_CHUNK = 4_000
"""Rows that are fetched at once: some ten megabytes."""
_EVENT_PART = "events"
_CARDS = {table: f"{table}\x1fcard" for table in TABLES}


def place_of(name: str) -> uuid.UUID:
    """Where a keep of that name lies: the same in every process, so that there cannot be two."""
    return uuid.UUID(bytes=hashlib.sha256(b"truekeep keep\x1f" + name.encode()).digest()[:16])


class PostgresBackend:
    """One keep in the shared tables. It holds a connection only while a transaction is open."""

    def __init__(self, dsn: str, name: str, keys: KeepKeys, *, busy_seconds: float = 30.0) -> None:
        self._lines: Lines = lines_to(dsn)
        self._keep = place_of(name)
        self._boxes = Boxes(keys)
        self._keys = keys
        self._busy = busy_seconds
        self._me = uuid.uuid4()
        self._patience = max(1, int(busy_seconds * 1000))
        self._view = sql.view(self._keep, self._patience).encode()
        self._line: Connection | None = None
        self._version = self._own = 0
        """The keep's version as the last transaction found it, and how much of it are this connection's commits."""
        self._newest: EventRow | None = None
        self._is_newest_known = False
        self._next: dict[str, int] = {}
        self._counts: dict[int, int] | None = None
        """How many rows each table has, asked for all of them at once; none when something changed since."""
        self._filled: frozenset[int] | None = None
        """The tables that have rows, asked for all of them at once."""

    # Transactions

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A write transaction that begins with the lock on the keep's row."""
        line = self._begun(partial(self._lock, self._me))
        try:
            with translated():
                yield
            self._commit(line)
        finally:
            self._counts = self._filled = None
            self._ended(line)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One view; inside another transaction it is part of that."""
        if self._line is not None:
            yield
            return
        line = self._begun(self._look)
        try:
            with translated():
                yield
        finally:
            self._ended(line)

    def _look(self, line: Connection) -> None:
        """Begin a view, in one message that also asks for the keep's version and how its chain ends."""
        (found,) = run(line, self._view)
        self._adopt(found)
        newest = self._newest
        known = (newest.seq, newest.hash) if newest is not None else (0, b"")
        self._is_newest_known = known == (number(found[0][2]), data(found[0][3]))

    def _lock(self, writer: uuid.UUID | None, line: Connection) -> None:
        """Begin a write in one message: which keep it is about, the lock on its row, and the newest event."""
        script = sql.lock(self._keep, self._patience, writer, is_lax=self._lines.is_lax)
        state, newest = run(line, script.encode())
        self._adopt(state)
        found = [self._event(number(seq), *map(data, rest)) for seq, *rest in newest]
        self._newest, self._is_newest_known = (found[0] if found else None), True

    def _begun(self, begin: Callable[[Connection], None]) -> Connection:
        """Begin a transaction, on a fresh connection if an idle one has died."""
        for is_last in (False, True):
            line = self._lines.take(self._busy)
            try:
                begin(line)
            except psycopg.Error as error:
                self._give_up(line)
                # An idle connection may have died since it was used last; nothing has been done on it yet.
                if is_last or not isinstance(error, psycopg.OperationalError) or error.sqlstate in _ANSWERS:
                    raise told(error) from None
                self._lines.drop_idle()
            except BaseException:
                self._give_up(line)
                raise
            else:
                self._line = line
                return line
        raise StoreUnavailable("The connection to the database was lost.")

    def _adopt(self, state: Sequence[Answer]) -> None:
        if not state:
            raise KeyUnavailable(
                "This keep is not in the database any more.", code="key_missing", hint="It was destroyed, or moved."
            )
        version, data_keys = map(number, state[0][:2])
        if data_keys != len(self._keys.epochs):
            raise KeyUnavailable(
                "The keep's data key was rotated by another process.",
                code="keys_rotated",
                hint="Open the keep again.",
            )
        if version != self._version:
            self._counts = self._filled = None
        self._version = version
        self._next.clear()

    def _commit(self, line: Connection) -> None:
        try:
            is_sure = commit(line)
        except psycopg.Error as error:
            if not isinstance(error, psycopg.OperationalError) or error.sqlstate in _ANSWERS:
                raise told(error) from None
            is_sure = False
        if not is_sure:
            self._require_written()
        self._own += 1

    def _require_written(self) -> None:
        """The connection broke in the middle of a commit: ask the server what became of it, by the event's hash.

        The keep's row is locked for the question, so that a commit that is still under way is waited for. What is there
        may not have reached a standby yet, as when the server ended the connection that waited for one. So the question
        is committed as well, and waits in its turn.
        """
        wanted, version = self._newest, self._version + 1
        self._line = None
        self._lines.drop_idle()
        try:
            line = self._begun(partial(self._lock, None))
            try:
                found = self._stored(wanted.seq) if wanted is not None else None
                is_there = wanted is not None and found is not None and found.hash == wanted.hash
                is_there = is_there and self._version >= version
                is_sure = not is_there or commit(line)
            finally:
                self._ended(line)
        except (StoreError, psycopg.Error):
            is_there = is_sure = False
        if not is_sure:
            raise CommitUnknown("The database went away in the middle of a commit.")
        if not is_there:
            raise StoreUnavailable(
                "The connection was lost before the commit, and nothing of it was written.",
                code="not_committed",
                hint="Try again.",
            )

    def _ended(self, line: Connection) -> None:
        """End what is open, and give the line back; a line that broke ends by itself."""
        if self._line is line:
            self._line = None
        self._is_newest_known = False
        self._give_up(line)

    def _give_up(self, line: Connection) -> None:
        try:
            if not line.closed and line.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                run(line, b"ROLLBACK")
        except psycopg.Error:
            line.close()
        self._lines.give_back(line)

    def changes(self) -> int:
        """The keep's version without this connection's own commits."""
        with self.reading():
            return self._version - self._own

    # Rows

    def insert(self, table: str, row: Row) -> None:
        """Add a row at its place."""
        self._do(sql.INSERT, (self._keep, sql.NUMBERS[table], row.seq, *self._closed(table, row)))
        self._counts = self._filled = None
        if table in self._next:
            self._next[table] = max(self._next[table], row.seq + 1)

    def replace(self, table: str, row: Row) -> None:
        """Put a row in the place of the one with its ``seq``."""
        done = self._do(sql.REPLACE, (*self._closed(table, row), self._keep, sql.NUMBERS[table], row.seq))
        if done != 1:
            where = f"{table} row {row.seq}"
            raise StoreTampered(f"A row is missing from the store: {where}.", code="rows_missing", where=where)

    def remove(self, table: str, seq: int) -> None:
        """Take the row at that place away."""
        self._next.pop(table, None)
        self._counts = None
        self._do(sql.REMOVE, (self._keep, sql.NUMBERS[table], seq))

    def next_seq(self, table: str) -> int:
        """The place after the last one; a forged place at the far end does not exhaust the numbers."""
        if table not in self._next:
            ((last,),) = self._ask(sql.LAST, (self._keep, sql.NUMBERS[table], _TOP_SEQ))
            if self._line is None:
                return int(last) + 1
            self._next[table] = int(last) + 1
        return self._next[table]

    def by_id(self, table: str, row_id: str) -> Row | None:
        """The row of that id."""
        found = self._ask(sql.BY_ID, (self._keep, sql.NUMBERS[table], self._boxes.digest(table, row_id)))
        return self._opened(table, *found[0]) if found else None

    def by_seqs(self, table: str, seqs: Sequence[int], *, cards: bool = False) -> list[Row]:
        """The rows at those places."""
        if not seqs:
            return []
        found = self._ask(sql.BY_SEQS[cards and table in CARDED], (self._keep, sql.NUMBERS[table], list(seqs)))
        rows = {row[0]: row for row in found}
        # In the order in which they were asked for: the server's own changes with every update.
        return [self._opened(table, *rows[seq]) for seq in seqs if seq in rows]

    def glance(self, changes: int, seq: int, link: bytes, table: str, seqs: Sequence[int]) -> list[Row] | None:
        """The rows at those places if nothing has changed: one message, which is a view of its own."""
        line = self._lines.take(self._busy)
        try:
            state, *found = run(line, sql.glance(self._keep, self._patience, table, seqs).encode())
        except psycopg.Error:
            return None  # what is wrong will be told by the view that is asked for next
        finally:
            self._lines.give_back(line)
        known = (changes + self._own, len(self._keys.epochs), seq, link if seq else b"")
        if [(*map(number, one[:3]), data(one[3])) for one in state] != [known]:
            return None
        rows = {number(place): (data(body), data(mac)) for place, body, mac in (found[0] if seqs else ())}
        return [self._opened(table, place, *rows[place]) for place in seqs if place in rows]

    def rows(self, table: str, *, after: int = 0, limit: int | None = None, cards: bool = False) -> Iterator[Row]:
        """Rows in order of place, wherever a foreign one may have been put."""
        statement, given = sql.ROWS[cards and table in CARDED], (self._keep, sql.NUMBERS[table])
        if not self._has_rows(table):
            return
        for row in self._paged(statement, given, after, limit):
            yield self._opened(table, *row)

    def _has_rows(self, table: str) -> bool:
        """Most tables of a keep are empty, and one question tells which."""
        if self._filled is None:
            self._filled = frozenset(number for (number,) in self._ask(sql.FILLED, (self._keep,)))
        return sql.NUMBERS[table] in self._filled

    def count(self, table: str) -> int:
        """How many rows there are."""
        with self.reading():
            if self._counts is None:
                self._counts = {int(number): int(found) for number, found in self._ask(sql.COUNT, (self._keep,))}
            return self._counts.get(sql.NUMBERS[table], 0)

    def _closed(self, table: str, row: Row) -> tuple[bytes, bytes, bytes, bytes | None]:
        card = row.card if table in CARDED else None
        return (
            self._boxes.digest(table, row.id),
            self._boxes.close(table, row.seq, row.id, row.tag, row.body),
            row.mac,
            self._boxes.close(_CARDS[table], row.seq, data=card) if card is not None else None,
        )

    def _opened(self, table: str, seq: int, box: bytes, mac: bytes, card: bytes | None = None) -> Row:
        """A row as it was written. One that does not open was not written here, and gets no seal to be believed by."""
        texts = self._boxes.texts(table, seq, box)
        if texts is None:
            return Row(seq, f"unreadable-{seq}", "", "{}", b"")
        if card is None:
            return Row(seq, *texts, mac, None)
        return Row(seq, *texts, mac, self._boxes.open(_CARDS[table], seq, card) or b"")

    # Events

    def append(self, event: EventRow) -> None:
        """Add a link to the chain."""
        box = self._boxes.close(_EVENT_PART, event.seq, event.at, event.kind, event.body)
        self._do(sql.APPEND, (self._keep, event.seq, box, event.state, event.hash))
        self._newest, self._is_newest_known = event, True

    def restate(self, event: EventRow) -> None:
        """Give the event of that number another body."""
        known = self._stored(event.seq)
        if known is not None:
            box = self._boxes.close(_EVENT_PART, event.seq, known.at, known.kind, event.body)
            self._do(sql.RESTATE, (box, self._keep, event.seq))
            self._is_newest_known = False

    def drop_events(self) -> None:
        """Take the whole chain away."""
        self._do(sql.DROP_EVENTS, (self._keep,))
        self._newest, self._is_newest_known = None, True

    def events(self, *, after: int = 0, limit: int | None = None) -> Iterator[EventRow]:
        """Events in order."""
        for row in self._paged(sql.EVENTS, (self._keep,), after, limit):
            yield self._event(*row)

    def event(self, seq: int) -> EventRow | None:
        """The event with that number."""
        newest = self._newest
        if self._line is not None and self._is_newest_known and newest is not None and newest.seq == seq:
            return newest
        return self._stored(seq)

    def last_event(self) -> EventRow | None:
        """The newest event, which every transaction begins with."""
        if self._line is None:
            with self.reading():
                return self.last_event()
        if not self._is_newest_known:
            found = self._ask(sql.NEWEST, (self._keep,))
            self._newest, self._is_newest_known = (self._event(*found[0]) if found else None), True
        return self._newest

    def _stored(self, seq: int) -> EventRow | None:
        found = self._ask(sql.EVENT, (self._keep, seq))
        return self._event(*found[0]) if found else None

    def _event(self, seq: int, box: bytes, state: bytes, link: bytes) -> EventRow:
        """An event as it was written; one that does not open has no link, and breaks the chain."""
        texts = self._boxes.texts(_EVENT_PART, seq, box)
        return EventRow(seq, *texts, bytes(state), bytes(link)) if texts else EventRow(seq, "", "", "", b"", b"")

    # Upkeep

    def has_sound_index(self, table: str) -> bool:
        """Whether every row is found by its id. How the server's own indexes lie on its disk, pg_amcheck says."""
        return not any(self._misplaced(table))

    def rebuild_index(self, table: str) -> None:
        """Let every row that opens be found by its id again."""
        for seq, digest in list(self._misplaced(table)):
            self._do(sql.REINDEX, (digest, self._keep, sql.NUMBERS[table], seq))

    def _misplaced(self, table: str) -> Iterator[tuple[int, bytes]]:
        for seq, box, digest in self._paged(sql.IDS, (self._keep, sql.NUMBERS[table]), 0, None):
            texts = self._boxes.texts(table, seq, box)
            if texts is not None and self._boxes.digest(table, texts[0]) != digest:
                yield seq, self._boxes.digest(table, texts[0])

    def mend(self) -> list[str]:
        """The role cannot alter the tables' definitions, neither for good nor for ill."""
        return []

    def scrub(self) -> bool:
        """Not for this role to do: the server's vacuum takes away what was removed, and its archive has it still."""
        return False

    def describe(self) -> dict[str, str]:
        """Engine, versions, cipher and schema."""
        return {**self._lines.facts, "cipher": self._boxes.name, "journal": "wal"}

    def close(self) -> None:
        """Nothing is held between transactions."""

    # Asking

    def _do(self, statement: str, given: tuple[Any, ...]) -> int:
        if self._line is None:
            raise AssertionError("a change outside of a transaction")
        with translated():
            return ask(self._line, statement, given)[1]

    def _ask(self, statement: str, given: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        with self.reading():
            assert self._line is not None  # noqa: S101 - for the type checker
            return ask(self._line, statement, given)[0]

    def _paged(
        self, statement: str, given: tuple[Any, ...], after: int, limit: int | None
    ) -> Iterator[tuple[Any, ...]]:
        """Rows in portions, so that a keep of any size fits into memory on its way."""
        start, left = after or -_TOP_SEQ * 2, limit
        for _ in counting():
            portion = _CHUNK if left is None or left < 0 else min(left, _CHUNK)
            found = self._ask(statement, (*given, start, portion)) if portion else []
            yield from found
            if len(found) < portion or not portion:
                return
            start, left = found[-1][0], None if left is None else left - len(found)


_ANSWERS = frozenset({"55P03", "57014", "53300", "53100", "53200", "58030", "40P01"})
"""What a server that is there says, though the driver files it under lost connections."""
