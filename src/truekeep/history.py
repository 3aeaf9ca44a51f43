"""History: the versions of a memory, and what held at another moment, as they may be shown."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from truekeep.archive import Archive, Version
from truekeep.errors import UnknownId
from truekeep.influence import Reader as ForWhom
from truekeep.reading import Reader, Shown
from truekeep.stores.ledger import Ledger
from truekeep.stores.records import memory_from


class History:
    """Shows what the memories of one keep were."""

    def __init__(self, ledger: Ledger, reader: Reader, archive: Archive) -> None:
        self._ledger = ledger
        self._reader = reader
        self._archive = archive

    def of(self, memory_id: str) -> list[dict[str, Any]]:
        """The versions of one memory, oldest first, the present one last; what was deleted has only earlier ones."""
        versions = self._archive.versions(memory_id) if isinstance(memory_id, str) else []
        earlier = [self._earlier(version).as_dict() | {"retired": version.why} for version in versions]
        found = self._ledger.find_memory(memory_id) if isinstance(memory_id, str) else None
        if found is None and not earlier:
            raise UnknownId("No such memory in this keep, and there never was.")
        return earlier + ([self._reader.shown(memory_from(found)).as_dict() | {"retired": None}] if found else [])

    def listed(self, moment: datetime, *, after: int, limit: int | None, whom: ForWhom) -> list[Shown]:
        """What held at a moment, in the order in which it was stored, also what was replaced or changed since."""
        still = self._reader.listed(after=after, limit=limit, whom=whom, as_of=moment)
        earlier = map(self._earlier, self._archive.changed())
        then = [shown for shown in earlier if shown.memory.seq > after and shown.held_at(moment)]
        return sorted([*still, *then], key=lambda shown: shown.memory.seq)[:limit]

    def _earlier(self, version: Version) -> Shown:
        return self._reader.earlier(version.memory, version.until)
