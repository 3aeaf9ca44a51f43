"""Index texts by the values and words in them, fed as they come in, so that a call is traced without reading them.

Values are found by their canonical form. A *loose* index, for hearsay, also finds disguises, regrouped digits and
copied passages; it recognises and never proves.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice, pairwise
from sys import intern

from truekeep.text import folded
from truekeep.text.clause import Clause, clauses
from truekeep.text.language import function_words
from truekeep.text.salient import Kind, Salient, Scan, loose, scan
from truekeep.text.salient.codes import digit_runs, host_of
from truekeep.text.salient.dates import resolved

_SHINGLE = 5
_PREFIX = 5
_MOST_READ = 512
_SPLIT = frozenset({"and", "then", ",", ";", "und", "et", "y", "e", "en", "a", "i", "oraz", "potom"})
_WORTH_SPLITTING = frozenset({Kind.MONEY, Kind.NUMBER, Kind.IBAN, Kind.CODE, Kind.EMAIL, Kind.WALLET, Kind.PHONE})
_TOKEN = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Segment:
    """A clause, or a part of one, of an indexed text: what a value in it is about."""

    source: str
    number: int
    subject: tuple[str, ...]
    attribute: tuple[str, ...]
    order: tuple[str, ...]
    clause_order: tuple[str, ...]
    lexemes: frozenset[str]
    """The words of the whole clause, as written and canonical; kept for the owner's messages only."""
    values: tuple[Salient, ...]
    is_negated: bool
    is_history: bool

    @property
    def words(self) -> frozenset[str]:
        """The words as they are written, in folded case."""
        return frozenset(self.order)


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
        segments = tuple(_segments(source_id, scanned, split=self.is_owners))
        first = self._next + 1
        keys = tuple(self._insert(key, hit) for key, hit in self._entries(segments, scanned, at))
        self.sources[source_id] = Source(source_id, at, channel, principal, segments, keys, first)

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
        known = [word for word in words if f"word:{word}" in self._hits]
        if not known or any(word not in known and word not in function_words() for word in words):
            return
        rarest = min(known, key=lambda word: self.count(f"word:{word}"))
        for segment in islice(self.word(rarest), _MOST_READ):
            if has_phrase(segment.order, words):
                yield segment

    def copies(self, text: str) -> Iterator[Segment]:
        """The segments from which a passage of the text was copied, as far as the samples kept show it."""
        for shingle in _shingles(_plain_words(text)):
            yield from (hit.segment for hit in self.find(f"copy:{shingle}"))

    def _entries(self, segments: tuple[Segment, ...], scanned: Scan, at: datetime | None) -> Iterator[tuple[str, Hit]]:
        unindexed = scanned.language.roles
        for segment in segments:
            here = Hit(segment)
            for word in segment.words | segment.lexemes:
                if self.is_owners or word not in unindexed:
                    yield f"word:{word}", here
            if self.is_owners or self.is_loose:
                for begin in {word[:_PREFIX] for word in segment.words if len(word) >= _PREFIX}:
                    yield f"begins:{begin}", here
            for value in segment.values:
                hit = Hit(segment, value)
                for key in value_keys(value, at, is_loose=self.is_loose):
                    yield key, hit
            if self.is_loose:
                for shingle in _shingles(segment.order):
                    yield f"copy:{shingle}", here
        if self.is_loose and segments:
            for digits in digit_runs(scanned.view.text):
                yield f"loose:{loose(digits)}", Hit(segments[0])
                yield f"looseid:{loose(digits)}", Hit(segments[0])


def has_phrase(order: tuple[str, ...], words: tuple[str, ...]) -> bool:
    """Whether the words stand next to each other in that order."""
    first, size = words[0], len(words)
    return any(word == first and order[place : place + size] == words for place, word in enumerate(order))


def value_keys(value: Salient, at: datetime | None, *, is_loose: bool) -> set[str]:
    """Everything a value can be looked up by."""
    keys = {value.key}
    if value.kind is Kind.MONEY:
        amount, _, currency = value.value.partition(" ")
        keys |= {f"amount:{amount}", f"currency:{currency}"}
    elif value.kind is Kind.DATE and at is not None:
        keys |= {f"date:{day}" for day in resolved(value.value, at)}
    elif value.kind in _ADDRESSES:
        keys.add(f"host:{host(value)}")
    if value.kind in JOINABLE:
        keys.add(f"joined:{joined(value.value)}")
    if is_loose:
        keys |= {f"loose:{loose(reading)}" for reading in (value.value, *value.also)}
        if value.kind in JOINABLE:
            keys |= {f"looseid:{loose(reading)}" for reading in (value.value, *value.also)}
        if value.kind is Kind.MONEY:
            keys |= {f"amount:{reading.partition(' ')[0]}" for reading in value.also}
        if value.kind in _ADDRESSES:
            keys.add(f"loosehost:{loose(host(value))}")
    return keys


_ADDRESSES = frozenset({Kind.URL, Kind.EMAIL, Kind.DOMAIN})
JOINABLE = frozenset({Kind.IBAN, Kind.CODE, Kind.PHONE, Kind.WALLET, Kind.EMAIL, Kind.URL, Kind.DOMAIN, Kind.NUMBER})


def host(value: Salient) -> str:
    """The host of a link, mail address or domain."""
    if value.kind is Kind.URL:
        return host_of(value.value)
    return value.value.rpartition("@")[2]


def joined(text: str) -> str:
    """A value as one run of letters and digits, for values that were split over several arguments."""
    return "".join(_TOKEN.findall(text)).casefold()


def _plain_words(text: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(folded(text)))


def _shingles(words: Iterable[str]) -> Iterator[int]:
    """A sample of the runs of five words; which ones are kept nobody outside this process can tell."""
    row = tuple(words)
    for place in range(len(row) - _SHINGLE + 1):
        sample = hash(row[place : place + _SHINGLE])
        if sample % 4 == 0:
            yield sample


def _segments(source_id: str, scanned: Scan, *, split: bool) -> Iterator[Segment]:
    number = 0
    starts = [value.span[0] for value in scanned.values]
    for clause in clauses(scanned):
        for start, end in _parts(scanned, clause) if split else [clause.span]:
            inside = tuple(scanned.values[bisect_left(starts, start) : bisect_left(starts, end)])
            yield _segment(source_id, number, scanned, clause, (start, end), inside, split)
            number += 1


def _parts(scanned: Scan, clause: Clause) -> list[tuple[int, int]]:
    """A clause cut at "and" and commas where more than one part has a value of its own."""
    first, last = clause.span
    cuts = [
        token.start
        for token, low in zip(scanned.tokens, scanned.lower, strict=True)
        if low in _SPLIT and first < token.start < last
    ]
    if not cuts:
        return [clause.span]
    spans = list(pairwise([first, *cuts, last]))
    telling = [v.span[0] for v in scanned.values if v.kind in _WORTH_SPLITTING and first <= v.span[0] < last]
    with_value = sum(any(start <= place < end for place in telling) for start, end in spans)
    return spans if with_value > 1 else [clause.span]


def _segment(
    source_id: str,
    number: int,
    scanned: Scan,
    clause: Clause,
    span: tuple[int, int],
    values: tuple[Salient, ...],
    is_owners: bool,
) -> Segment:
    order = _order(scanned, span)
    is_whole = span == clause.span
    return Segment(
        source=source_id,
        number=number,
        subject=clause.subject if is_whole else (),
        attribute=clause.attribute,
        order=order,
        clause_order=(order if is_whole else _order(scanned, clause.span)) if is_owners else (),
        lexemes=clause.words if is_owners else frozenset(),
        values=values,
        is_negated=clause.negations % 2 == 1,
        is_history=clause.tense == "past",
    )


def _order(scanned: Scan, span: tuple[int, int]) -> tuple[str, ...]:
    return tuple(map(intern, _plain_words(scanned.view.text[span[0] : span[1]])))
