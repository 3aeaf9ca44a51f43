"""The columns of the index: one entry a memory, in the order of arrival, and the order of conversation over them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from truekeep.search.places import spread

if TYPE_CHECKING:
    from truekeep.search.card import Card
    from truekeep.search.deck import Deck

_COLUMNS = np.dtype(
    [
        ("seq", np.int64),
        ("wording", np.uint64),
        ("day", np.int32),
        ("thread", np.int32),
        ("speaker", np.int32),
        ("length", np.uint16),
        ("first", np.int64),
        ("windows", np.uint8),
        ("flags", np.uint8),
        ("has_vector", np.bool_),
    ]
)
_LONGEST = 65_535  # the column has two bytes
_SEQ_BITS = 40
MAX_SEQ = (1 << _SEQ_BITS) - 1
_Value = TypeVar("_Value", bound=Hashable)


@dataclass(slots=True)
class Roster:
    """Numbers for conversations and speakers. Shared by all views; entries are only ever added, by the writer."""

    threads: dict[int, int] = field(default_factory=lambda: {0: 0})
    speakers: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})

    def names(self, counts: NDArray[np.int64]) -> dict[int, set[int]]:
        """Which speakers a name term may mean, given how many visible rows each speaker has.

        One row does not make a speaker: "Address: 5 High Street" begins like a turn, too.
        """
        meant: dict[int, set[int]] = {}
        for name, number in list(self.speakers.items()):
            if number < counts.size and counts[number] > 1:
                for term in name:
                    meant.setdefault(term, set()).add(number)
        return meant


@dataclass(frozen=True, slots=True)
class Rows:
    """An immutable view of the first ``size`` entries of columns that only ever grow at their end.

    ``order`` lists the live rows conversation by conversation, in the order of their ``seq``,
    so that the turn before and the turn after are the places before and after.
    """

    columns: NDArray[np.void]
    size: int
    keys: NDArray[np.int64]
    order: NDArray[np.int64]
    roster: Roster
    newest: int = -1
    """The largest ``seq`` there ever was; what is newer replaces nothing."""

    @classmethod
    def empty(cls) -> Self:
        """No rows."""
        none = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(64, dtype=_COLUMNS), 0, none, none, Roster())

    def column(self, name: str) -> NDArray[Any]:
        """One column, all rows."""
        return self.columns[name][: self.size]

    @property
    def dead(self) -> int:
        """How many rows were removed and not yet cleared away."""
        return self.size - len(self.order)

    @property
    def windows(self) -> int:
        """How many windows the rows have together: the place of the next one."""
        return (
            int(self.columns["first"][self.size - 1]) + int(self.columns["windows"][self.size - 1]) if self.size else 0
        )

    def extended(
        self, seqs: Sequence[int], deck: Deck, has_vector: NDArray[np.bool_], windows: NDArray[np.int64]
    ) -> Self:
        """The view that has these rows as well."""
        count = len(seqs)
        columns = self.columns if self.size + count <= len(self.columns) else _room(self.columns, self.size + count)
        fresh = columns[self.size : self.size + count]
        fresh["seq"] = seqs
        fresh["wording"] = deck.wording
        fresh["day"] = deck.day
        fresh["thread"] = _numbered(self.roster.threads, deck.thread.tolist()) if deck.thread.any() else 0
        fresh["speaker"] = _numbered(self.roster.speakers, deck.speakers) if any(deck.speakers) else 0
        fresh["length"] = np.minimum(deck.lengths, _LONGEST)
        fresh["flags"] = deck.flags
        fresh["windows"] = windows
        fresh["first"] = self.windows + np.cumsum(windows) - windows
        fresh["has_vector"] = has_vector
        keys, order = self._placed(fresh, count)
        newest = max(self.newest, max(seqs, default=-1))
        return type(self)(columns, self.size + count, keys, order, self.roster, newest)

    def appended(self, seq: int, card: Card, *, has_vector: bool, windows: int = 1) -> Self:
        """The view that has one row as well."""
        columns = self.columns if self.size < len(self.columns) else _room(self.columns, self.size + 1)
        (thread,) = _numbered(self.roster.threads, [card.thread])
        (speaker,) = _numbered(self.roster.speakers, [card.speaker])
        length = min(len(card.terms), _LONGEST)
        place = (self.windows, windows)
        columns[self.size] = (seq, card.wording, card.day, thread, speaker, length, *place, card.flags, has_vector)
        key = thread << _SEQ_BITS | seq
        at = int(np.searchsorted(self.keys, key))
        keys, order = _inserted(self.keys, at, key), _inserted(self.order, at, self.size)
        return type(self)(columns, self.size + 1, keys, order, self.roster, max(self.newest, seq))

    def without(self, seqs: Collection[int]) -> Self:
        """The view in which the rows of these places are gone."""
        if min(seqs, default=0) > self.newest:
            return self
        gone = np.isin(self.column("seq")[self.order], np.fromiter(seqs, dtype=np.int64, count=len(seqs)))
        return self if not gone.any() else replace(self, keys=self.keys[~gone], order=self.order[~gone])

    def kept(self, rows: NDArray[np.int64]) -> Self:
        """The view in which only these rows are left, numbered anew in their order."""
        numbers = np.zeros(self.size, dtype=np.int64)
        numbers[rows] = np.arange(len(rows))
        columns = self.columns[rows]
        columns["first"] = np.cumsum(columns["windows"], dtype=np.int64) - columns["windows"]
        return replace(self, columns=columns, size=len(rows), order=numbers[self.order])

    def windows_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of the windows of some rows, one row's after the other's."""
        return spread(self.column("first")[rows], self.column("windows")[rows].astype(np.int64))

    def visible(self, allow: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """The live rows whose place is allowed, in the order of conversation."""
        if allow is None:
            return self.order
        return self.order[np.isin(self.column("seq")[self.order], allow)]

    def _placed(self, fresh: NDArray[np.void], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        keys = fresh["thread"].astype(np.int64) << _SEQ_BITS | fresh["seq"]
        rows = np.arange(self.size, self.size + count, dtype=np.int64)
        joined = np.concatenate((self.keys, keys))
        sorting = np.argsort(joined, kind="stable")
        return joined[sorting], np.concatenate((self.order, rows))[sorting]


def _room(columns: NDArray[np.void], size: int) -> NDArray[np.void]:
    """The columns with room for more, twice as much at least."""
    larger = np.zeros(max(size, 2 * len(columns)), dtype=_COLUMNS)
    larger[: len(columns)] = columns
    return larger


def _inserted(values: NDArray[np.int64], place: int, value: int) -> NDArray[np.int64]:
    """The array with one value more; what ``np.insert`` does in a fifth of the time."""
    longer = np.empty(values.size + 1, dtype=np.int64)
    longer[:place], longer[place], longer[place + 1 :] = values[:place], value, values[place:]
    return longer


def _numbered(numbers: dict[_Value, int], values: Sequence[_Value]) -> list[int]:
    """The number of each value; one not met before gets the next."""
    return [numbers.setdefault(value, len(numbers)) for value in values]
