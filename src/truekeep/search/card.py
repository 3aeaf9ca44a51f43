"""The index card of a memory: everything the index needs to know of its text, as one small BLOB.

A store keeps the card in the record's row, inside the encrypted file and under the record's MAC,
so that opening a keep neither tokenizes nor stems anything. Layout, in little-endian 32-bit words::

    version << 24 | flags << 16 | said << 8 | number of speaker terms    day    thread (2)    wording (2)
    number of terms    bytes of values    bytes of the model's name    bytes of its packed vector
    speaker terms    terms    values    the model's name    its packed vector

The values are what the act boundary finds the text by; search only keeps them. Zeros before the vector fill up the
last word. How often the owner said it, what of the essentials it says and whether it is pinned stand in the first word,
so that a snapshot is put in order without reading the texts.

Long texts have *windows*: parts that get vectors of their own, so that one fact among many can be found. A message that
rambles over five things is near to none of them as a whole. Its parts are; the best speaks for it.
"""

from __future__ import annotations

import hashlib
import re
import struct
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Self

from truekeep.search.terms import (
    KINDS,
    essential_in,
    is_read_in_pieces,
    labels,
    pieces,
    search_words,
    term,
    wording,
)
from truekeep.text.analysis import analysed
from truekeep.text.words import words

VERSION = 4
"""Raised when cards come to say something else; the layout is the same as that of version 1."""
_READABLE = (1, 2, 3, VERSION)
OF_PASSAGES = 3
"""Since this version what is learned are the owner's own words; before it were rewordings."""
HEADER = 10
_HEADER = struct.Struct(f"<{HEADER}I")
LAST_DAY = date.max.toordinal()
IS_QUESTION, SAYS_WHEN, SAYS_HOW_MANY = 1, 2, 4
ESSENTIAL = 8
"""The flags from this one on, three of them, are a number: which of the essentials a text says, or none."""
PINNED, HAS_GIST = 64, 128
MOST_SAID = 255
"""Beyond it the times that something was said are no longer counted."""
_MAX_TERMS = 4_000  # words of the longest text; a card stays small enough to verify at every opening
MAX_SPEAKER_TERMS = 3  # words of a name
_SPEAKER = re.compile(
    r"\s*(?:[\[(][^\])]{1,60}[\])]\s*)?"  # a date or another remark in brackets
    r"(?P<name>[^\W\d_][\w.'-]{0,30}(?: [^\W\d_][\w.'-]{0,30}){0,2}):\s+\S"
)


@dataclass(frozen=True, slots=True)
class Card:
    """What the index knows of one memory."""

    terms: tuple[int, ...]
    speaker: tuple[int, ...] = ()
    thread: int = 0
    day: int = 0
    flags: int = 0
    wording: int = 0
    said: int = 1

    def to_bytes(self, model: str = "", vector: bytes = b"", values: bytes = b"") -> bytes:
        """The BLOB to store, with the packed vector that a model made of the text."""
        head = VERSION << 24 | self.flags << 16 | min(self.said, MOST_SAID) << 8 | len(self.speaker)
        halves = (self.thread & 0xFFFFFFFF, self.thread >> 32, self.wording & 0xFFFFFFFF, self.wording >> 32)
        made_by = model.encode() if vector else b""
        counts = (len(self.terms), len(values), len(made_by), len(vector))
        words = struct.pack(
            f"<{HEADER + len(self.speaker) + len(self.terms)}I",
            head,
            self.day,
            *halves,
            *counts,
            *self.speaker,
            *self.terms,
        )
        rest = values + made_by
        return words + rest + bytes(_filler(len(rest) + len(vector))) + vector

    @classmethod
    def from_bytes(cls, blob: bytes) -> tuple[Self, bytes, bytes] | None:
        """The card in a BLOB, the model's name and its packed vector; none if it is damaged or of another version."""
        parts = _Parts.of(blob)
        if parts is None:
            return None
        numbers = struct.unpack_from(f"<{parts.speakers + parts.terms}I", blob, 4 * HEADER)
        head, day, *halves = _HEADER.unpack_from(blob)[:6]
        card = cls(
            terms=numbers[parts.speakers :],
            speaker=numbers[: parts.speakers],
            thread=halves[0] | halves[1] << 32,
            day=day if day <= LAST_DAY else 0,
            flags=head >> 16 & 0xFF,
            wording=halves[2] | halves[3] << 32,
            said=head >> 8 & 0xFF,
        )
        name = parts.end + parts.values
        return card, blob[name : name + parts.name], blob[len(blob) - parts.vector :]


class _Parts(NamedTuple):
    """The sizes in a card's header that hold together with its length, and where its numbers end."""

    speakers: int
    terms: int
    values: int
    name: int
    vector: int
    end: int

    @classmethod
    def of(cls, blob: bytes, versions: tuple[int, ...] = (VERSION,)) -> Self | None:
        if len(blob) % 4 or len(blob) < 4 * HEADER:
            return None
        head, *_, terms, values, name, vector = _HEADER.unpack_from(blob)
        speakers, rest = head & 0xFF, values + name + vector
        end = 4 * (HEADER + speakers + terms)
        fits = head >> 24 in versions and speakers <= MAX_SPEAKER_TERMS and end + rest + _filler(rest) == len(blob)
        return cls(speakers, terms, values, name, vector, end) if fits else None


def values_in(blob: bytes | None) -> bytes | None:
    """The values that were stored with a card of this version or the one before; none if it is missing or damaged."""
    parts = _Parts.of(blob or b"", _READABLE)
    return None if blob is None or parts is None else blob[parts.end : parts.end + parts.values]


def marks_in(blob: bytes) -> tuple[int, int] | None:
    """The flags of a verified card, and how often its text was said; none if it is missing or of another version."""
    return (blob[2], blob[1]) if len(blob) > HEADER and blob[3] == VERSION else None


def is_outdated(blob: bytes, before: int = VERSION) -> bool:
    """Whether a card is sound, but of an earlier version than that."""
    return _Parts.of(blob, tuple(one for one in _READABLE if one < before)) is not None


def renewed(blob: bytes, card: Card) -> bytes:
    """An outdated card with other terms; the values and the vector in it are as good as they were."""
    parts = _Parts.of(blob, _READABLE)
    if parts is None:
        return card.to_bytes()
    name = parts.end + parts.values
    vector = blob[len(blob) - parts.vector :]
    return card.to_bytes(blob[name : name + parts.name].decode(), vector, blob[parts.end : name])


def describe(
    text: str,
    *,
    speaker: str | None = None,
    thread: str | None = None,
    day: date | None = None,
    answers: str = "",
    is_owners: bool = False,
) -> Card:
    """Write the card of a text. ``thread`` is the conversation whose neighbouring turns give it context, ``answers``
    the question before it, without which a bare answer means little; only what the owner says is essential.

    A turn of dialogue without one belongs with that day's other turns; facts jotted down one after the
    other have nothing to do with each other.
    """
    read = analysed(f"{answers} {text}" if answers else text)
    spoken, found = read.scan.language.name, read.words
    special = search_words(spoken)
    said = speaker if speaker is not None else spoken_by(text)
    if thread is None and said is not None:
        thread = f"day {day}"
    name = tuple(number for number in map(term, words(said or "")) if number)
    flags = IS_QUESTION if text.rstrip().endswith(("?", "\uff1f")) else 0
    flags |= SAYS_WHEN if any(word in special.time or _is_year(word) for word in found) else 0
    flags |= SAYS_HOW_MANY if any(word in special.number or word.isdigit() for word in found) else 0
    numbers = [number for word in found if (number := term(word, spoken))]
    if is_read_in_pieces(found, spoken):
        numbers += [number for word in found for number in pieces(word, spoken)]
    essential = essential_in(analysed(text).words if answers else found) if is_owners else ""
    flags |= ESSENTIAL * (KINDS.index(essential) + 1) if essential else 0
    return Card(
        terms=tuple(numbers[:_MAX_TERMS]),
        speaker=name[:MAX_SPEAKER_TERMS],
        thread=_thread_number(thread),
        day=day.toordinal() if day is not None else 0,
        flags=flags,
        wording=wording(found),
    )


def spoken_by(text: str) -> str | None:
    """The speaker that a turn such as ``Eva: I moved`` names, or None."""
    match = _SPEAKER.match(text)
    if match is None:
        return None
    name = match["name"]
    is_label = not labels().isdisjoint(words(name))
    return None if is_label or not all(part[0].isupper() for part in name.split()) else name


def passage(text: str, speaker: str | None) -> str:
    """What of a memory is embedded: its text, led by its speaker if the text does not say who speaks."""
    return text if speaker is None or spoken_by(text) is not None else f"{speaker}: {text}"


def _filler(length: int) -> int:
    """How many bytes are missing to a whole word."""
    return -length % 4


def _thread_number(thread: str | None) -> int:
    if thread is None:
        return 0
    digest = hashlib.blake2b(thread.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdigit() and word.startswith(("19", "20"))


Span = tuple[int, int]

_BREAK = re.compile(
    r"(?<=[.!?\u2026;:,])\s+|(?<=[\u3002\uff01\uff1f\uff1b\uff0c\u3001\uff1a])\s*|\n+"
    r"|\s+[-\u2013\u2014]\s+|\s+(?=[(\[])|(?<=[)\]])\s+"
)
_SHORTEST = 12
"""Characters of a part that stands by itself; a shorter one says little without what follows."""
_WHOLE = 40
"""Up to so many characters a text is one window: it hardly says more than one thing."""
MOST_WINDOWS = 24
"""Windows of one text, the whole one included: what the search scans and the card holds grows with them."""


def windows(text: str) -> list[Span]:
    """The spans of a text that are embedded: first the whole, then its parts, if there are several."""
    whole = (0, len(text))
    if _weight(text) <= _WHOLE:
        return [whole]
    parts = _parts(text)
    while len(parts) >= MOST_WINDOWS:
        parts = [(left[0], right[1]) for left, right in zip(parts[::2], [*parts[1::2], parts[-1]], strict=False)]
    return [whole, *parts] if len(parts) > 1 else [whole]


def _parts(text: str) -> list[Span]:
    found: list[Span] = []
    start = 0
    for end, following in [*((match.start(), match.end()) for match in _BREAK.finditer(text)), (len(text), len(text))]:
        if _weight(text[start:end]) >= _SHORTEST:
            found.append((start, end))
            start = following
    if start < len(text) and found:
        found[-1] = (found[-1][0], len(text))
    return found


def _weight(part: str) -> int:
    """How much there is to read: a sign of a script without spaces says as much as three letters."""
    return len(part) + 2 * sum("\u3040" <= sign <= "\u9fff" or "\uac00" <= sign <= "\ud7af" for sign in part)
