"""The adapter for agmi's attacks through the API: what an attacker with write access gets into a prompt.

The mapping is fixed so that it does not grade itself. A write labelled ``user`` with a valid signature comes
over the ``user`` channel; one labelled ``user`` without, and everything labelled ``external``, comes over ``web``.
Each user has a keep of their own. What is retrieved is what a prompt would get: the text of recall's hits.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agmi.adapters.semantic_base import MemoryItem, Retrieved, SemanticMemoryAdapter
from agmi.signing import KEYRING

from truekeep import Keep, __version__
from truekeep.embed import Embedder
from truekeep.read.recall import Filters


class Recalls(SemanticMemoryAdapter):  # type: ignore[misc]  # agmi ships no types
    """One keep for each user, under one policy."""

    def __init__(
        self, embedder: Callable[[], Embedder | None], *, policy: str = "strict", acting: bool = False
    ) -> None:
        self.name = f"truekeep ({policy}{', influence_only' if acting else ''})"
        self._embedder = embedder
        self._policy = policy
        self._acting = acting
        self._keeps: dict[str, Keep] = {}
        self._home = Path(tempfile.mkdtemp(prefix="truekeep-agmi-"))

    def reset(self) -> None:
        """All keeps anew."""
        self.close()
        self._home = Path(tempfile.mkdtemp(prefix="truekeep-agmi-"))

    def close(self) -> None:
        """Close all keeps and take them away."""
        for keep in self._keeps.values():
            keep.close()
        self._keeps = {}
        shutil.rmtree(self._home)

    def add_memory(self, item: MemoryItem) -> None:
        """Over the channel that the signature earns."""
        signed = KEYRING.verify(item.user_id, item.source, item.text, item.signature)
        via = "user" if item.source == "user" and signed else "web"
        self._keep(item.user_id).remember(item.text, via=via, metadata=item.metadata)

    def retrieve(self, query: str, user_id: str, k: int = 5) -> list[Retrieved]:
        """What a prompt would get."""
        return self._recalled(query, user_id, k, Filters())

    def retrieve_where(self, query: str, user_id: str, where: dict[str, Any], k: int = 5) -> list[Retrieved]:
        """Likewise, by metadata."""
        return self._recalled(query, user_id, k, Filters(metadata=where))

    def measured_on(self) -> str:
        """What was measured."""
        return f"truekeep {__version__}, {self.name}, embedder {getattr(self._embedder(), 'model_id', 'none')}"

    def _recalled(self, query: str, user_id: str, k: int, filters: Filters) -> list[Retrieved]:
        hits = self._keep(user_id).recall(query, k=k, influence_only=self._acting, filters=filters)
        return [Retrieved(hit.text, user_id, hit.score) for hit in hits]

    def _keep(self, user_id: str) -> Keep:
        if user_id not in self._keeps:
            self._keeps[user_id] = Keep.open(user_id, home=self._home, policy=self._policy, embedder=self._embedder)
        return self._keeps[user_id]
