"""Where the rows of a store are, by id and by tag, as the rows themselves said when they were verified.

What forbids something is looked up to learn that it is *not* there. A database answers that from its tables and indexes
as they lie on the disk, where whoever holds the file can take a row away or leave it out of an index. So nothing is
looked up there: a row is found here or it is not, and one that is found here and gone from its place was taken away.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from truekeep.stores.base import TABLES

Step = tuple[str, int, str, str | None, str | None]
"""A change that can be taken back: table, place, id, and the tags before and after; none where there was no row."""


class RowIndex:
    """The places of one store's rows. It follows a transaction while it is written, and is taken back with it."""

    def __init__(self) -> None:
        self._ids: dict[str, dict[str, int]] = {table: {} for table in TABLES}
        self._tags: dict[str, dict[int, str]] = {table: {} for table in TABLES}
        self._tagged: dict[str, dict[str, list[int]]] = {}
        self._steps: list[Step] = []

    def load(self, table: str, ids: dict[str, int], tags: dict[int, str]) -> None:
        """Take over what was read of a whole table: places by id, and tags that are not empty by place."""
        self._ids[table], self._tags[table] = ids, tags
        self._tagged.pop(table, None)

    def place(self, table: str, row_id: str) -> int | None:
        """Where the row of that id is."""
        return self._ids[table].get(row_id)

    def places(self, table: str, tag: str) -> Sequence[int]:
        """Where the rows with that tag are, in order."""
        return self._by_tag(table).get(tag, ())

    def put(self, table: str, seq: int, row_id: str, tag: str) -> None:
        """A row is written, or one at that place gets another tag."""
        before = self._tags[table].get(seq, "") if self._ids[table].get(row_id) == seq else None
        self._step(table, seq, row_id, before, tag)

    def remove(self, table: str, seq: int, row_id: str) -> None:
        """A row is taken away."""
        if self._ids[table].get(row_id) == seq:
            self._step(table, seq, row_id, self._tags[table].get(seq, ""), None)

    def forget(self, table: str, seq: int) -> None:
        """Another process changed what is at that place. An id that still points there is told by the row itself."""
        tag = self._tags[table].pop(seq, "")
        if tag and (tagged := self._tagged.get(table)) is not None:
            places = tagged[tag]
            del places[bisect_left(places, seq)]

    def keep(self) -> None:
        """What was done since the last time stays."""
        self._steps.clear()

    def take_back(self) -> None:
        """Undo what was done since the last time, because its transaction is undone."""
        while self._steps:
            table, seq, row_id, before, after = self._steps.pop()
            self._move(table, seq, row_id, after, before)

    def _step(self, table: str, seq: int, row_id: str, before: str | None, after: str | None) -> None:
        self._move(table, seq, row_id, before, after)
        self._steps.append((table, seq, row_id, before, after))

    def _move(self, table: str, seq: int, row_id: str, before: str | None, after: str | None) -> None:
        if after is None:
            del self._ids[table][row_id]
        elif before is None:
            self._ids[table][row_id] = seq
        if (before or "") == (after or ""):
            return
        tagged = self._tagged.get(table)
        if before:
            del self._tags[table][seq]
            if tagged is not None:
                places = tagged[before]
                del places[bisect_left(places, seq)]
        if after:
            self._tags[table][seq] = after
            if tagged is not None:
                insort(tagged.setdefault(after, []), seq)

    def _by_tag(self, table: str) -> dict[str, list[int]]:
        """Turned round when somebody asks: opening a keep pays for what is read anyway, and for no more."""
        found = self._tagged.get(table)
        if found is None:
            found = self._tagged[table] = {}
            for seq, tag in sorted(self._tags[table].items()):
                found.setdefault(tag, []).append(seq)
        return found
