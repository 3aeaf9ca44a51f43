"""inspeximus behind the loop: recall as it is, and ``influence_only=True`` for what may act.

The ``default`` store is what its constructor gives (the guards of its read path are on). ``strict`` switches on what
its source offers against hostile writers: only distinct verified keys corroborate, credit counts with a warrant of a
declared authority alone, a write without provenance earns nothing, and a weaker source cannot retire a stronger one.
Honest memories earn their standing through ``credit(…, "good", warrant=…)``, all but one in five; the encoder is used
at every size, and ``mode="hybrid"`` is what it recommends. What the writer of a planted text says goes where
``remember`` takes it from its caller: ``mtype``, ``value``, ``source``, ``tags`` and ``key``.

Recall does not reinforce unless asked to, and is not asked to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inspeximus import Inspeximus  # type: ignore[import-not-found]
from worker_loop import OWNER, STORED, SYSTEM, Entry, Hit, Vectors, serve  # type: ignore[import-not-found]

_OUTCOMES = "outcomes"
_AUTHORITY = {OWNER: 1.0, SYSTEM: 0.8}
_PAGES_AUTHORITY = 0.2


class Store:
    """One store in memory, as in its authors' own probes."""

    version = version("inspeximus")
    has_gate = True

    def __init__(self, vectors: Vectors, _home: Path, options: Mapping[str, Any]) -> None:
        self._strict = options.get("variant") == "strict"
        self._mode = options.get("mode", "hybrid") if vectors else "lexical"
        supersession = "authority" if self._strict else None
        self._memory = Inspeximus(None, embed=vectors if vectors else None, supersession=supersession)
        self._memory.semantic_threshold = 1
        if self._strict:
            self._memory.strict_corroboration = True
            self._memory.credit_requires_warrant = True
            self._memory.warrant_authorities = {_OUTCOMES}
            self._memory.strict_provenance = True
        self._saved: list[dict[str, Any]] = []

    def fill(self, entries: Sequence[Entry]) -> None:
        """Remember each with its source, and credit those that have proved themselves."""
        made = [(entry, self._memory.remember(entry.text, source=_source(entry))) for entry in entries]
        proved = [identity for entry, identity in made if entry.credited]
        self._memory.credit(proved, "good", warrant=_OUTCOMES)

    def filled(self) -> None:
        """Keep a copy of every record."""
        self._saved = [_copied(record) for record in self._memory.items]

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Remember each with whatever its writer claims."""
        for entry in entries:
            named = entry.claims.get("source", entry.source)
            self._memory.remember(
                entry.text,
                tags=entry.claims.get("tags"),
                value=float(entry.claims.get("importance", 1.0)),
                mtype=entry.claims.get("type"),
                source={"doc": named, "authority": _PAGES_AUTHORITY} if named else None,
                key=entry.claims.get("key"),
            )
        return [STORED] * len(entries)

    def recall(self, query: str, k: int) -> list[Hit]:
        """Everything that is active and not quarantined."""
        by_id = {record["id"]: record for record in self._memory.items}
        hits = self._memory.recall(query, k=k, mode=self._mode)
        return [Hit(hit["text"], bool(self._memory._corroborated(by_id[hit["id"]], by_id))) for hit in hits]

    def acting(self, query: str, k: int) -> list[Hit]:
        """Only what is corroborated."""
        return [Hit(hit["text"], True) for hit in self._memory.recall(query, k=k, mode=self._mode, influence_only=True)]

    def reset(self) -> None:
        """The saved records in place of all others."""
        self._memory._items = [_copied(record) for record in self._saved]
        self._memory._mat, self._memory._mat_built_n = None, -1


def _source(entry: Entry) -> dict[str, Any]:
    return {"doc": entry.source or OWNER, "authority": _AUTHORITY.get(entry.by, _PAGES_AUTHORITY)}


def _copied(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record of its own; its vector is never changed and may be shared."""
    bare = deepcopy({name: value for name, value in record.items() if name != "vec"})
    return bare | ({"vec": record["vec"]} if "vec" in record else {})


if __name__ == "__main__":
    serve(Store)
