"""The stored bytes of a keep in the hands of an intruder, in a file or in a database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import apsw

from tests.conftest import intruder
from tests.promises.side import Side
from truekeep.stores.base import CARDED, Row


class Intruder(Protocol):
    """Reads and writes rows past the keep."""

    def rows(self, table: str) -> list[Row]:
        """Every row of a table, in its place."""

    def put(self, table: str, row: Row) -> None:
        """Put a row in its place, whatever is there."""

    def remove(self, table: str, row: Row) -> None:
        """Take a row away."""

    def forged(self, row: Row, words: str, lie: str, /) -> Row:
        """A row that says something else, as well as the intruder can make it."""


@contextmanager
def intruding(side: Side) -> Iterator[Intruder]:
    """Somebody at the bytes of a side's keep, with all keys but those that seal rows."""
    if side.is_in_database:
        with _in_database(side) as found:
            yield found
    else:
        with intruder(side.home, side.name_of_keep) as connection:
            yield _FileIntruder(connection)


class _FileIntruder:
    """Holds the file and the key that encrypts it, and so reads what is in it."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def rows(self, table: str) -> list[Row]:
        found = self._connection.execute(f"SELECT {self._columns(table)} FROM {table} ORDER BY seq")
        return [Row(*one) for one in found]

    def put(self, table: str, row: Row) -> None:
        columns = self._columns(table)
        values = tuple(row)[: columns.count(",") + 1]
        marks = ", ".join("?" * len(values))
        self._connection.execute(f"INSERT OR REPLACE INTO {table}({columns}) VALUES ({marks})", values)

    def remove(self, table: str, row: Row) -> None:
        self._connection.execute(f"DELETE FROM {table} WHERE seq = ?", (row.seq,))

    def forged(self, row: Row, words: str, lie: str, /) -> Row:
        body = row.body.replace(words, lie).replace('"hearsay"', '"owner"')
        return row._replace(body=body if body != row.body else f"{row.body} ")

    def _columns(self, table: str) -> str:
        return "seq, id, tag, body, mac, card" if table in CARDED else "seq, id, tag, body, mac"


class _DatabaseIntruder:
    """Holds the server, which sees encrypted bytes; a row's body and id are bytes here."""

    def __init__(self, run: Any, keep: Any) -> None:
        self._run = run
        self._keep = keep

    def rows(self, table: str) -> list[Row]:
        found = self._run("SELECT seq, id, body, mac, card FROM truekeep.sealed WHERE keep = %s AND tbl = %s", table)
        return [Row(seq, id_, "", body, mac, card) for seq, id_, body, mac, card in found]

    def put(self, table: str, row: Row) -> None:
        self.remove(table, row)
        values = (row.seq, row.id, row.body, row.mac, row.card)
        columns = "keep, tbl, seq, id, body, mac, card"
        self._run(f"INSERT INTO truekeep.sealed({columns}) VALUES (%s, %s, %s, %s, %s, %s, %s)", table, values)

    def remove(self, table: str, row: Row) -> None:
        self._run("DELETE FROM truekeep.sealed WHERE keep = %s AND tbl = %s AND seq = %s", table, (row.seq,))

    def forged(self, row: Row, _words: str, _lie: str, /) -> Row:
        body: Any = row.body
        flipped: Any = bytes(body[:-1]) + bytes([body[-1] ^ 1])
        return row._replace(body=flipped)


@contextmanager
def _in_database(side: Side) -> Iterator[Intruder]:
    import psycopg

    from truekeep.stores.postgres import place_of
    from truekeep.stores.postgres_statements import NUMBERS

    place = place_of(side.name_of_keep)
    with psycopg.connect(side.settings.store, autocommit=True) as line:

        def run(statement: str, table: str, values: Sequence[Any] = ()) -> list[Any]:
            with line.transaction():
                line.execute(f"SET LOCAL truekeep.keep = '{place}'".encode())
                done = line.execute(statement.encode(), (place, NUMBERS[table], *values))
                return done.fetchall() if done.description else []

        yield _DatabaseIntruder(run, place)
