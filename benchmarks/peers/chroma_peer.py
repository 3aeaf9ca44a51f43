"""chromadb, embedded and persistent: vectors alone (HNSW)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import chromadb  # type: ignore[import-not-found]
from contest import Table, run  # type: ignore[import-not-found]


class Chroma:
    """One persistent collection."""

    def __init__(self, home: Path, _table: Table, _seconds: float) -> None:
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(home), settings=settings)
        self.rows = client.get_or_create_collection("memories", embedding_function=None)
        self.next = self.rows.count()

    def fill(self, texts: Any, vectors: Any) -> None:
        for first in range(0, len(texts), 1000):
            chosen = slice(first, first + 1000)
            ids = [str(number) for number in range(first, first + len(texts[chosen]))]
            self.rows.add(ids=ids, embeddings=vectors[chosen], documents=list(texts[chosen]))
        self.next = len(texts)

    def add(self, text: str, vector: Any) -> None:
        self.rows.add(ids=[str(self.next)], embeddings=[vector], documents=[text])
        self.next += 1

    def recall(self, _text: str, vector: Any, k: int) -> object:
        return self.rows.query(query_embeddings=[vector], n_results=k)

    def close(self) -> None:
        """Chroma has nothing to close."""


run("chromadb", "chromadb", Chroma, "vectors only")
