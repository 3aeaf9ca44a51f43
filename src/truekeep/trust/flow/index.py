"""Texts by the values and words in them, so that one value is looked up without reading every text.

Adding a text costs time linear in it, once; a look-up costs what it finds. The same index serves memories, notes and
foreign texts: strictly, where a value has to prove something, and by its disguise, where hearsay has to be recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from truekeep.trust.flow.forms import common_words
from truekeep.trust.flow.reading import (
    SHORTEST_DISGUISE,
    TextReading,
    disguised,
    disguises_of,
    normal,
    pairs,
    read,
    stem,
)

_GLUE = frozenset("@._/:\\-+~#=&")
_DOTTED = frozenset("._~")
RARE = 20
"""A word that stands in more memories than this tells none of them apart."""
_MOST_LOOKED_AT = 400
"""Texts looked at for one value made of common words; beyond that it tells nothing apart anyway."""

_LEFT_MOST = 250_000
"""Characters of texts that are not read which are kept to be searched for plain letters: what expands or never ends
costs no more than that. Beyond them everything counts as said."""


@dataclass(frozen=True, slots=True)
class HeldText:
    """One text that is evidence: who it is from, when it was said, and its reading."""

    id: str
    origin: str
    at: datetime | None
    raw: str
    reading: TextReading


@dataclass(slots=True)
class TextIndex:
    """Texts under ids, found by value, by word and by disguise."""

    texts: dict[str, HeldText] = field(default_factory=dict)
    _keys: dict[str, list[str]] = field(default_factory=dict)
    _stems: dict[str, list[str]] = field(default_factory=dict)
    _disguises: dict[str, list[str]] = field(default_factory=dict)
    _hosts: dict[str, set[str]] = field(default_factory=dict)
    _left: list[str] = field(default_factory=list)
    _left_flat: list[str] = field(default_factory=list)
    _room: int = _LEFT_MOST

    def add(self, name: str, text: str, *, origin: str = "", at: datetime | None = None) -> None:
        """Take in a text under a name that is not taken yet."""
        reading = read(text, at)
        self.texts[name] = HeldText(name, origin or name, at, text, reading)
        for key in reading.keys:
            self._keys.setdefault(key, []).append(name)
        for value in reading.values:
            if value.kind in ("host", "mail"):
                self._hosts.setdefault(value.kind, set()).add(value.form.rpartition("@")[2].removeprefix("www."))
        for word in reading.stems:
            self._stems.setdefault(word, []).append(name)
        for form in disguises_of(text, reading):
            self._disguises.setdefault(form, []).append(name)

    def leave(self, text: str) -> None:
        """Note a text that is not read value by value, so that a value which is not found may still stand in it."""
        if self._room >= 0:
            self._room -= len(text)
            self._left.append(text[: self._room] if self._room < 0 else text)

    @property
    def is_cut_short(self) -> bool:
        """Whether not everything was read: that something was not found then proves nothing."""
        return self._room < _LEFT_MOST

    def left_say(self, spelt: str) -> bool:
        """Whether these letters stand, or may stand, in a text that was left. Made normal when first asked."""
        self._left_flat += map(normal, self._left)
        self._left.clear()
        return self._room < 0 or any(spelt in flat for flat in self._left_flat)

    def remove(self, name: str) -> None:
        """Forget a text; what it was found by goes with it."""
        held = self.texts.pop(name, None)
        if held is None:
            return
        for table, forms in (
            (self._keys, held.reading.keys),
            (self._stems, held.reading.stems),
            (self._disguises, set(disguises_of(held.raw, held.reading))),
        ):
            for form in forms:
                table[form] = [other for other in table[form] if other != name]

    def holding(self, value: TextReading) -> Iterator[HeldText]:
        """Texts in which a value stands whole, newest additions first."""
        found = {name: None for key in value.sole for name in reversed(self._keys.get(key, ()))}
        found |= {name: None for name in self._by_words(value) if stands_whole(self.texts[name].reading, value)}
        return (self.texts[name] for name in found)

    def sharing(self, words: Iterable[str]) -> Iterator[HeldText]:
        """Texts that share one of these stems."""
        names = {name: None for word in words for name in self._stems.get(word, ())[-_MOST_LOOKED_AT:]}
        return (self.texts[name] for name in names)

    def hinting(self, value: TextReading) -> Iterator[HeldText]:
        """Texts in which a value, or something that could pass for it, stands in whatever disguise."""
        form = disguised(value.flat)
        forms = (form, form[::-1]) if len(form) >= SHORTEST_DISGUISE else ()
        found = dict.fromkeys(name for one in forms for name in self._disguises.get(one, ()))
        for key in value.sole:
            found |= dict.fromkeys(self._keys.get(key, ()))
        found |= {name: None for name in self._by_words(value) if run_at(self.texts[name].reading, value.words) >= 0}
        return (self.texts[name] for name in found)

    def hosts(self, kind: str) -> frozenset[str]:
        """The hosts that values of a kind, links or addresses, ever had in these texts."""
        return frozenset(self._hosts.get(kind, ()))

    def counts(self, word: str) -> int:
        """In how many texts a stem stands."""
        return len(self._stems.get(word, ()))

    def _by_words(self, value: TextReading) -> list[str]:
        """Texts that hold the rarest word of a value."""
        rows = [self._stems.get(stem(word), []) for word in value.words]
        rarest: list[str] = min(rows, key=len, default=[])
        return rarest[-_MOST_LOOKED_AT:][::-1]


def _is_cjk(char: str) -> bool:
    return "\u3400" <= char <= "\u9fff"


def stands_whole(text: TextReading, value: TextReading) -> bool:
    """Whether a value stands in a text as it is, and not as a part of a longer path, command, number or name."""
    return next(places_of(text, value), -1) >= 0


def places_of(text: TextReading, value: TextReading) -> Iterator[int]:
    """Where a value stands whole in a text."""
    for found in text.values:
        if found.key in value.sole:
            yield found.start
    bare = value.flat.strip()
    start = text.flat.find(bare) if bare else -1
    while start >= 0:
        end = start + len(bare)
        if _ends_left(text, start) and _ends_right(text, end, text.cased[start:end]):
            yield start
        start = text.flat.find(bare, end)


def _ends_left(text: TextReading, start: int) -> bool:
    flat = text.flat
    if start == 0 or _is_cjk(flat[start]) or _is_cjk(flat[start - 1]):
        return True
    if flat[start - 1].isalnum():
        return False
    return not (flat[start - 1] in _GLUE and start > 1 and flat[start - 2].isalnum())


def _ends_right(text: TextReading, end: int, cased: str) -> bool:
    flat = text.flat
    if end == len(flat) or _is_cjk(flat[end]) or _is_cjk(flat[end - 1]):
        return True
    if flat[end].isalnum():
        return False
    # A path goes on after "reports" in "reports/.venv", too.
    after = end + 1 + (flat[end] in _GLUE and flat[end + 1 : end + 2] in _DOTTED)
    if flat[end] in _GLUE and flat[after : after + 1].isalnum():
        return False
    # "Anna" is not the whole of "Anna Kowalski".
    is_name = cased[:1].isupper() and cased.replace(" ", "").isalpha()
    return not (is_name and flat[end] == " " and text.cased[end + 1 : end + 2].isupper())


def run_at(text: TextReading, words: tuple[str, ...]) -> int:
    """Where these words stand in a row, in any form of theirs; -1 if nowhere."""
    wanted = [stem(word) for word in words]
    if not wanted or not text.stems.issuperset(wanted):
        return -1
    have = [stem(word) for word in text.words]
    for place in range(len(have) - len(wanted) + 1):
        start, end = text.spans[place][1], text.spans[place + len(wanted) - 1][2]
        is_run = have[place : place + len(wanted)] == wanted
        if is_run and _ends_left(text, start) and _ends_right(text, end, text.cased[start:end]):
            return start
    return -1


def naming(words: Iterable[str], shared: frozenset[str]) -> frozenset[str]:
    """Stems of the words that name something: no function words, legal forms or single letters."""
    common, row = common_words(), list(words)
    found = {stem(word) for word in row if word not in common and word not in shared and len(word) > 1}
    return frozenset(found | pairs(word for word in row if word not in common))
