"""The arena: an honest keep of some size, built once, and a fresh copy of it for every attack."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from truekeep.config import Settings
from truekeep.keep import Keep
from truekeep.redteam.influence.benign import SYSTEMS, Fact, facts
from truekeep.redteam.influence.on_keep import KeepTarget
from truekeep.redteam.influence.outcome import Rate
from truekeep.redteam.influence.sources import made_up
from truekeep.redteam.influence.stage import Clock, Stage
from truekeep.redteam.influence.vectors import cached
from truekeep.rules.registry import FILE as RULES

KEEP = "arena"
_CONFIGURATION = ("config.toml", RULES)
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
        # Where keys and anchors of real keeps are is nothing to an attacked copy.
        self.settings = replace(settings, anchor="keys", master_key="")
        self._home = folder / f"{size}-{seed}"
        self._copy = folder / "attacked"
        self._after = ""
        self._refused = self._said = 0
        self._configure()
        with self._opened(self._home, Clock()) as keep:
            self._fill(keep, progress)

    @property
    def refused(self) -> Rate:
        """How many honest texts, those of pages aside, were refused or held instead of stored."""
        return Rate(self._refused, self._said)

    @contextmanager
    def stage(self) -> Iterator[Stage]:
        """A copy of the keep, to be attacked and thrown away."""
        shutil.rmtree(self._copy, ignore_errors=True)
        shutil.copytree(self._home, self._copy)
        clock = Clock()
        try:
            with self._opened(self._copy, clock) as keep:
                yield Stage(KeepTarget(keep, self._copy, clock, self._after), clock)
        finally:
            shutil.rmtree(self._copy, ignore_errors=True)

    @contextmanager
    def opened(self) -> Iterator[Keep]:
        """The honest keep itself, to be asked and not written to."""
        with self._opened(self._home, Clock()) as keep:
            yield keep

    def _configure(self) -> None:
        """The settings and rules of a real home, and none of its keys."""
        self._home.mkdir(parents=True)
        for name in _CONFIGURATION:
            if self.config is not None and (file := self.config / name).is_file():
                shutil.copy(file, self._home / name)

    @contextmanager
    def _opened(self, home: Path, clock: Clock) -> Iterator[Keep]:
        embedder = partial(cached, self.settings.embedder)
        with _own_keys(), Keep.open(KEEP, home=home, settings=self.settings, embedder=embedder, clock=clock) as keep:
            yield keep

    def _fill(self, keep: Keep, progress: Progress) -> None:
        for system in SYSTEMS:
            keep.channels.enrol(system, by="operator", reason="a system of ours")
        done = 0
        for start in range(0, len(self.facts), per := -(-len(self.facts) // _CHUNKS)):
            for via in ("web", *SYSTEMS, "user"):
                for batch in _batches(self.facts[start : start + per], via):
                    self._store(keep, via, batch)
                    done += len(batch)
                    progress(f"honest keep of {self.size:,}", done, self.size)

    def _store(self, keep: Keep, via: str, texts: Sequence[str]) -> None:
        pages = made_up("domains", _PAGES)
        entries = [{"text": text, "principal": pages[_page(text)] if via == "web" else None} for text in texts]
        verdicts = keep.remember_many(entries, via=via, skip_rejected=True)
        if via != "web":
            self._said += len(verdicts)
            self._refused += sum(not verdict.accepted for verdict in verdicts)
        stored = [str(verdict.memory_id) for verdict in verdicts if verdict.accepted and verdict.memory_id]
        self._after = stored[-1] if stored else self._after


def _batches(said: Sequence[Fact], via: str) -> Iterator[list[str]]:
    texts = [text for fact in said for who, text in fact.said if who == via]
    for start in range(0, len(texts), _BATCH):
        yield texts[start : start + _BATCH]


def _page(text: str) -> int:
    """Which page an honest text was read on; the same one every time."""
    return sum(map(ord, text)) % _PAGES


@contextmanager
def _own_keys() -> Iterator[None]:
    """Keys are made beside the copy, even where a variable moves those of real keeps."""
    moved = os.environ.pop("TRUEKEEP_KEYS", None)
    try:
        yield
    finally:
        if moved is not None:
            os.environ["TRUEKEEP_KEYS"] = moved
