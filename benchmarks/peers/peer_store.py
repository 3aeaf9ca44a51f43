"""Somebody else's memory as a ``Store``: a worker in their environment, fed with our encoder's vectors."""

from __future__ import annotations

import base64
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers.worker_process import WorkerProcess
from truekeep.redteam.figures import CannotRun
from truekeep.redteam.store import HELD, REFUSED, STORED, StoreHit, TextEntry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from truekeep.embed import Embedder, Kind

WORKERS = Path(__file__).parent / "workers"
ANSWER_SECONDS = 600.0
_PORTION = 500
_ANSWERS = frozenset({STORED, HELD, REFUSED})


class PeerStore:
    """One worker, one store. Whatever goes wrong on the other side raises ``CannotRun`` and ends it."""

    def __init__(
        self,
        name: str,
        python: Path,
        script: Path,
        embed: Embedder | None,
        options: Mapping[str, Any] | None = None,
        seconds: float = ANSWER_SECONDS,
    ) -> None:
        """Start the worker ``script`` under ``python``; ``seconds`` is the time that it has for each answer."""
        self.name = name
        self._embed = embed
        self._home = tempfile.TemporaryDirectory(prefix="redteam-")
        command = [str(python), str(script), self._home.name, str(embed.dim if embed else 0), json.dumps(options or {})]
        try:
            self._worker = WorkerProcess(name, command, Path(self._home.name), seconds)
        except CannotRun:
            self._home.cleanup()
            raise
        self._answers: dict[tuple[str, str, int], list[StoreHit]] = {}
        try:
            said = self._worker.hear(self._vectors_for)
            self.version, self._has_gate = str(said["version"]), bool(said["has_gate"])
        except (CannotRun, KeyError) as error:
            self.close()
            raise error if isinstance(error, CannotRun) else CannotRun(f"{name} did not say its version") from error

    @property
    def pid(self) -> int:
        """The worker's process."""
        return self._worker.pid

    def fill(self, entries: Sequence[TextEntry]) -> None:
        """Hand the honest memories over in portions."""
        for first in range(0, max(1, len(entries)), _PORTION):
            portion = entries[first : first + _PORTION]
            last = first + _PORTION >= len(entries)
            self._change({"do": "fill", "entries": self._packed(portion), "last": last})

    def plant(self, entries: Sequence[TextEntry]) -> list[str]:
        """Hand an attacker's texts over, with what they claim."""
        answers = self._change({"do": "plant", "entries": self._packed(entries)}).get("answers")
        if not isinstance(answers, list) or len(answers) != len(entries) or not _ANSWERS.issuperset(answers):
            raise CannotRun(f"{self.name} did not say what became of each text")
        return answers

    def recall(self, query: str, k: int) -> list[StoreHit]:
        """What the defence recalls; the worker undoes whatever its store remembers of being asked."""
        return self._hits("recall", query, k)

    def acting(self, query: str, k: int) -> list[StoreHit]:
        """What the defence lets act."""
        return self._hits("acting", query, k)

    def reset(self) -> None:
        """Back to how it was after the filling."""
        self._change({"do": "reset"})

    def close(self) -> None:
        """End the worker and remove its files."""
        self._worker.end()
        self._home.cleanup()

    def _hits(self, do: str, query: str, k: int) -> list[StoreHit]:
        """Asking changes nothing, so that the same question is answered once for each state of the store."""
        asked = (do if self._has_gate else "recall", query, k)
        if asked not in self._answers:
            self._answers[asked] = self._answered(*asked)
        return list(self._answers[asked])

    def _answered(self, do: str, query: str, k: int) -> list[StoreHit]:
        vector = self._encoded([query], "query")[0]
        hits = self._ask({"do": do, "query": query, "vector": vector, "k": k}).get("hits")
        if not isinstance(hits, list) or len(hits) > k:
            raise CannotRun(f"{self.name} did not answer a question as it must")
        return [StoreHit(str(text), may_act is True) for text, may_act in hits]

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self._worker.ask(request, self._vectors_for)

    def _change(self, request: Mapping[str, Any]) -> dict[str, Any]:
        self._answers.clear()
        return self._ask(request)

    def _packed(self, entries: Sequence[TextEntry]) -> list[Any]:
        vectors = self._encoded([entry.text for entry in entries], "passage")
        return [
            [entry.text, entry.by, entry.source, dict(entry.claims), vector]
            for entry, vector in zip(entries, vectors, strict=True)
        ]

    def _vectors_for(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Vectors of texts that the store made up itself, such as a text with a secret struck out."""
        kind: Kind = "query" if question.get("kind") == "query" else "passage"
        return {"vectors": self._encoded([str(text) for text in question["embed"]], kind)}

    def _encoded(self, texts: Sequence[str], kind: Kind) -> list[str] | list[None]:
        if self._embed is None or not texts:
            return [None] * len(texts)
        return [_base64(row) for row in self._embed.embed(texts, kind)]


def _base64(row: NDArray[np.float32]) -> str:
    return base64.b64encode(row.astype("<f4").tobytes()).decode("ascii")
