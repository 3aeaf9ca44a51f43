"""langgraph's SqliteStore with its vector index: vectors alone (sqlite-vec).

Not every Python's own sqlite3 can load extensions; pysqlite3 can.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pysqlite3 as sqlite3  # type: ignore[import-not-found]
from contest import Table, run  # type: ignore[import-not-found]
from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore


class Store:
    """One namespace of one store."""

    def __init__(self, home: Path, table: Table, _seconds: float) -> None:
        self.connection = sqlite3.connect(home / "store.db", check_same_thread=False, isolation_level=None)
        dims = len(next(iter(table.rows.values())))
        self.store = SqliteStore(
            self.connection, index={"dims": dims, "embed": lambda texts: [table(t) for t in texts]}
        )
        self.store.setup()
        self.next = 0

    def fill(self, texts: Any, _vectors: Any) -> None:
        for first in range(0, len(texts), 500):
            batch = texts[first : first + 500]
            self.store.batch([PutOp(("m",), f"f{first + n}", {"text": text}, ["text"]) for n, text in enumerate(batch)])

    def add(self, text: str, _vector: Any) -> None:
        self.store.put(("m",), f"a{self.next}", {"text": text}, index=["text"])
        self.next += 1

    def recall(self, text: str, _vector: Any, k: int) -> object:
        return self.store.search(("m",), query=text, limit=k)

    def close(self) -> None:
        self.connection.close()


run("langgraph SqliteStore", "langgraph-checkpoint-sqlite", Store, "vectors only")
