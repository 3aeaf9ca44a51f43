"""The hand that writes memories' rows, with everything that goes with them. Only the gate and custody use it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from truekeep.catalog import Catalog
from truekeep.errors import InvalidRequest, UnknownId
from truekeep.lineage import Lineage
from truekeep.rivals import Rivals
from truekeep.statements import tag
from truekeep.stores.entry import Entry
from truekeep.stores.ledger import Ledger, Sealed
from truekeep.stores.records import memory_body, memory_from
from truekeep.types import Memory, utc_text

CHANGED, DELETED, FELL, MERGED = "changed", "deleted", "fell", "merged"
"""Why a version is in the history and no longer a memory."""

Vector = Any
"""A vector as the embedder made it; it is only handed on."""


class MemoryRows:
    """Stores, replaces and removes the memories of one keep, inside the caller's transaction."""

    def __init__(self, ledger: Ledger, catalog: Catalog, rivals: Rivals, lineage: Lineage) -> None:
        self._ledger = ledger
        self._catalog = catalog
        self._rivals = rivals
        self._lineage = lineage

    def store(self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]) -> Memory:
        """Add a memory, and tell it and its rivals about each other."""
        return self._put(entry, replace(memory, order=entry.number), vector, related)

    def stand_in(self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]) -> Memory:
        """Add a memory that says again what others say; it keeps their place among what came before and after."""
        return self._put(entry, memory, vector, related)

    def _put(self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]) -> Memory:
        card = self._catalog.card(memory, vector)
        stored = replace(memory, seq=entry.put("memories", memory.id, memory_body(memory), tag(memory), card=card))
        self._rivals.file(entry, stored, related)
        self._lineage.file(entry, stored)
        return stored

    def replace(
        self, entry: Entry, target: Memory, memory: Memory, vector: Vector | None, related: Iterable[Memory]
    ) -> Memory:
        """Put new content in the place of a memory; the old version goes to history."""
        sealed = self._ledger.get("memories", target.id)
        if sealed is None:
            raise UnknownId("The memory that was to be changed is gone.")
        if memory_from(sealed).version != target.version:
            raise InvalidRequest(
                "The memory was changed by somebody else meanwhile.", code="memory_changed", hint="Read it again."
            )
        version = self._next_version(target)
        newer = replace(memory, id=target.id, version=version, seq=target.seq, order=entry.number)
        self._rivals.withdraw(entry, target)
        self._lineage.withdraw(entry, target)
        keep_version(entry, target, CHANGED, newer.begins)
        card = self._catalog.card(newer, vector)
        entry.replace("memories", sealed.row, memory_body(newer), tag(newer), card=card)
        self._rivals.file(entry, newer, related)
        self._lineage.file(entry, newer)
        return newer

    def take_from_history(
        self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]
    ) -> Memory:
        """Put a version from history back just as it was; it is no longer history then."""
        sealed = self._ledger.get("history", f"{memory.id}.{memory.version}")
        if sealed is not None:
            entry.remove("history", sealed.row)
        return self._put(entry, memory, vector, related)

    def bring_back(self, entry: Entry, memory: Memory, vector: Vector | None, related: Iterable[Memory]) -> Memory:
        """Make a version that was kept the newest again: in its old place, or anew if the memory is gone."""
        sealed = self._ledger.get("memories", memory.id)
        if sealed is not None:
            return self.replace(entry, memory_from(sealed), memory, vector, related)
        return self.store(entry, replace(memory, version=self._next_version(memory)), vector, related)

    def _next_version(self, memory: Memory) -> int:
        """The number after the last one; a rewind may have put later versions than this one into history."""
        kept = (sealed for sealed in self._ledger.tagged("history", memory.id, limit=-1) if sealed.verified)
        return 1 + max([memory.version, *(memory_from(sealed).version for sealed in kept)])

    def remove(self, entry: Entry, sealed: Sealed, why: str, now: datetime, *, into: str | None = None) -> None:
        """Take a memory out of the keep. What was ours goes to history; ``into`` is what it became part of."""
        memory = memory_from(sealed)
        if sealed.verified:
            self._rivals.withdraw(entry, memory)
            self._lineage.withdraw(entry, memory)
            keep_version(entry, memory, why, now, into=into)
        entry.remove("memories", sealed.row)


def keep_version(entry: Entry, memory: Memory, why: str, until: datetime, *, into: str | None = None) -> None:
    """Keep the version that is about to go, with the end of its time, so that it can be brought back."""
    body = memory_body(memory) | {"retired": why, "until": utc_text(until), "seq": memory.seq}
    if (mac := entry.known("memories", memory.seq)) is not None:
        body["mac"] = mac.hex()  # by which a rewind finds the version that stood there
    if into is not None:
        body["into"] = into
    entry.put("history", f"{memory.id}.{memory.version}", body, tag=memory.id)
