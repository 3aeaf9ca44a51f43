"""The arena: an honest keep of some size, built once, and a fresh copy of it for every attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from truekeep.config import Settings
from truekeep.keep import Keep
from truekeep.redteam.influence.benign import SYSTEMS, Fact, facts
from truekeep.redteam.influence.home import Home
from truekeep.redteam.influence.on_keep import KeepTarget
from truekeep.redteam.influence.outcome import Rate
from truekeep.redteam.influence.sources import made_up
from truekeep.redteam.influence.stage import Clock, Stage

_CHUNKS = 8
_BATCH = 256
_PAGES = 200

Progress = Callable[[str, int, int], None]
"""Told what is being done, and how much of how much is."""


def silent(what: str, done: int, total: int) -> None:
    """The progress of somebody who is not looking."""


class Arena:
    """An honest keep in a directory, and copies of it to attack."""

    def __init__(
        self,
        folder: Path,
        size: int,
        settings: Settings,
        *,
        seed: int = 0,
        config: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        self.size = size
        self.config = config
        self.facts = facts(size, seed)
        self._home = Home(folder / f"{size}-{seed}", settings, config=config)
        self.settings = self._home.settings
        self._copy = folder / "attacked"
        self._after = ""
        self._refused = self._said = 0
        with self._home.opened() as keep:
            self._fill(keep, progress)

    @property
    def refused(self) -> Rate:
        """How many honest texts, those of pages aside, were refused or held instead of stored."""
        return Rate(self._refused, self._said)

    @contextmanager
    def stage(self) -> Iterator[Stage]:
        """A copy of the keep, to be attacked and thrown away."""
        with self.copied() as (keep, clock), ExitStack() as others:

            def opened(name: str) -> Keep:
                return others.enter_context(self._home.opened_at(self._copy, clock, name))

            yield Stage(KeepTarget(keep, self._copy, clock, self._after, opened), clock)

    @contextmanager
    def copied(self) -> Iterator[tuple[Keep, Clock]]:
        """A copy of the keep and its clock, thrown away in the end."""
        clock = Clock()
        with self._home.copied(self._copy, clock) as keep:
            yield keep, clock

    @contextmanager
    def opened(self) -> Iterator[Keep]:
        """The honest keep itself, to be asked and not written to."""
        with self._home.opened() as keep:
            yield keep

    def _fill(self, keep: Keep, progress: Progress) -> None:
        for system in SYSTEMS:
            keep.channels.enrol(system, by="operator", reason="a system of ours")
        done = 0
        for via, batch in batches(self.facts):
            self._store(keep, via, batch)
            done += len(batch)
            progress(f"honest keep of {self.size:,}", done, self.size)

    def _store(self, keep: Keep, via: str, texts: Sequence[str]) -> None:
        entries = [{"text": text, "principal": page_of(text) if via == "web" else None} for text in texts]
        verdicts = keep.remember_many(entries, via=via, skip_rejected=True)
        if via != "web":
            self._said += len(verdicts)
            self._refused += sum(not verdict.accepted for verdict in verdicts)
        stored = [str(verdict.memory_id) for verdict in verdicts if verdict.accepted and verdict.memory_id]
        self._after = stored[-1] if stored else self._after


def batches(said: Sequence[Fact]) -> Iterator[tuple[str, list[str]]]:
    """Channels and what is said over them, in the order in which it comes in: by stretches, the pages first in each.

    What a page had first no longer corroborates, so this order is the harder one for an honest keep.
    """
    for start in range(0, len(said), per := -(-len(said) // _CHUNKS)):
        for via in ("web", *SYSTEMS, "user"):
            texts = [text for fact in said[start : start + per] for who, text in fact.said if who == via]
            for first in range(0, len(texts), _BATCH):
                yield via, texts[first : first + _BATCH]


def page_of(text: str) -> str:
    """Which page an honest text was read on; the same one every time."""
    return made_up("domains", _PAGES)[sum(map(ord, text)) % _PAGES]
