"""Index a large number of stored texts by fingerprints, and read closely only those that a call could be about.

A text's fingerprint is the hashes of its values, words and disguises. It is made once, when the text is written, and
only proposes: whatever it points at is read and indexed in full before anything is concluded from it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import islice
from struct import iter_unpack
from typing import TYPE_CHECKING

from truekeep.trust.flow.index import HeldText, TextIndex
from truekeep.trust.flow.reading import TextReading, disguised, disguises_of, read, stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_READ = 256
"""Texts read closely for one value; of more the newest count."""
_MOST_HELD = 20_000  # readings kept in memory; the oldest go first
_MOST_RECENT = 4_096  # new hashes that wait beside the sorted ones until they are sorted in
_FEW = 1_024
"""Places that are filed without sorting, for which a process that judges one call would have to load numpy."""
_MOST_KEYS = 4_096  # of one text; a hostile one cannot make its row large
_MOST_ASKED = 10_000  # lookups that are remembered
_HASH = 8
_ROOM = 4
"""At least as many times more bits than hashes, so that four of five keys that stand nowhere are known at a glance."""
_KINDS = ("host", "mail")


def fingerprint(text: str, at: datetime | None = None) -> bytes:
    """The hashes of everything under which an index files a text."""
    reading = read(text, at)
    found = {f"k {key}" for key in reading.keys} | {f"s {word}" for word in reading.stems}
    found |= {f"d {form}" for form in disguises_of(text, reading)}
    found |= {f"f {value.kind}" for value in reading.values if value.kind in _KINDS}
    return b"".join(sorted(_hash(key) for key in islice(sorted(found), _MOST_KEYS)))


def _hash(key: str) -> bytes:
    return blake2b(key.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()


@lru_cache(maxsize=4_096)
def _number(key: str) -> int:
    return int.from_bytes(_hash(key), "little")


@dataclass(frozen=True, slots=True)
class StoredText:
    """A stored text as it is read closely."""

    id: str
    text: str
    at: datetime | None = None
    origin: str = ""


class ValuePostings:
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
        self._is_sorted = True
        self._asked: dict[int, list[int]] = {}
        """Answers since the last change; a call asks for the same keys again and again."""
        self.changes = 0
        """How often something was filed or forgotten."""

    def fill(self, prints: Sequence[tuple[int, bytes]]) -> None:
        """File many places that are not there yet."""
        if len(prints) <= _FEW:
            for place, print_ in prints:
                self.put(place, print_)
            return
        self._all.update(prints)
        self._is_sorted = False
        self._changed()

    def put(self, place: int, print_: bytes) -> None:
        """File a place; one that is there already is replaced."""
        self.remove(place)
        self._all[place] = print_
        self._changed()
        for number in _numbers(print_):
            self._recent.setdefault(number, []).append(place)
        self._recent_count += 1

    def remove(self, place: int) -> None:
        """Forget a place."""
        old = self._all.pop(place, None)
        if old is None:
            return
        self._gone.add(place)
        self._changed()
        for number in _numbers(old):
            if place in self._recent.get(number, ()):
                self._recent[number].remove(place)

    def _changed(self) -> None:
        self._asked.clear()
        self.changes += 1

    def settle(self) -> None:
        """Sort in what came since, if it is much."""
        if self._recent_count > _MOST_RECENT or not self._is_sorted:
            self._sort()

    def places(self, key: str) -> list[int]:
        """The places that have the key, newest first."""
        self.settle()
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
        import numpy as np  # noqa: PLC0415 - few memories need none

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
        self._is_sorted = True


def _numbers(print_: bytes) -> Iterator[int]:
    return (number for (number,) in iter_unpack("<Q", print_))


@dataclass(slots=True, kw_only=True)
class StoredIndex(TextIndex):
    """An index over stored texts that reads a text when a look-up first points at it."""

    postings: ValuePostings
    load: Callable[[Sequence[int]], Iterable[tuple[int, StoredText]]]
    """The verified texts at some places."""
    _read: OrderedDict[int, str] = field(default_factory=OrderedDict)
    _known: set[tuple[str, ...]] = field(default_factory=set)
    """Keys whose texts were read, since the postings changed last: a call asks for the same ones many times."""
    _known_at: int = 0

    def holding(self, value: TextReading) -> Iterator[HeldText]:
        """Texts in which a value stands whole, newest additions first."""
        self._read_all(f"k {key}" for key in value.sole)
        self._read_common(f"s {stem(word)}" for word in value.words)
        return TextIndex.holding(self, value)

    def sharing(self, words: Iterable[str]) -> Iterator[HeldText]:
        """Texts that share one of these stems."""
        wanted = list(words)
        self._read_all(f"s {word}" for word in wanted)
        return TextIndex.sharing(self, wanted)

    def hinting(self, value: TextReading) -> Iterator[HeldText]:
        """Texts in which a value, or something that could pass for it, stands in whatever disguise."""
        form = disguised(value.flat)
        self._read_all([*(f"k {key}" for key in value.sole), f"d {form}", f"d {form[::-1]}"])
        self._read_common(f"s {stem(word)}" for word in value.words)
        return TextIndex.hinting(self, value)

    def hosts(self, kind: str) -> frozenset[str]:
        """The hosts that values of a kind have."""
        self._read_all([f"f {kind}"])
        return TextIndex.hosts(self, kind)

    def counts(self, word: str) -> int:
        """In how many texts a stem stands; known without reading anything."""
        return len(self.postings.places(f"s {word}"))

    def forget(self, place: int) -> None:
        """Let go of what was read at a place, because it changed."""
        name = self._read.pop(place, None)
        if name is not None:
            self.remove(name)
            self._known.clear()

    def _read_all(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._read_common((key,))

    def _read_common(self, keys: Iterable[str]) -> None:
        """The texts that have all of these: a phrase is looked for only where all its words stand."""
        wanted = tuple(keys)
        if not self._is_new(wanted):
            return
        rows = sorted(map(self.postings.places, wanted), key=len)
        if rows and rows[0]:
            found = sorted(set(rows[0]).intersection(*rows[1:]), reverse=True) if rows[1:] else rows[0]
            self._take_in(found[:_MOST_READ])

    def _is_new(self, keys: tuple[str, ...]) -> bool:
        if self._known_at != self.postings.changes or len(self._known) >= _MOST_ASKED:
            self._known.clear()
            self._known_at = self.postings.changes
        is_new = keys not in self._known
        self._known.add(keys)
        return is_new

    def _take_in(self, places: Iterable[int]) -> None:
        unread = [place for place in places if place not in self._read]
        for place, stored in self.load(sorted(unread)) if unread else ():
            self._read[place] = stored.id
            self.add(stored.id, stored.text, origin=stored.origin, at=stored.at)
        while len(self._read) > _MOST_HELD:
            self.forget(next(iter(self._read)))


class ActingTexts(TextIndex):
    """The texts of an index that may be looked at now; whether one may is asked when it is found."""

    __slots__ = ("_allow", "_index")

    def __init__(self, index: TextIndex, allow: Callable[[str], bool]) -> None:
        super().__init__()
        self._index = index
        self._allow = allow

    def holding(self, value: TextReading) -> Iterator[HeldText]:
        """Texts in which a value stands whole."""
        return self._allowed(self._index.holding(value))

    def sharing(self, words: Iterable[str]) -> Iterator[HeldText]:
        """Texts that share one of these stems."""
        return self._allowed(self._index.sharing(words))

    def hinting(self, value: TextReading) -> Iterator[HeldText]:
        """Texts in which something that could pass for a value stands."""
        return self._allowed(self._index.hinting(value))

    def hosts(self, kind: str) -> frozenset[str]:
        """The hosts that values of a kind have, also in texts that may not be looked at."""
        return self._index.hosts(kind)

    def counts(self, word: str) -> int:
        """In how many texts a stem stands, also in those that may not be looked at."""
        return self._index.counts(word)

    def _allowed(self, found: Iterator[HeldText]) -> Iterator[HeldText]:
        return (held for held in found if self._allow(held.id))
