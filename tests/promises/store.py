"""The stored bytes of a keep in the hands of an intruder, in a file or in a database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import apsw

from tests.conftest import intruder
from tests.promises.side import Side
from truekeep.stores.base import Row

_COLUMNS = "seq, id, tag, body, mac, card"
_PLAIN = "seq, id, tag, body, mac"


@dataclass(frozen=True)
class Intruder:
    """Reads and writes rows past the keep."""

    connection: apsw.Connection

    @classmethod
    @contextmanager
    def at(cls, side: Side) -> Iterator[Intruder]:
        """Somebody with the file of a side's keep and the key that encrypts it."""
        with intruder(side.home, side.name_of_keep) as connection:
            yield cls(connection)

    def rows(self, table: str) -> list[Row]:
        """Every row of a table, in its place."""
        found = self.connection.execute(f"SELECT {self._columns(table)} FROM {table} ORDER BY seq")
        return [Row(*one) for one in found]

    def put(self, table: str, row: Row) -> None:
        """Put a row in its place, whatever is there."""
        columns = self._columns(table)
        values = tuple(row)[: columns.count(",") + 1]
        marks = ", ".join("?" * len(values))
        self.connection.execute(f"INSERT OR REPLACE INTO {table}({columns}) VALUES ({marks})", values)

    def remove(self, table: str, row: Row) -> None:
        """Take a row away."""
        self.connection.execute(f"DELETE FROM {table} WHERE seq = ?", (row.seq,))

    def _columns(self, table: str) -> str:
        return _COLUMNS if table in ("memories",) else _PLAIN
