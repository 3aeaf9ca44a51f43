"""First mentions: who was first to mention a value, in a row for each or, for a text full of values, in one for all.

A page of nothing but numbers has tens of thousands of marks. A row for each of them would cost seconds, megabytes of
the file and of memory, so what is new in such a text is packed into one sealed row of short keyed hashes. A mark's own
row says more than a pack, and the owner's pack more than the others': so a packed mark is cleared without unpacking it.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from truekeep.stores.table_view import TableChanges
from truekeep.types import Standing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from truekeep.stores.base import Row
    from truekeep.stores.entry import Entry
    from truekeep.stores.ledger import Ledger, Sealed

    Hashes = NDArray[np.uint64]

_MOST_APART = 256
"""Marks of one text that get a row each; an honest memory has a handful, and a page some dozens."""
_PACK = "pack"
_HEX = 16
"""Hexadecimal digits of a hash that are packed: 64 bits, which nobody without the key can aim at."""


class FirstMentions:
    """The marks of one keep, by their keyed hashes."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._packs = _Packs(ledger)

    def note(self, entry: Entry, marks: Iterable[str], standing: Standing) -> tuple[str, ...]:
        """Write down who mentions these marks, where nobody did before; the owner's word clears what was hearsay.

        Gives the hashes that were cleared.
        """
        cleared: list[str] = []
        fresh: list[str] = []
        for row_id in self._ids(marks):
            known = self._ledger.get("marks", row_id)
            if known is None:
                fresh.append(row_id)
            elif standing is Standing.OWNER and is_heard(known):
                entry.replace("marks", known.row, _body(standing))
                cleared.append(row_id)
        labels = self._packs.labels(fresh)
        wanted = Standing.HEARSAY.label if standing is Standing.OWNER else None
        new = [row_id for row_id, label in zip(fresh, labels, strict=True) if label == wanted]
        self._put(entry, new, standing)
        return (*cleared, *new) if standing is Standing.OWNER else ()

    def mark_again(self, entry: Entry, cleared: Iterable[str]) -> None:
        """Let marks count as first met as hearsay again."""
        for row_id in cleared:
            known = self._ledger.get("marks", row_id)
            if known is not None:
                entry.replace("marks", known.row, _body(Standing.HEARSAY))
            elif self._packs.labels([row_id])[0] is not None:
                entry.put("marks", row_id, _body(Standing.HEARSAY))

    def any_heard(self, marks: Iterable[str]) -> bool:
        """Whether one of these marks was first met as hearsay; one that was altered counts as such."""
        unknown: list[str] = []
        for row_id in self._ids(marks):
            known = self._ledger.get("marks", row_id)
            if known is None:
                unknown.append(row_id)
            elif is_heard(known):
                return True
        return Standing.HEARSAY.label in self._packs.labels(unknown)

    def rows_of(self, marks: Iterable[str]) -> dict[str, Sealed | None]:
        """Those of the marks that are known, each with its own row if it has one."""
        ids = {mark: self._ledger.digest("mark", mark) for mark in marks}
        rows = {mark: self._ledger.get("marks", row_id) for mark, row_id in ids.items()}
        apart = [mark for mark, row in rows.items() if row is None]
        labels = self._packs.labels([ids[mark] for mark in apart])
        packed = {mark for mark, label in zip(apart, labels, strict=True) if label is not None}
        return {mark: row for mark, row in rows.items() if row is not None or mark in packed}

    def packs_without(self, marks: Iterable[str]) -> list[tuple[Row, dict[str, Any] | None]]:
        """The packs that hold one of these marks, each with what is left of it; nothing if that is empty."""
        gone = _numbers(self._ids(marks))
        found: list[tuple[Row, dict[str, Any] | None]] = []
        for sealed in self._ledger.tagged("marks", _PACK, -1) if len(gone) else ():
            label, hashes = _unpacked(sealed)
            kept = hashes[~_among(hashes, gone)]
            if len(kept) < len(hashes):
                found.append((sealed.row, _packed(label, kept) if len(kept) else None))
        return found

    def _ids(self, marks: Iterable[str]) -> list[str]:
        return [self._ledger.digest("mark", mark) for mark in marks]

    def _put(self, entry: Entry, ids: Sequence[str], standing: Standing) -> None:
        if len(ids) <= _MOST_APART:
            for row_id in ids:
                entry.put("marks", row_id, _body(standing))
            return
        hashes = _sorted([_numbers(ids)])
        body = _packed(standing.label, hashes)
        entry.put("marks", self._ledger.digest("pack", body["packed"]), body, tag=_PACK)
        self._packs.drafted(entry, standing.label, hashes)


class _Packs:
    """What the packs hold, in a few sorted arrays for each label. Followed from write to write."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._changes = TableChanges(ledger, "marks")
        self._places: set[int] = set()
        self._runs: dict[str, list[Hashes]] = {}
        self._draft: tuple[Entry, list[tuple[str, Hashes]]] | None = None
        """What the open transaction packed: nobody else sees it before it ends well."""

    def labels(self, ids: Sequence[str]) -> list[str | None]:
        """Who mentioned each first, as the packs have it."""
        runs = self._now()
        found: list[str | None] = [None] * len(ids)
        if not runs or not ids:
            return found
        asked = _numbers(ids)
        for label, hashes in runs:
            for place in _among(asked, hashes).nonzero()[0].tolist():
                found[place] = label
        return found

    def drafted(self, entry: Entry, label: str, hashes: Hashes) -> None:
        """Take in what a transaction that is still open packed."""
        before = self._draft[1] if self._draft is not None and self._draft[0] is entry else []
        self._draft = entry, [*before, (label, hashes)]

    def _now(self) -> list[tuple[str, Hashes]]:
        """The arrays with their labels, the owner's last: its word is the one that counts."""
        with self._ledger.reading():
            self._follow()
            runs = [(label, run) for label, kept in self._runs.items() for run in kept]
            open_now = self._ledger.draft("marks")
            if open_now is not None and self._draft is not None and self._draft[0] is open_now[0]:
                runs += self._draft[1]
            else:
                self._draft = None
            return sorted(runs, key=lambda one: one[0] == Standing.OWNER.label)

    def _follow(self) -> None:
        with self._changes.taken() as changed:
            if changed is None or not changed.gone.isdisjoint(self._places):
                self._runs, self._places = {}, set()
                fresh = self._ledger.tagged("marks", _PACK, -1)
            elif changed.places:
                fresh = [one for one in self._ledger.at("marks", sorted(changed.places)).values() if _is_pack(one)]
                if not self._places.isdisjoint(one.row.seq for one in fresh):
                    self._runs, self._places = {}, set()
                    fresh = self._ledger.tagged("marks", _PACK, -1)
            else:
                return
            for sealed in fresh:
                self._places.add(sealed.row.seq)
                self._file(*_unpacked(sealed))

    def _file(self, label: str, hashes: Hashes) -> None:
        """Put an array beside the others; neighbours of a size become one, so that there are never many."""
        runs = self._runs.setdefault(label, [])
        runs.append(hashes)
        while len(runs) > 1 and len(runs[-2]) < 2 * len(runs[-1]):
            runs[-2:] = [_sorted(runs[-2:])]


def is_heard(sealed: Sealed) -> bool:
    """Whether a mark's own row says that it was first met as hearsay; one that was altered counts as such."""
    return not sealed.verified or bool(json.loads(sealed.row.body)["first"] == Standing.HEARSAY.label)


def _body(standing: Standing) -> dict[str, Any]:
    return {"v": 1, "first": standing.label}


def _is_pack(sealed: Sealed) -> bool:
    return sealed.row.tag == _PACK


def _packed(label: str, hashes: Hashes) -> dict[str, Any]:
    return {"v": 1, "first": label, "packed": b64encode(hashes.astype("<u8").tobytes()).decode()}


def _unpacked(sealed: Sealed) -> tuple[str, Hashes]:
    """Who said it, and the hashes. No altered row gets as far: a table that restricts is not served with one."""
    import numpy as np  # noqa: PLC0415 - loaded with the first pack, and most keeps have none

    body = json.loads(sealed.row.body)
    hashes = np.frombuffer(b64decode(body["packed"]), dtype="<u8").astype(np.uint64)
    return str(body["first"]), hashes


def _numbers(ids: Sequence[str]) -> Hashes:
    import numpy as np  # noqa: PLC0415

    return np.frombuffer(bytes.fromhex("".join(row_id[:_HEX] for row_id in ids)), dtype=">u8").astype(np.uint64)


def _sorted(runs: Sequence[Hashes]) -> Hashes:
    import numpy as np  # noqa: PLC0415

    return np.unique(np.concatenate(runs))


def _among(asked: Hashes, known: Hashes) -> NDArray[np.bool_]:
    """For each hash whether it is among the known ones, which are sorted."""
    places = known.searchsorted(asked)
    places[places == len(known)] = 0
    found: NDArray[np.bool_] = known[places] == asked
    return found
