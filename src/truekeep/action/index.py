"""Index texts by the values and words in them, fed as they come in, so that a call is traced without reading them.

Values are found by their canonical form. A *loose* index, for hearsay, also finds disguises, regrouped digits and
copied passages; it recognises and never proves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from truekeep.action.keys import value_keys
from truekeep.action.segments import Segment, plain_words, segments_of
from truekeep.text.language import function_words
from truekeep.text.salient import Salient, Scan, loose, scan
from truekeep.text.salient.codes import digit_runs

_SHINGLE = 5
_PREFIX = 5
_MOST_SOUGHT = 24
_MOST_READ = 512


@dataclass(frozen=True, slots=True)
class Source:
    """One indexed text with what is known about how it came in."""

    id: str
    at: datetime | None
    channel: str
    principal: str | None
    segments: tuple[Segment, ...]
    keys: tuple[str, ...]
    first: int
    """The place of the first key; the others follow it one by one."""
    text: str = ""
    """The text as it was given, where it may prove something: some values have to be said sign by sign."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A value where it was found."""

    segment: Segment
    salient: Salient | None = None


@dataclass(slots=True)
class ValueIndex:
    """Texts by value and by word. ``is_loose`` is for hearsay, ``is_owners`` for the owner's own messages."""

    is_loose: bool = False
    is_owners: bool = False
    sources: dict[str, Source] = field(default_factory=dict)
    # Most keys occur once, so a lone hit stands for itself; ten thousand small dictionaries would cost more.
    _hits: dict[str, Hit | dict[int, Hit]] = field(default_factory=dict)
    _next: int = 0

    def add(
        self,
        source_id: str,
        text: str | Scan,
        *,
        at: datetime | None = None,
        channel: str = "",
        principal: str | None = None,
    ) -> None:
        """Index a text under its id; one that is there already is replaced."""
        self.discard(source_id)
        scanned = scan(text) if isinstance(text, str) else text
        segments = tuple(segments_of(source_id, scanned, split=self.is_owners))
        first = self._next + 1
        found = entries_of(segments, scanned, at, is_loose=self.is_loose, is_owners=self.is_owners)
        keys = tuple(self._insert(key, hit) for key, hit in found)
        said = text if isinstance(text, str) and not self.is_loose else ""
        self.sources[source_id] = Source(source_id, at, channel, principal, segments, keys, first, said)

    def _insert(self, key: str, hit: Hit) -> str:
        self._next += 1
        held = self._hits.get(key)
        if held is None:
            self._hits[key] = hit
        elif isinstance(held, dict):
            held[self._next] = hit
        else:
            self._hits[key] = {0: held, self._next: hit}
        return key

    def discard(self, source_id: str) -> None:
        """Forget a text."""
        source = self.sources.pop(source_id, None)
        for place, key in enumerate(source.keys, source.first) if source else ():
            held = self._hits.get(key)
            if isinstance(held, dict):
                held.pop(place if place in held else 0, None)
            if not held or isinstance(held, Hit):
                self._hits.pop(key, None)

    def find(self, key: str) -> Iterator[Hit]:
        """Where that key occurs, the latest first."""
        held = self._hits.get(key)
        if held is None:
            return iter(())
        return reversed(held.values()) if isinstance(held, dict) else iter((held,))

    def count(self, key: str) -> int:
        """How often that key occurs."""
        held = self._hits.get(key)
        return len(held) if isinstance(held, dict) else int(held is not None)

    def __contains__(self, key: str) -> bool:
        return key in self._hits

    def word(self, word: str) -> Iterator[Segment]:
        """The segments with that word, the latest first."""
        return (hit.segment for hit in self.find(f"word:{word}"))

    def beginning(self, word: str) -> Iterator[Segment]:
        """The segments with a word that begins like this one: "verify" finds "verification"."""
        key = f"word:{word}" if len(word) < _PREFIX else f"begins:{word[:_PREFIX]}"
        return (hit.segment for hit in self.find(key))

    def phrase(self, words: tuple[str, ...]) -> Iterator[Segment]:
        """The segments with all of these words next to each other, in this order."""
        if not words:
            return
        yield from self._phrase_among(words)

    def _phrase_among(self, words: tuple[str, ...]) -> Iterator[Segment]:
        known = {word: len(held) if isinstance(held, dict) else 1 for word in words if (held := self._held(word))}
        if not known or any(word not in known and word not in function_words() for word in words):
            return
        rarest = min(known, key=known.__getitem__)
        for hit in islice(ValueIndex.find(self, f"word:{rarest}"), _MOST_READ):
            if has_phrase(hit.segment.order, words):
                yield hit.segment

    def _held(self, word: str) -> Hit | dict[int, Hit] | None:
        return self._hits.get(f"word:{word}")

    def copies(self, text: str) -> Iterator[Segment]:
        """The segments from which a passage was copied; of a long text, as far as the samples kept show it."""
        words = plain_words(text)
        if len(words) <= _MOST_SOUGHT:
            # So few samples may all be missing, and another process would have kept others.
            for place in range(len(words) - _SHINGLE + 1):
                yield from self.phrase(words[place : place + _SHINGLE])
            return
        for shingle in _shingles(words):
            yield from (hit.segment for hit in self.find(f"copy:{shingle}"))


def entries_of(
    segments: tuple[Segment, ...],
    scanned: Scan,
    at: datetime | None,
    *,
    is_loose: bool = False,
    is_owners: bool = False,
    with_copies: bool = True,
) -> Iterator[tuple[str, Hit]]:
    """Every key under which a text is filed, with where it stands."""
    unindexed = scanned.language.roles
    for segment in segments:
        here = Hit(segment)
        for word in segment.words | segment.lexemes:
            if is_owners or word not in unindexed:
                yield f"word:{word}", here
        if is_owners or is_loose:
            for begin in {word[:_PREFIX] for word in segment.words if len(word) >= _PREFIX}:
                yield f"begins:{begin}", here
        for value in segment.values:
            hit = Hit(segment, value)
            for key in value_keys(value, at, is_loose=is_loose):
                yield key, hit
        if is_loose and with_copies:
            for shingle in _shingles(segment.order):
                yield f"copy:{shingle}", here
    if is_loose and segments:
        for digits in digit_runs(scanned.view.text):
            yield f"loose:{loose(digits)}", Hit(segments[0])
            yield f"looseid:{loose(digits)}", Hit(segments[0])


def has_phrase(order: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether the words stand next to each other in that order."""
    first, size = words[0], len(words)
    return any(word == first and order[place : place + size] == words for place, word in enumerate(order))


def _shingles(words: Iterable[str]) -> Iterator[int]:
    """A sample of the runs of five words; which ones are kept nobody outside this process can tell."""
    row = tuple(words)
    for place in range(len(row) - _SHINGLE + 1):
        sample = hash(row[place : place + _SHINGLE])
        if sample % 4 == 0:
            yield sample
