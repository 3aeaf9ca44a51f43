"""The step that plants: many texts under many names, with whatever they say about themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from truekeep.redteam.influence.stage import Stage, Step

_AT_ONCE = 250


@dataclass(frozen=True, kw_only=True)
class Plant(Step):
    """Write texts over one channel, each under a name or none."""

    via: str
    entries: tuple[tuple[str, str | None], ...]
    session: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    since_days: float | None = None
    expires_days: float | None = None
    parent: str = ""
    """What a step called the memory that these are said to be derived from."""

    def play(self, stage: Stage) -> None:
        """In batches."""
        entries = [{"text": text} | ({"principal": name} if name else {}) for text, name in self.entries]
        for start in range(0, len(entries), _AT_ONCE):
            written = stage.target.remember(
                self.via, self.session, entries[start : start + _AT_ONCE], self._fields(stage)
            )
            stage.noted(written)

    def _fields(self, stage: Stage) -> dict[str, Any]:
        fields = dict(self.fields)
        for name, days in (("as_of", self.since_days), ("expires_at", self.expires_days)):
            if days is not None:
                fields[name] = stage.clock.now + timedelta(days=days)
        if self.parent:
            fields["parents"] = [stage.id_of(self.parent)]
        return fields
