"""agora-mnemo behind the loop: recall as it is, and ``influence_only=True`` for what may act.

As its README and its authors' own red-team probes do: the encoder is used at every size (``semantic_threshold = 1``),
``mode="hybrid"`` is what it recommends (``semantic`` is what its published figures were measured with), and honest
memories earn their standing through ``credit(…, "good")``. All of them have, except one in five (or those that the
other side names): the same share as in those probes. Its type inference works on honest and planted texts alike.
What the writer of a planted text says goes where ``remember`` takes it from its caller: ``mtype``, ``value``,
``source``, ``tags`` and ``key``.

Recall nudges a memory's value, its access time and in time its type; that is undone after each question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mnemo import Mnemo  # type: ignore[import-not-found]
from worker_loop import STORED, Entry, Hit, Vectors, serve  # type: ignore[import-not-found]


class Store:
    """One store in memory, as in its own probes."""

    version = version("agora-mnemo")
    has_gate = True

    def __init__(self, vectors: Vectors, _home: Path, options: Mapping[str, Any]) -> None:
        self._embed = vectors if vectors else None
        self._mode = options.get("mode", "hybrid") if vectors else "lexical"
        self._memory = self._opened([])
        self._saved: list[dict[str, Any]] = []
        self._before: dict[str, tuple[dict[str, Any], dict[str, Any]]] | None = None
        """Every record with what recall would change in it; none after a write."""

    def fill(self, entries: Sequence[Entry]) -> None:
        """Remember each with its source, and credit those that have proved themselves."""
        self._before = None
        for entry in entries:
            source = {"doc": entry.source} if entry.source else None
            found = self._memory.remember(entry.text, source=source)
            if entry.credited:
                # Looking a record up by its id costs a walk over the store; the last one is the one just made.
                self._credit(self._memory.items[-1], found)

    def filled(self) -> None:
        """Keep a copy of every record."""
        self._saved = [_copied(record) for record in self._memory.items]

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Remember each with whatever its writer claims."""
        self._before = None
        for entry in entries:
            named = entry.claims.get("source", entry.source)
            self._memory.remember(
                entry.text,
                tags=entry.claims.get("tags"),
                value=float(entry.claims.get("importance", 1.0)),
                mtype=entry.claims.get("type"),
                source={"doc": named} if named else None,
                key=entry.claims.get("key"),
            )
        return [STORED] * len(entries)

    def recall(self, query: str, k: int) -> list[Hit]:
        """Everything that is active."""
        by_id = {record["id"]: record for record in self._memory.items}
        return [Hit(hit["text"], self._may_act(hit["id"], by_id)) for hit in self._asked(query, k, influence=False)]

    def acting(self, query: str, k: int) -> list[Hit]:
        """Only what is corroborated."""
        return [Hit(hit["text"], True) for hit in self._asked(query, k, influence=True)]

    def reset(self) -> None:
        """A store with the saved records; nothing else of the old one is kept."""
        self._before = None
        self._memory = self._opened([_copied(record) for record in self._saved])

    def _opened(self, records: list[dict[str, Any]]) -> Any:
        memory = Mnemo(None, embed=self._embed)
        memory.semantic_threshold = 1
        memory.items = records
        return memory

    def _credit(self, record: dict[str, Any], identity: str) -> None:
        whole, self._memory.items = self._memory.items, [record]
        self._memory.credit([identity], "good")
        self._memory.items = whole

    def _may_act(self, identity: str, by_id: Mapping[str, Any]) -> bool:
        return bool(Mnemo._is_corroborated(by_id[identity], by_id))

    def _asked(self, query: str, k: int, *, influence: bool) -> list[dict[str, Any]]:
        if self._before is None:
            self._before = {record["id"]: (record, _nudged(record)) for record in self._memory.items}
        hits: list[dict[str, Any]] = self._memory.recall(query, k=k, mode=self._mode, influence_only=influence)
        for hit in hits:
            record, kept = self._before[hit["id"]]
            record.update(deepcopy(kept))
        return hits


def _nudged(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in ("value", "last_access", "mtype")} | {"meta": dict(record["meta"])}


def _copied(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record of its own; its vector is never changed and may be shared."""
    bare = deepcopy({name: value for name, value in record.items() if name != "vec"})
    return bare | ({"vec": record["vec"]} if "vec" in record else {})


if __name__ == "__main__":
    serve(Store)
