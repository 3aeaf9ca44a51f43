"""mem0 with a local qdrant store in memory and no model in the loop (``infer=False``). It has no gate.

Its embedder is replaced by ours after the configuration; nothing is sent anywhere (telemetry is off, and no model is
called). Who said something is kept as metadata, which recall does not look at.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from worker_loop import STORED, Entry, Hit, Vectors, serve  # type: ignore[import-not-found]

_USER = {"user_id": "owner"}


class Embedder:
    """Our vectors behind its interface."""

    config = None

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed(self, text: str, _action: str | None = None, **_more: Any) -> list[float]:
        """One vector."""
        return list(self._vectors(text))

    def embed_batch(self, texts: list[str], _action: str | None = None, **_more: Any) -> list[list[float]]:
        """Many."""
        return [self.embed(text) for text in texts]


class Mem0:
    """One user's memories."""

    version = version("mem0ai")
    has_gate = False

    def __init__(self, vectors: Vectors, home: Path, _options: Mapping[str, Any]) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(home / "mem0"), "OPENAI_API_KEY": "unused"}
        from mem0 import Memory
        from qdrant_client import QdrantClient  # type: ignore[import-not-found]

        place = {"client": QdrantClient(":memory:"), "embedding_model_dims": vectors.dim, "collection_name": "memories"}
        self._memory = Memory.from_config(
            {"vector_store": {"provider": "qdrant", "config": place}, "history_db_path": ":memory:"}
        )
        self._memory.embedding_model = Embedder(vectors)
        self._planted: list[str] = []

    def fill(self, entries: Sequence[Entry]) -> None:
        """Add each as a memory of the user."""
        for entry in entries:
            self._added(entry)

    def filled(self) -> None:
        """What comes from here on is planted."""

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """The same way in."""
        self._planted += [self._added(entry) for entry in entries]
        return [STORED] * len(entries)

    def recall(self, query: str, k: int) -> list[Hit]:
        """The best k."""
        found = self._memory.search(query, filters=_USER, top_k=k, threshold=0.0)
        return [Hit(hit["memory"], True) for hit in found["results"]]

    acting = recall

    def reset(self) -> None:
        """Delete what was planted."""
        for identity in self._planted:
            self._memory.delete(identity)
        self._planted = []

    def _added(self, entry: Entry) -> str:
        result = self._memory.add(entry.text, user_id="owner", metadata={"source": entry.source}, infer=False)
        return str(result["results"][0]["id"])


if __name__ == "__main__":
    serve(Mem0)
