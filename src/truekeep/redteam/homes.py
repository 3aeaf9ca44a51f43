"""The home of a keep that is built once, and copies of it to be attacked and thrown away."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from truekeep.config import Settings
from truekeep.embed import Embedder
from truekeep.keep import Keep
from truekeep.redteam.influence.stage import Clock
from truekeep.redteam.influence.vectors import cached
from truekeep.rules.registry import FILE as RULES

KEEP = "arena"
_CONFIGURATION = ("config.toml", RULES)


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
    def opened(self, clock: Clock | None = None) -> Iterator[Keep]:
        """The keep itself."""
        with self.opened_at(self.place, clock or Clock()) as keep:
            yield keep

    @contextmanager
    def copied(self, to: Path, clock: Clock) -> Iterator[Keep]:
        """The keep in a copy of the home, which is gone afterwards."""
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.place, to)
        try:
            with self.opened_at(to, clock) as keep:
                yield keep
        finally:
            shutil.rmtree(to, ignore_errors=True)

    @contextmanager
    def opened_at(self, place: Path, clock: Clock, name: str = KEEP) -> Iterator[Keep]:
        """The keep, or one of another name, in a copy of the home."""
        with (
            _own_keys(),
            Keep.open(name, home=place, settings=self.settings, embedder=self._embedder, clock=clock) as keep,
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
