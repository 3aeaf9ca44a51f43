"""mem0 with a local qdrant store and no model in the loop (``infer=False``)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"
os.environ.setdefault("OPENAI_API_KEY", "unused")

from contest import Table, run, within  # type: ignore[import-not-found]
from mem0 import Memory


class Embedder:
    """The contest's table behind mem0's embedder interface."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.config = None

    def embed(self, text: str, _action: str | None = None, **_more: Any) -> list[float]:
        return list(self.table(text))

    def embed_batch(self, texts: list[str], _action: str | None = None, **_more: Any) -> list[list[float]]:
        return [self.table(text) for text in texts]


class Mem0:
    """One user's memories."""

    def __init__(self, home: Path, table: Table, seconds: float) -> None:
        os.environ["MEM0_DIR"] = str(home / "mem0")
        dims = len(next(iter(table.rows.values())))
        place = {"path": str(home / "qdrant"), "on_disk": True, "embedding_model_dims": dims}
        config = {"vector_store": {"provider": "qdrant", "config": place}, "history_db_path": str(home / "history.db")}
        self.memory = Memory.from_config(config)
        self.memory.embedding_model = Embedder(table)
        self.seconds = seconds

    def fill(self, texts: Any, _vectors: Any) -> None:
        check = within(self.seconds, texts)
        for text in texts:
            self.add(text, None)
            check()

    def add(self, text: str, _vector: Any) -> None:
        self.memory.add(text, user_id="u", infer=False)

    def recall(self, text: str, _vector: Any, k: int) -> object:
        try:
            return self.memory.search(text, filters={"user_id": "u"}, top_k=k)
        except TypeError:
            return self.memory.search(text, user_id="u", limit=k)

    def close(self) -> None:
        self.memory.vector_store.client.close()


run("mem0", "mem0ai", Mem0, "infer=False, local qdrant")
