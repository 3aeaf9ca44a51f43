"""A guard that brings no store of its own, put in front of a plain one: it decides about every text on its way in."""

from __future__ import annotations

from collections.abc import Sequence

from shelf import Shelf  # type: ignore[import-not-found]
from worker_loop import STORED, Entry, Hit, Vectors  # type: ignore[import-not-found]


class GuardedShelf:
    """The store that every such guard gets. A guard's worker overrides what its guard decides."""

    version = "1"
    has_gate = False

    def __init__(self, vectors: Vectors) -> None:
        self.shelf = Shelf(vectors)
        self._honest = 0

    def judged(self, entry: Entry, *, honest: bool) -> tuple[str, str]:
        """What becomes of a text, and the text as the guard leaves it. ``honest`` is the host's own way in."""
        del honest
        return STORED, entry.text

    def is_shown(self, _place: int) -> bool:
        """Whether a stored text may come up at all."""
        return True

    def may_act(self, _place: int) -> bool:
        """Whether a stored text may drive an action."""
        return True

    def forget(self, length: int) -> None:
        """Drop what the guard keeps about texts after the first so many."""

    def fill(self, entries: Sequence[Entry]) -> None:
        """Store every honest text that the guard lets through."""
        for entry in entries:
            self._taken(entry, honest=True)

    def filled(self) -> None:
        """Remember where the honest texts end."""
        self._honest = len(self.shelf)

    def plant(self, entries: Sequence[Entry]) -> list[str]:
        """Store every planted text that the guard lets through."""
        return [self._taken(entry, honest=False) for entry in entries]

    def recall(self, query: str, k: int) -> list[Hit]:
        """The nearest k that are shown."""
        found = self.shelf.best(query, k, self.is_shown)
        return [Hit(self.shelf.texts[place], self.may_act(place)) for place, _score in found]

    def acting(self, query: str, k: int) -> list[Hit]:
        """The nearest k that may act."""
        found = self.shelf.best(query, k, lambda place: self.is_shown(place) and self.may_act(place))
        return [Hit(self.shelf.texts[place], True) for place, _score in found]

    def reset(self) -> None:
        """Forget what was planted."""
        self.shelf.cut(self._honest)
        self.forget(self._honest)

    def _taken(self, entry: Entry, *, honest: bool) -> str:
        verdict, text = self.judged(entry, honest=honest)
        if verdict == STORED:
            self.shelf.add(text)
        return verdict
