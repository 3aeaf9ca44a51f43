"""Index a large number of stored texts by fingerprints, and read closely only those that a call could be about.

A text's fingerprint is the hashes of its keys. It is made once, when the text is written, and only proposes: whatever
it points at is read and indexed in full before anything is concluded from it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from struct import iter_unpack
from typing import TYPE_CHECKING

from truekeep.action.index import Hit, ValueIndex, entries_of
from truekeep.action.segments import Segment, plain_words, segments_of
from truekeep.text.language import function_words
from truekeep.text.salient import scan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_READ = 256
_MOST_HELD = 20_000
_MOST_RECENT = 4_096
_MOST_KEYS = 4_096
_ENOUGH_WORDS = 4
_MOST_ASKED = 10_000
_HASH = 8
_ROOM = 4
"""At least as many times more bits than hashes, so that four of five keys that stand nowhere are known at a glance."""


def fingerprint(text: str, *, is_loose: bool, at: datetime | None = None) -> bytes:
    """The hashes of all keys under which an index would file the text, except for samples of its passages."""
    scanned = scan(text)
    segments = tuple(segments_of("", scanned, split=False))
    found = {key for key, _ in entries_of(segments, scanned, at, is_loose=is_loose, with_copies=False)}
    return b"".join(sorted(_hash(key) for key in islice(found, _MOST_KEYS)))


def _hash(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()


@lru_cache(maxsize=4_096)
def _number(key: str) -> int:
    return int.from_bytes(_hash(key), "little")


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored text as it is read closely."""

    id: str
    text: str
    at: datetime | None = None
    channel: str = ""
    principal: str | None = None


class Postings:
    """Which places have which hash: one sorted array, and what came since it was sorted."""

    def __init__(self) -> None:
        self._hashes: NDArray[np.uint64] | None = None
        self._places: NDArray[np.int64] | None = None
        self._present = bytes(1)
        """By the last bits of a hash, whether any sorted one has them: most keys of a call stand nowhere."""
        self._recent: dict[int, list[int]] = {}
        self._recent_count = 0
        self._gone: set[int] = set()
        self._all: dict[int, bytes] = {}
        self._asked: dict[int, list[int]] = {}
        """Answers since the last change; a call asks for the same keys again and again."""

    def fill(self, prints: Iterable[tuple[int, bytes]]) -> None:
        """File many places that are not there yet."""
        self._all.update(prints)
        self._hashes = None
        self._asked.clear()

    def put(self, place: int, print_: bytes) -> None:
        """File a place; one that is there already is replaced."""
        self.remove(place)
        self._all[place] = print_
        self._asked.clear()
        for number in _numbers(print_):
            self._recent.setdefault(number, []).append(place)
        self._recent_count += 1

    def remove(self, place: int) -> None:
        """Forget a place."""
        old = self._all.pop(place, None)
        if old is None:
            return
        self._gone.add(place)
        self._asked.clear()
        for number in _numbers(old):
            if place in self._recent.get(number, ()):
                self._recent[number].remove(place)

    def places(self, key: str) -> list[int]:
        """The places that have the key, newest first."""
        if self._recent_count > _MOST_RECENT or self._hashes is None or self._places is None:
            self._sort()
        number = _number(key)
        if not self._present[number & len(self._present) - 1] and number not in self._recent:
            return []
        known = self._asked.get(number)
        if known is None:
            if len(self._asked) >= _MOST_ASKED:
                self._asked.clear()
            known = self._asked[number] = self._look_up(number)
        return known

    def _look_up(self, number: int) -> list[int]:
        hashes, places = self._hashes, self._places
        found = set(self._recent.get(number, ()))
        if hashes is not None and places is not None:
            wanted = hashes.dtype.type(number)
            first = int(hashes.searchsorted(wanted))
            if first < len(hashes) and hashes[first] == wanted:
                last = int(hashes.searchsorted(wanted, "right"))
                found.update(place for place in places[first:last].tolist() if place not in self._gone)
        return sorted(found, reverse=True)

    def _sort(self) -> None:
        import numpy as np  # noqa: PLC0415 - loaded with the first look-up

        prints = self._all
        sizes = np.fromiter((len(one) // _HASH for one in prints.values()), dtype=np.int64, count=len(prints))
        places = np.repeat(np.fromiter(prints.keys(), dtype=np.int64, count=len(prints)), sizes)
        hashes = np.frombuffer(b"".join(prints.values()), dtype="<u8")
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._places = hashes[order], places[order]
        present = np.zeros(1 << (_ROOM * len(hashes)).bit_length(), dtype=np.bool_)
        present[hashes & np.uint64(len(present) - 1)] = True
        self._present = present.tobytes()
        self._recent, self._recent_count, self._gone = {}, 0, set()


def _numbers(print_: bytes) -> Iterator[int]:
    return (number for (number,) in iter_unpack("<Q", print_))


@dataclass(slots=True, kw_only=True)
class KeptIndex(ValueIndex):
    """An index over stored texts that reads a text when a look-up first points at it."""

    postings: Postings
    load: Callable[[Sequence[int]], Iterable[tuple[int, Kept]]]
    """The verified texts at some places."""
    _read: OrderedDict[int, str] = field(default_factory=OrderedDict)

    def find(self, key: str) -> Iterator[Hit]:
        """Where that key occurs, the latest first."""
        places = self.postings.places(key)
        if not places:
            return iter(())
        self._read_all(islice(places, _MOST_READ))
        return ValueIndex.find(self, key)

    def count(self, key: str) -> int:
        """How often that key may occur; known without reading anything."""
        return len(self.postings.places(key))

    def __contains__(self, key: str) -> bool:
        return next(self.find(key), None) is not None

    def phrase(self, words: tuple[str, ...]) -> Iterator[Segment]:
        """The segments with all of these words next to each other; only texts that have them all are read."""
        telling = [word for word in words if word not in function_words()] or list(words)
        sets = [set(self.postings.places(f"word:{word}")) for word in telling]
        if not sets or not all(sets):
            return iter(())
        self._read_all(islice(sorted(set.intersection(*sets), reverse=True), _MOST_READ))
        return self._phrase_among(words)

    def copies(self, text: str) -> Iterator[Segment]:
        """The segments from which a passage of the text was copied: of the texts that share most words with it."""
        shared: Counter[int] = Counter()
        for word in {word for word in plain_words(text) if word not in function_words()}:
            shared.update(self.postings.places(f"word:{word}"))
        likely = [place for place, count in shared.most_common(_MOST_READ) if count >= _ENOUGH_WORDS]
        self._read_all(likely)
        return ValueIndex.copies(self, text)

    def forget(self, place: int) -> None:
        """Let go of what was read at a place, because it changed."""
        source = self._read.pop(place, None)
        if source is not None:
            self.discard(source)

    def _read_all(self, places: Iterable[int]) -> None:
        unread = [place for place in places if place not in self._read]
        for place, kept in self.load(unread) if unread else ():
            self._read[place] = kept.id
            self.add(kept.id, kept.text, at=kept.at, channel=kept.channel, principal=kept.principal)
        while len(self._read) > _MOST_HELD:
            self.forget(next(iter(self._read)))
