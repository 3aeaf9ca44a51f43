"""Our own keep as a defence: honest memories over the channels they belong to, an attacker's as pages."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from truekeep import __version__
from truekeep.config import Settings
from truekeep.embed import Embedder
from truekeep.keep import Keep
from truekeep.redteam.defences.store import HELD, OWNER, PAGE, REFUSED, STORED, SYSTEM, Entry, Hit
from truekeep.redteam.influence.home import Home
from truekeep.redteam.influence.outcome import Rate
from truekeep.redteam.influence.stage import Clock
from truekeep.redteam.row import US
from truekeep.types import Decision, Verdict

COPIED = 10_000
"""Up to this size a reset is a fresh copy of the home; above it what was planted is revoked, which costs less."""
_BATCH = 256
_CAME = {Decision.ACCEPT: STORED, Decision.QUARANTINE: HELD, Decision.REJECT: REFUSED}
_KINDS = ("semantic", "episodic")
_PERSON = "eva"


@dataclass(frozen=True, slots=True)
class Effort:
    """What a reviewer had to do."""

    decisions: int
    groups: int
    """Items that ask the same thing of the same source are one group, decided with one look."""


class KeepStore:
    """A keep in a temporary home."""

    def __init__(
        self,
        embedder: Embedder | None,
        *,
        settings: Settings | None = None,
        config: Path | None = None,
        name: str = US,
    ) -> None:
        """``config`` is the directory whose rules the keep has. Hearsay informs unless the settings hold it back."""
        self.name = name
        self.version = __version__
        self._folder = tempfile.TemporaryDirectory(prefix="truekeep-redteam-")
        self._home = Home(
            Path(self._folder.name) / "home",
            settings or Settings(policy="inform"),
            config=config,
            embedder=lambda: embedder,
        )
        self._clock = Clock()
        self._open = ExitStack()
        self._keep: Keep | None = None
        self._size = self._not_stored = self._said = 0
        self._planted_in_copy = self._planted_here = False

    @property
    def turned_down(self) -> Rate:
        """How many honest texts, those of pages aside, were refused or held."""
        return Rate(self._not_stored, self._said)

    def fill(self, entries: Sequence[Entry]) -> None:
        """The owner's words over ``user``, a system's over its enrolled channel, a page's over ``web``."""
        keep = self._current()
        for system in dict.fromkeys(entry.source for entry in entries if entry.by == SYSTEM):
            keep.channels.enrol(system, by="operator", reason="a system of ours")
        for via, batch in _batches(entries):
            verdicts = keep.remember_many([_fields(entry) for entry in batch], via=via, skip_rejected=True)
            if via != "web":
                self._said += len(verdicts)
                self._not_stored += sum(not verdict.accepted for verdict in verdicts)
        self._size = len(entries)

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """As pages that were read, with what they claim handed on wherever a keep takes it."""
        keep = self._attacked()
        if len(entries) == 1:
            return [_came(keep.remember(**_fields(entries[0], entries[0].claims), via="web"))]
        given = [_fields(entry, entry.claims) for entry in entries]
        return [_came(verdict) for verdict in keep.remember_many(given, via="web", skip_rejected=True)]

    def recall(self, query: str, k: int) -> list[Hit]:
        """Plain recall; what is blocked shows no text and cannot act."""
        return _hits(self._current(), query, k, influence_only=False)

    def acting(self, query: str, k: int) -> list[Hit]:
        """Recall among what may act."""
        return _hits(self._current(), query, k, influence_only=True)

    def reset(self) -> None:
        """Throw the attacked copy away; in a large keep, revoke what was planted."""
        if self._planted_in_copy:
            self._let_go()
        elif self._planted_here:
            self._current().revoke(channel="web", since=self._clock.now, reason="planted by the red team")
        self._planted_in_copy = self._planted_here = False

    def review(self) -> Effort:
        """Let a person approve all that waits; they look at each group once."""
        review = self._current().review
        groups, items = len(review.groups()), review.list()
        for item in items:
            review.approve(item.id, by=_PERSON, reason="read and found true")
        return Effort(len(items), groups)

    def close(self) -> None:
        """Remove the home."""
        self._let_go()
        self._folder.cleanup()

    def _current(self) -> Keep:
        if self._keep is None:
            self._keep = self._open.enter_context(self._home.opened(self._clock))
        return self._keep

    def _attacked(self) -> Keep:
        """The keep to plant in: a copy, or this one where copying costs too much."""
        if self._planted_in_copy or self._planted_here:
            return self._current()
        if self._size > COPIED:
            self._clock.wait(seconds=1)
            self._planted_here = True
            return self._current()
        self._let_go()
        self._keep = self._open.enter_context(self._home.copied(Path(self._folder.name) / "attacked", self._clock))
        self._planted_in_copy = True
        return self._keep

    def _let_go(self) -> None:
        self._open.close()
        self._open = ExitStack()
        self._keep = None


def _batches(entries: Sequence[Entry]) -> Iterator[tuple[str, Sequence[Entry]]]:
    for via, run in groupby(entries, _channel):
        said = list(run)
        for first in range(0, len(said), _BATCH):
            yield via, said[first : first + _BATCH]


def _channel(entry: Entry) -> str:
    return {OWNER: "user", PAGE: "web"}.get(entry.by, entry.source)


def _fields(entry: Entry, claims: Mapping[str, Any] | None = None) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": entry.text}
    if entry.by == PAGE:
        fields["principal"] = entry.source
    if claims:
        fields["metadata"] = dict(claims)
        fields["topics"] = list(claims.get("tags", ()))
        if claims.get("type") in _KINDS:
            fields["kind"] = claims["type"]
    return fields


def _came(verdict: Verdict) -> str:
    return _CAME[verdict.decision]


def _hits(keep: Keep, query: str, k: int, *, influence_only: bool) -> list[Hit]:
    hits = keep.recall(query, k=k, influence_only=influence_only)
    return [Hit(hit.text, hit.may_act and not hit.blocked) for hit in hits]
