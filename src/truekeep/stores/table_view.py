"""Rows of one table as values: read once, then followed from write to write, whichever process wrote.

Every cache over a table follows it through ``TableChanges``: nothing else watches the ledger for rows. ``TableView`` is
the cache for whoever needs a value per row, ``Derived`` for what is made of all of them.

What is kept is only as good as its rows were when they were read and verified; it finds and counts, and whatever is
served is read from its row again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from truekeep.stores.chain import Touched
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

Value = TypeVar("Value")
Made = TypeVar("Made")


class Changed(NamedTuple):
    """Places of a table that were written to."""

    places: set[int]
    gone: set[int]
    """Those whose row was taken away; another one may stand there by now."""


class TableChanges:
    """Which places of a table changed since somebody last looked.

    The ledger's lock is held from the note of a change to the end of a look, so that nothing is noted and then
    forgotten, and whoever looks needs no lock of its own.
    """

    def __init__(self, ledger: Ledger, table: str) -> None:
        self._ledger = ledger
        self._table = table
        self._noted: Changed | None = None
        self.is_quiet = False
        """Whether nothing is known to have changed since the last look; what other processes did is not looked for."""
        ledger.watch(self._note)

    @contextmanager
    def taken(self) -> Iterator[Changed | None]:
        """What changed since the last look; nothing is known at the first. A look that fails does not count."""
        with self._ledger.reading():
            yield self._noted
            if not self.is_quiet:
                self._noted, self.is_quiet = Changed(set(), set()), True

    def _note(self, changed: Sequence[Touched]) -> None:
        if self._noted is not None:
            for table, seq, mac in changed:
                if table == self._table:
                    self.is_quiet = False
                    self._noted.places.add(seq)
                    if mac is None:
                        self._noted.gone.add(seq)


class TableView(Generic[Value]):
    """The verified rows of one table, by place. A row that ``read`` makes nothing of is left out."""

    def __init__(self, ledger: Ledger, table: str, read: Callable[[Sealed], Value | None]) -> None:
        self._ledger = ledger
        self._table = table
        self._read = read
        self._changes = TableChanges(ledger, table)
        self._known: dict[int, Value] = {}
        self._draft: tuple[tuple[Entry, int], Mapping[int, Value]] | None = None
        """What the open transaction made of the table, and after how many of its changes."""

    def now(self) -> Mapping[int, Value]:
        """The values in order of place: the same mapping until one of them changes, and another one then.

        A transaction that has changed the table sees what it wrote; nobody else does before it ends well.
        """
        with self._ledger.reading():
            draft = self._ledger.draft(self._table)
            if draft is not None:
                return self._drafted(draft)
            self._draft = None
            with self._changes.taken() as changed:
                if changed is None:
                    self._known = self._values(self._ledger.all(self._table))
                elif changed.places:
                    self._known = self._brought_up(changed.places)
            return self._known

    def seen(self) -> Mapping[int, Value]:
        """The same as far as this process has looked: for whoever asks about a row that it has just read."""
        is_quiet = self._changes.is_quiet and self._ledger.draft(self._table) is None
        return self._known if is_quiet else self.now()

    def _drafted(self, draft: tuple[Entry, int]) -> Mapping[int, Value]:
        if self._draft is None or self._draft[0] != draft:
            self._draft = draft, self._values(self._ledger.all(self._table))
        return self._draft[1]

    def _brought_up(self, places: set[int]) -> dict[int, Value]:
        fresh = self._values(self._ledger.at(self._table, sorted(places)).values())
        known = dict(self._known)  # somebody may still look at the old one
        last = next(reversed(known), 0)
        is_in_order = all(place in known or place > last for place in fresh)
        for place in fresh.keys() ^ places:
            known.pop(place, None)
        known |= fresh
        return known if is_in_order else dict(sorted(known.items()))

    def _values(self, rows: Iterable[Sealed]) -> dict[int, Value]:
        read = ((sealed.row.seq, self._read(sealed)) for sealed in rows if sealed.verified)
        return {place: value for place, value in read if value is not None}


class Derived(Generic[Made]):
    """What is made of the values of one view or several, and made again when one of them has changed."""

    def __init__(self, make: Callable[..., Made], *views: TableView[Any]) -> None:
        self._make = make
        self._views = views
        self._last: tuple[list[Mapping[int, Any]], Made] | None = None

    def now(self) -> Made:
        """What there is to be made now."""
        return self._of([view.now() for view in self._views])

    def seen(self) -> Made:
        """The same as far as this process has looked."""
        return self._of([view.seen() for view in self._views])

    def _of(self, seen: list[Mapping[int, Any]]) -> Made:
        if self._last is None or any(old is not new for old, new in zip(self._last[0], seen, strict=True)):
            self._last = seen, self._make(*(values.values() for values in seen))
        return self._last[1]
