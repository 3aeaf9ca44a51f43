"""verel's memory in its local store: its default recall by keywords (BM25), or by meaning with our encoder.

A fact is trusted there (``VERIFIED``) after an attestation, after two authenticated principals, or after a person's
review; everything else stays a ``CANDIDATE``. The honest facts that have proved themselves were approved by a person
with ``approve``; the others, and whatever is planted, are candidates. Texts are not taken apart into subject and
predicate (that needs a language model): each is a fact of its own. Recall is ``recall``; only what is verified may act.

Recall strengthens what it returns; that is undone after each question.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from verel.memory import (  # type: ignore[import-not-found]
    LocalMemory,
    MemoryKind,
    MemoryRecord,
    Trust,
    approve,
)
from worker_loop import OWNER, STORED, Entry, Hit, Vectors, serve  # type: ignore[import-not-found]

_WIDER = 10
"""So many times more are looked through for what may act, and the best of those are taken."""


class Looked:
    """Our vectors behind its interface."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self.dim = vectors.dim

    def embed(self, texts: list[str]) -> list[list[float]]:
        """One vector for each text."""
        return [self._vectors(text) for text in texts]


class Brain:
    """One scope of one store in memory."""

    version = version("verel")
    has_gate = True

    def __init__(self, vectors: Vectors, _home: Path, options: Mapping[str, Any]) -> None:
        embedder = Looked(vectors) if vectors and options.get("recall") == "vectors" else None
        self._memory = LocalMemory(":memory:", embedder=embedder)
        self._saved = sqlite3.connect(":memory:")
        self._number = 0

    def fill(self, entries: Sequence[Entry]) -> None:
        """Write each, and approve those that have proved themselves."""
        for entry in entries:
            written = self._written(entry, entry.source or OWNER)
            if entry.credited:
                approve(self._memory, written.id, reviewed_by="operator")

    def filled(self) -> None:
        """Keep a copy of the database."""
        self._memory._db.backup(self._saved)

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Write each as a candidate with the source that its writer claims."""
        for entry in entries:
            self._written(entry, entry.claims.get("source", entry.source))
        return [STORED] * len(entries)

    def recall(self, query: str, k: int) -> list[Hit]:
        """The best k."""
        return [Hit(record.text, record.trust == Trust.VERIFIED) for record in self._asked(query, k)]

    def acting(self, query: str, k: int) -> list[Hit]:
        """The best k that are verified."""
        verified = [record for record in self._asked(query, _WIDER * k) if record.trust == Trust.VERIFIED]
        return [Hit(record.text, True) for record in verified[:k]]

    def reset(self) -> None:
        """The database as it was."""
        self._saved.backup(self._memory._db)

    def _written(self, entry: Entry, source: str) -> Any:
        self._number += 1
        name = f"m{self._number}"
        record = MemoryRecord(
            id=name, subj_pred_key=name, kind=MemoryKind.FACT, text=entry.text, source=source, provenance=[source]
        )
        return self._memory.write(record)

    def _asked(self, query: str, k: int) -> list[Any]:
        query_strengths = "SELECT retrieval_strength, last_recall_ts, id FROM memory"
        before = [tuple(row) for row in self._memory._db.execute(query_strengths)]
        found: list[Any] = self._memory.recall(query, k=k)
        changed = {record.id for record in found}
        self._memory._db.executemany(
            "UPDATE memory SET retrieval_strength=?, last_recall_ts=? WHERE id=?",
            [row for row in before if row[2] in changed],
        )
        self._memory._db.commit()
        return found


if __name__ == "__main__":
    serve(Brain)
