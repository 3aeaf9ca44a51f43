"""veramem without a language model, as its README offers it: raw messages, hybrid search, authority, its ledger.

The role of a message decides its authority: the owner's words come as ``user``, a system's as ``tool`` with its name,
a page's as ``document``. A planted text comes as a ``document``, or in the role that its writer claims, which ``add``
takes from its caller. Recall is ``search`` without recording (so that asking leaves no trace); what may act is what
``check_action`` allows. Honest outcomes have no bearing on authority there, so none are credited.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from veramem import Memory  # type: ignore[import-not-found]
from veramem.config import Config  # type: ignore[import-not-found]
from veramem.providers import Embedder, HashEmbedder, NoLLM  # type: ignore[import-not-found]
from worker_loop import OWNER, STORED, SYSTEM, Entry, Hit, Vectors, serve  # type: ignore[import-not-found]

_ROLES = {OWNER: "user", SYSTEM: "tool"}
_USER = "owner"
_WIDER = 4
"""So many times more are looked through for what may act, and the best of those are taken."""


class Looked(Embedder):  # type: ignore[misc]
    """Our vectors behind its interface."""

    name, model = "looked", "up"

    def __init__(self, vectors: Vectors) -> None:
        super().__init__()
        self._vectors = vectors
        self.dim = vectors.dim

    def embed(self, texts: list[str]) -> Any:
        """One row for each text."""
        return np.array([self._vectors(text) for text in texts], dtype=np.float32).reshape(len(texts), self.dim)


class Vera:
    """One user's memory in one database."""

    version = version("veramem")
    has_gate = True

    def __init__(self, vectors: Vectors, _home: Path, _options: Mapping[str, Any]) -> None:
        self._embedder = Looked(vectors) if vectors else HashEmbedder()
        self._memory = self._opened()
        self._saved = sqlite3.connect(":memory:")
        self._texts: dict[str, str] = {}

    def fill(self, entries: Sequence[Entry]) -> None:
        """Add each as a message of its writer's role."""
        self._added([(_ROLES.get(entry.by, "document"), entry.source, entry.text) for entry in entries])

    def filled(self) -> None:
        """Keep a copy of the database."""
        self._memory.store.raw.backup(self._saved)

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Add each in the role that its writer claims, if any."""
        self._added(
            [
                (entry.claims.get("role", "document"), entry.claims.get("source", entry.source), entry.text)
                for entry in entries
            ]
        )
        return [STORED] * len(entries)

    def recall(self, query: str, k: int) -> list[Hit]:
        """The best k, in the order in which it gives them."""
        hits = self._memory.search(query, user_id=_USER, limit=k, record=False).hits
        return [Hit(self._texts[hit.memory.id], self._may_act(hit.memory.id)) for hit in hits[:k]]

    def acting(self, query: str, k: int) -> list[Hit]:
        """The best k of what its action check allows."""
        hits = self._memory.search(query, user_id=_USER, limit=_WIDER * k, record=False).hits
        allowed = [hit for hit in hits if self._may_act(hit.memory.id)]
        allowed.sort(key=lambda hit: -hit.score)
        return [Hit(self._texts[hit.memory.id], True) for hit in allowed[:k]]

    def reset(self) -> None:
        """The database as it was."""
        self._memory = self._opened()
        self._saved.backup(self._memory.store.raw)

    def _opened(self) -> Any:
        config = Config(db_path=":memory:", llm_provider="none", embed_provider="hash")
        return Memory(config=config, llm=NoLLM(), embedder=self._embedder)

    def _added(self, messages: Sequence[tuple[str, str, str]]) -> None:
        for role, name, text in messages:
            message = {"role": role, "content": text} | ({"name": name} if name else {})
            result = self._memory.add([message], user_id=_USER, infer=False)
            for identity in [*result.episodes, *(change.memory_id for change in result.changes)]:
                if identity:
                    self._texts[identity] = text

    def _may_act(self, identity: str) -> bool:
        return bool(self._memory.check_action([identity], user_id=_USER)["allowed"])


if __name__ == "__main__":
    serve(Vera)
