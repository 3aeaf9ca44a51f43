"""Steps that write: remember in every dress, plant, change, delete, import, merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from truekeep.redteam.sources import made_up, near_copy
from truekeep.redteam.stage import Stage, Step

_AT_ONCE = 250


_FIELDS = ("kind", "topics", "entities", "metadata", "quote")


@dataclass(frozen=True, kw_only=True)
class Remember(Step):
    """Write one text, or many near-copies of it from as many made-up sources."""

    via: str
    text: str
    copies: int = 1
    sources: str = ""
    """How the sources of the copies are made up; without it all have ``principal``."""
    principal: str | None = None
    session: str | None = None
    kind: str = "semantic"
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    quote: str | None = None
    parents: tuple[str, ...] = ()
    """What the steps called the memories that it is said to be derived from."""
    forged: Mapping[str, Any] = field(default_factory=dict)
    """Fields that no caller has any business to pass."""
    since_days: float | None = None
    """Since when it holds, counted from now; before zero is the past."""
    expires_days: float | None = None
    called: str = ""

    def play(self, stage: Stage) -> None:
        """All copies at once."""
        names = made_up(self.sources, self.copies) if self.sources else (self.principal,) * self.copies
        entries: list[dict[str, Any]] = [
            {"text": near_copy(self.text, number)} | ({"principal": name} if name is not None else {})
            for number, name in enumerate(names)
        ]
        stage.noted(stage.target.remember(self.via, self.session, entries, self._fields(stage)), self.called)

    def _fields(self, stage: Stage) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in _FIELDS}
        fields = {name: value for name, value in plain.items() if value not in (None, (), {})} | dict(self.forged)
        if self.parents:
            fields["parents"] = [stage.id_of(parent) for parent in self.parents]
        for name, days in (("as_of", self.since_days), ("expires_at", self.expires_days)):
            if days is not None:
                fields[name] = stage.clock.now + timedelta(days=days)
        return fields


@dataclass(frozen=True, kw_only=True)
class Drip(Step):
    """Write near-copies one by one, each in a session of its own, with time in between."""

    via: str
    text: str
    copies: int
    sources: str = ""
    hours: float = 1.0

    def play(self, stage: Stage) -> None:
        """Slowly."""
        names = made_up(self.sources, self.copies) if self.sources else (None,) * self.copies
        for number, name in enumerate(names):
            entry = {"text": near_copy(self.text, number)}
            fields = {"principal": name} if name else {}
            stage.noted(stage.target.remember(self.via, f"drip-{self.via}-{number}", [entry], fields))
            stage.clock.wait(hours=self.hours)


@dataclass(frozen=True, kw_only=True)
class RememberMany(Step):
    """Write a batch as it stands."""

    via: str
    entries: tuple[Mapping[str, Any], ...]
    session: str | None = None

    def play(self, stage: Stage) -> None:
        """In one transaction, where the target has such."""
        stage.noted(stage.target.remember(self.via, self.session, self.entries, {}))


@dataclass(frozen=True, kw_only=True)
class Update(Step):
    """Offer new content for a memory."""

    of: str
    via: str
    text: str
    principal: str | None = None
    session: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_days: float | None = None

    def play(self, stage: Stage) -> None:
        """Whoever holds the channel."""
        fields: dict[str, Any] = {"metadata": self.metadata} if self.metadata else {}
        if self.principal is not None:
            fields["principal"] = self.principal
        if self.expires_days is not None:
            fields["expires_at"] = stage.clock.now + timedelta(days=self.expires_days)
        stage.noted([stage.target.update(self.via, self.session, stage.id_of(self.of), self.text, fields)])

    @property
    def voices(self) -> tuple[str, ...]:
        """One."""
        return (self.principal or self.via,)


@dataclass(frozen=True, kw_only=True)
class Delete(Step):
    """Delete a memory, or have it proposed."""

    of: str
    via: str

    def play(self, stage: Stage) -> None:
        """Whoever holds the channel."""
        stage.noted([stage.target.delete(self.via, stage.id_of(self.of))])


@dataclass(frozen=True, kw_only=True)
class Restore(Step):
    """Bring an earlier version of a memory back."""

    of: str
    via: str
    version: int | None = None

    def play(self, stage: Stage) -> None:
        """Whoever holds the channel."""
        stage.noted([stage.target.restore(self.via, stage.id_of(self.of), self.version)])


@dataclass(frozen=True, kw_only=True)
class Import(Step):
    """Import a file that says about itself whatever it likes."""

    lines: tuple[Mapping[str, Any], ...]

    def play(self, stage: Stage) -> None:
        """As people do."""
        stage.target.import_file(self.lines)

    @property
    def voices(self) -> tuple[str, ...]:
        """The file's, line by line."""
        return ("import",) * len(self.lines)


@dataclass(frozen=True, kw_only=True)
class Consolidate(Step):
    """Everything that is remembered more than once is merged."""

    def play(self, stage: Stage) -> None:
        """As the operator does, who means well."""
        stage.target.consolidate()


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

    @property
    def voices(self) -> tuple[str, ...]:
        """Each text's."""
        return tuple(name or self.via for _, name in self.entries)

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
