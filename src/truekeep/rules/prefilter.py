"""Which patterns could match a text at all: by three-letter strings, anywhere Python runs.

It serves until the quicker database has been compiled beside it, so that a scan never waits.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from truekeep.rules.pattern import Pattern
from truekeep.rules.pattern.measure import needs_beyond_ascii

_GRAM = 3
WORTH_PREPARING = 200
"""Scans after which a process is taken for a long-lived one; a short command would only waste the work."""


class Prefilter(Protocol):
    """Narrows down the patterns for one text. It may let too many through, never too few."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def far(self) -> Sequence[int]:
        """The numbers of the patterns that have to see a whole text, however long it is."""

    def candidates(self, text: str) -> Collection[int]:
        """The numbers of the patterns that could match ``text``."""


class PortablePrefilter:
    """An index from three-letter strings to the patterns that need them.

    Every match of a pattern contains one of its required strings. Each such string is filed under its rarest
    three letters; a text brings up only the strings filed under three letters that it has.
    """

    name = "portable"

    def __init__(self, patterns: Mapping[int, Pattern]) -> None:
        self._always: list[int] = []
        self._foreign: list[int] = []
        self._short: list[tuple[int, frozenset[str]]] = []
        wanted: list[tuple[str, int]] = []
        for number, pattern in patterns.items():
            strings = pattern.literals
            if not strings:
                (self._foreign if needs_beyond_ascii(pattern.node) else self._always).append(number)
            elif min(map(len, strings)) < _GRAM:
                self._short.append((number, strings))
            else:
                wanted.extend((string, number) for string in strings)
        self._index = _filed(wanted)
        self.far = tuple(number for number, pattern in patterns.items() if pattern.is_far)

    def candidates(self, text: str) -> Collection[int]:
        """The numbers of the patterns that could match ``text``."""
        lowered = text.lower()
        grams = {lowered[at : at + _GRAM] for at in range(len(lowered) - _GRAM + 1)}
        found = set(self._always) if text.isascii() else {*self._always, *self._foreign}
        found.update(number for number, strings in self._short if any(string in lowered for string in strings))
        for gram in grams & self._index.keys():
            for string, numbers in self._index[gram]:
                if string in lowered:
                    found.update(numbers)
        return sorted(found)


def _filed(wanted: Sequence[tuple[str, int]]) -> dict[str, list[tuple[str, tuple[int, ...]]]]:
    numbers: dict[str, list[int]] = {}
    for string, number in wanted:
        numbers.setdefault(string, []).append(number)
    common = Counter(gram for string in numbers for gram in _grams(string))
    index: dict[str, list[tuple[str, tuple[int, ...]]]] = {}
    for string, owners in numbers.items():
        rarest = min(_grams(string), key=lambda gram: (common[gram], gram))
        index.setdefault(rarest, []).append((string, tuple(owners)))
    return index


def _grams(string: str) -> list[str]:
    return [string[at : at + _GRAM] for at in range(len(string) - _GRAM + 1)]


class WarmingPrefilter:
    """One prefilter now, a faster one as soon as it is ready. Both give the same answers, so nobody can tell when."""

    def __init__(self, now: Prefilter, later: Callable[[], Prefilter]) -> None:
        self._current = now
        self._later = later
        self._scans = 0
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @property
    def name(self) -> str:
        """The prefilter in use at this moment."""
        return self._current.name

    @property
    def far(self) -> Sequence[int]:
        """The numbers of the patterns that have to see a whole text, however long it is."""
        return self._current.far

    def candidates(self, text: str) -> Collection[int]:
        """The numbers of the patterns that could match ``text``."""
        if self._thread is None:
            self._scans += 1
            if self._scans >= WORTH_PREPARING:
                self._start()
        return self._current.candidates(text)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the faster one is in use; false if it is not yet."""
        thread = self._start()
        thread.join(seconds)
        return not thread.is_alive()

    def _start(self) -> threading.Thread:
        with self._starting:
            if self._thread is None:
                # A daemon, so that nobody has to wait for it at the end.
                self._thread = threading.Thread(target=self._prepare, name="truekeep-rules", daemon=True)
                self._thread.start()
            return self._thread

    def _prepare(self) -> None:
        self._current = self._later()
