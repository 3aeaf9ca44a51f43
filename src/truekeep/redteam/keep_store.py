"""A keep in a temporary home with honest memories in it: a store to measure, and fresh copies of it to attack."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from truekeep import __version__
from truekeep.config import Settings
from truekeep.embed import Embedder
from truekeep.keep import Keep
from truekeep.redteam.encoders import cached
from truekeep.redteam.figures import US, Progress, TurnedDown, silent
from truekeep.redteam.honest import Fact, facts, told
from truekeep.redteam.keep_target import KeepTarget
from truekeep.redteam.stage import Clock, Stage
from truekeep.redteam.store import HELD, OWNER, PAGE, REFUSED, STORED, SYSTEM, StoreHit, TextEntry
from truekeep.rules.registry import FILE as RULES
from truekeep.types import Decision, Verdict

KEEP = "arena"
_CONFIGURATION = ("config.toml", RULES)
Now = Callable[[], datetime]
COPIED = 10_000
"""Up to this size a reset is a fresh copy of the home; above it what was planted is revoked, which costs less."""
_BATCH = 256
_CAME = {Decision.ACCEPT: STORED, Decision.QUARANTINE: HELD, Decision.REJECT: REFUSED}
_KINDS = ("semantic", "episodic")
_PERSON = "eva"


class Home:
    """A directory with one keep in it, with the settings and rules of a real home and none of its keys."""

    def __init__(
        self,
        place: Path,
        settings: Settings,
        *,
        config: Path | None = None,
        embedder: Callable[[], Embedder | None] | None = None,
    ) -> None:
        """``embedder`` stands in for the one that the settings name."""
        self.place = place
        # Where keys and anchors of real keeps are is nothing to an attacked copy.
        self.settings = replace(settings, anchor="keys", master_key="")
        self._embedder = embedder or partial(cached, settings.embedder)
        place.mkdir(parents=True)
        for name in _CONFIGURATION:
            if config is not None and (file := config / name).is_file():
                shutil.copy(file, place / name)

    @contextmanager
    def opened(self, clock: Now) -> Iterator[Keep]:
        """The keep itself."""
        with self.opened_at(self.place, clock) as keep:
            yield keep

    @contextmanager
    def copied(self, to: Path, clock: Now) -> Iterator[Keep]:
        """The keep in a copy of the home, which is gone afterwards."""
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.place, to)
        try:
            with self.opened_at(to, clock) as keep:
                yield keep
        finally:
            shutil.rmtree(to, ignore_errors=True)

    @contextmanager
    def opened_at(self, place: Path, clock: Now, name: str = KEEP) -> Iterator[Keep]:
        """The keep, or one of another name, in a copy of the home."""
        with (
            _own_keys(),
            Keep.open(
                name, home=place, settings=self.settings, embedder=self._embedder, clock=clock, background=False
            ) as keep,
        ):
            yield keep


@contextmanager
def _own_keys() -> Iterator[None]:
    """Keys are made beside the copy, even where a variable moves those of real keeps."""
    moved = os.environ.pop("TRUEKEEP_KEYS", None)
    try:
        yield
    finally:
        if moved is not None:
            os.environ["TRUEKEEP_KEYS"] = moved


@dataclass(frozen=True, slots=True)
class Effort:
    """What a reviewer had to do."""

    decisions: int
    groups: int
    """Items that ask the same thing of the same source are one group, decided with one look."""


class KeepStore:
    """Honest memories come over the channels they belong to, an attacker's as pages."""

    def __init__(
        self,
        embedder: Embedder | None,
        *,
        settings: Settings | None = None,
        config: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        """``config`` is the directory whose rules the keep has. Hearsay informs unless the settings hold it back."""
        self.name = US
        self.version = __version__
        self.facts: list[Fact] = []
        self.size = 0
        self._folder = tempfile.TemporaryDirectory(prefix="truekeep-redteam-")
        self._home = Home(
            Path(self._folder.name) / "home",
            settings or Settings(policy="inform"),
            config=config,
            embedder=lambda: embedder,
        )
        self.settings = self._home.settings
        self._copy = Path(self._folder.name) / "attacked"
        self._progress = progress
        self._clock = Clock()
        self._open = ExitStack()
        self._keep: Keep | None = None
        self._turned_down = TurnedDown()
        self._last = ""
        self._planted_in_copy = self._planted_here = False

    @classmethod
    def holding(
        cls, size: int, settings: Settings, *, seed: int = 0, config: Path | None = None, progress: Progress = silent
    ) -> Self:
        """A keep with so many honest memories, found by the embedder of the settings."""
        made = cls(cached(settings.embedder), settings=settings, config=config, progress=progress)
        made.facts = facts(size, seed)
        try:
            made.fill(told(made.facts))
        except BaseException:
            made.close()
            raise
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def turned_down(self) -> TurnedDown:
        """How many honest texts, those of pages aside, were rejected or held instead of stored."""
        return self._turned_down

    @contextmanager
    def stage(self) -> Iterator[Stage]:
        """A copy of the keep as a target, to be attacked and thrown away."""
        with self.copied() as (keep, clock), ExitStack() as others:

            def opened(name: str) -> Keep:
                return others.enter_context(self._home.opened_at(self._copy, clock, name))

            yield Stage(KeepTarget(keep, self._copy, clock, self._last, opened), clock)

    @contextmanager
    def copied(self) -> Iterator[tuple[Keep, Clock]]:
        """A copy of the keep and its clock, thrown away in the end."""
        self._let_go()
        clock = Clock()
        with self._home.copied(self._copy, clock) as keep:
            yield keep, clock

    def fill(self, entries: Sequence[TextEntry]) -> None:
        """The owner's words over ``user``, a system's over its enrolled channel, a page's over ``web``."""
        keep = self._current()
        for system in dict.fromkeys(entry.source for entry in entries if entry.by == SYSTEM):
            keep.channels.enrol(system, by="operator", reason="a system of ours")
        for via, batch in _batches(entries):
            verdicts = keep.remember_many([_fields(entry) for entry in batch], via=via, skip_rejected=True)
            if via != "web":
                came = [_came(verdict) for verdict in verdicts]
                self._turned_down += TurnedDown(came.count(REFUSED), came.count(HELD), len(came))
            stored = [verdict.memory_id for verdict in verdicts if verdict.accepted and verdict.memory_id]
            self._last = stored[-1] if stored else self._last
            self.size += len(batch)
            self._progress(f"honest keep of {len(entries):,}", self.size, len(entries))

    def plant(self, entries: Sequence[TextEntry]) -> list[str]:
        """As pages that were read, with what they claim handed on wherever a keep takes it."""
        keep = self._attacked()
        if len(entries) == 1:
            return [_came(keep.remember(**_fields(entries[0], entries[0].claims), via="web"))]
        given = [_fields(entry, entry.claims) for entry in entries]
        return [_came(verdict) for verdict in keep.remember_many(given, via="web", skip_rejected=True)]

    def recall(self, query: str, k: int) -> list[StoreHit]:
        """Plain recall; what is blocked shows no text and cannot act."""
        return _hits(self._current(), query, k, influence_only=False)

    def acting(self, query: str, k: int) -> list[StoreHit]:
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
        if self.size > COPIED:
            self._clock.wait(seconds=1)
            self._planted_here = True
            return self._current()
        self._let_go()
        self._keep = self._open.enter_context(self._home.copied(self._copy, self._clock))
        self._planted_in_copy = True
        return self._keep

    def _let_go(self) -> None:
        self._open.close()
        self._open = ExitStack()
        self._keep = None
        self._planted_in_copy = False


def _batches(entries: Sequence[TextEntry]) -> Iterator[tuple[str, Sequence[TextEntry]]]:
    for via, run in groupby(entries, _channel):
        said = list(run)
        for first in range(0, len(said), _BATCH):
            yield via, said[first : first + _BATCH]


def _channel(entry: TextEntry) -> str:
    return {OWNER: "user", PAGE: "web"}.get(entry.by, entry.source)


def _fields(entry: TextEntry, claims: Mapping[str, Any] | None = None) -> dict[str, Any]:
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


def _hits(keep: Keep, query: str, k: int, *, influence_only: bool) -> list[StoreHit]:
    hits = keep.recall(query, k=k, influence_only=influence_only)
    return [StoreHit(hit.text, hit.may_act and not hit.blocked) for hit in hits]
