"""The index card of a memory: everything the index needs to know of its text, as one small BLOB.

A store keeps the card beside the record, inside the encrypted file and under the record's MAC,
so that opening a keep neither tokenizes nor stems anything. Layout, in little-endian 32-bit words::

    version << 24 | flags << 16 | number of speaker terms    day    thread (2)    wording (2)    speaker terms    terms
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from truekeep.search.words import term, word_lists, wording, words

VERSION = 1
HEADER = 6
_LAST_DAY = date.max.toordinal()
IS_QUESTION, SAYS_WHEN, SAYS_HOW_MANY = 1, 2, 4
_MAX_TERMS = 4_000
_MAX_SPEAKER_TERMS = 3
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

    def to_bytes(self) -> bytes:
        """The BLOB to store."""
        head = VERSION << 24 | self.flags << 16 | len(self.speaker)
        halves = (self.thread & 0xFFFFFFFF, self.thread >> 32, self.wording & 0xFFFFFFFF, self.wording >> 32)
        return np.array((head, self.day, *halves, *self.speaker, *self.terms), dtype="<u4").tobytes()


@dataclass(frozen=True, slots=True)
class Deck:
    """Many cards as columns: what loading works on. ``kept`` are the places of the cards that could be read."""

    kept: NDArray[np.int64]
    flags: NDArray[np.uint8]
    day: NDArray[np.int32]
    thread: NDArray[np.uint64]
    wording: NDArray[np.uint64]
    speakers: list[tuple[int, ...]]
    lengths: NDArray[np.int64]
    terms: NDArray[np.uint32]


def describe(text: str, *, speaker: str | None = None, thread: str | None = None, day: date | None = None) -> Card:
    """Write the card of a text. ``thread`` is the conversation whose neighbouring turns give it context.

    A turn of dialogue without one belongs with that day's other turns; facts jotted down one after the
    other have nothing to do with each other.
    """
    lists = word_lists()
    found = words(text)
    said = speaker if speaker is not None else spoken_by(text)
    if thread is None and said is not None:
        thread = f"day {day}"
    name = tuple(number for number in map(term, words(said or "")) if number)
    flags = IS_QUESTION if text.rstrip().endswith(("?", "\uff1f")) else 0
    flags |= SAYS_WHEN if any(word in lists["time"] or _is_year(word) for word in found) else 0
    flags |= SAYS_HOW_MANY if any(word in lists["number"] or word.isdigit() for word in found) else 0
    return Card(
        terms=tuple(number for number in map(term, found) if number)[:_MAX_TERMS],
        speaker=name[:_MAX_SPEAKER_TERMS],
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
    is_label = any(word in word_lists()["label"] for word in words(name))
    return None if is_label or not all(part[0].isupper() for part in name.split()) else name


def passage(text: str, speaker: str | None) -> str:
    """What of a memory is embedded: its text, led by its speaker if the text does not say who speaks."""
    return text if speaker is None or spoken_by(text) is not None else f"{speaker}: {text}"


def unpack(cards: Sequence[bytes]) -> Deck:
    """Read many cards at once; one that is damaged or of another version is left out, never guessed at."""
    sizes = np.fromiter(map(len, cards), dtype=np.int64, count=len(cards))
    whole = np.flatnonzero((sizes % 4 == 0) & (sizes >= HEADER * 4))
    flat = np.frombuffer(b"".join([cards[place] for place in whole.tolist()]), dtype="<u4")
    spans = sizes[whole] // 4
    starts = np.concatenate(([0], np.cumsum(spans)[:-1])) if whole.size else np.zeros(0, dtype=np.int64)
    heads = flat[starts]
    names = (heads & 0xFFFF).astype(np.int64)
    fits = (heads >> 24 == VERSION) & (names <= _MAX_SPEAKER_TERMS) & (spans >= HEADER + names)
    kept, starts, spans, heads, names = whole[fits], starts[fits], spans[fits], heads[fits], names[fits]
    lengths = spans - HEADER - names
    return Deck(
        kept=kept,
        flags=(heads >> 16 & 0xFF).astype(np.uint8),
        day=np.where(flat[starts + 1] <= _LAST_DAY, flat[starts + 1], 0).astype(np.int32),
        thread=_long(flat, starts + 2),
        wording=_long(flat, starts + 4),
        speakers=_speakers(flat, starts + HEADER, names),
        lengths=lengths,
        terms=flat[_spread(starts + HEADER + names, lengths)].astype(np.uint32),
    )


def _long(flat: NDArray[np.uint32], places: NDArray[np.int64]) -> NDArray[np.uint64]:
    return flat[places].astype(np.uint64) | flat[places + 1].astype(np.uint64) << np.uint64(32)


def _speakers(flat: NDArray[np.uint32], starts: NDArray[np.int64], counts: NDArray[np.int64]) -> list[tuple[int, ...]]:
    speakers: list[tuple[int, ...]] = [()] * len(starts)
    for place in np.flatnonzero(counts).tolist():
        first = int(starts[place])
        speakers[place] = tuple(flat[first : first + int(counts[place])].tolist())
    return speakers


def _spread(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """All positions of the runs that begin at ``starts``, one run after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    positions: NDArray[np.int64] = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return positions


def _thread_number(thread: str | None) -> int:
    if thread is None:
        return 0
    digest = hashlib.blake2b(thread.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdigit() and word.startswith(("19", "20"))
