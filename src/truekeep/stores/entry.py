"""One transaction of the ledger: rows that are sealed as they are written, and the events that name them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Protocol

from truekeep.errors import StoreTampered
from truekeep.stores.anchor import AnchorHead
from truekeep.stores.base import CARDED, Backend, EventRow, Row
from truekeep.stores.chain import RESTATED, Expected, RowIndex, Tip, Touched, known_good
from truekeep.stores.inspection import Inspection, RowPlace

_NOTED = ("principal", "reason", "why")
"""Members of events that may name or quote people."""
_OWN = frozenset({"rows", "noted", RESTATED})
"""Members of events that the ledger itself writes."""
encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class Mark(Protocol):
    """What a transaction is done under, so that it is done once."""

    def require_new(self) -> None:
        """Raise if it was done before."""

    def note(self, entry: Entry) -> None:
        """Write down, in the same transaction, that it is done."""


class Entry:
    """One open transaction of the ledger."""

    def __init__(self, backend: Backend, tip: Tip, expected: Expected, at: str, index: RowIndex | None = None) -> None:
        self._backend = backend
        self._index = RowIndex() if index is None else index
        self._seal = tip.seal
        self._expected = expected
        self._at = max(at, tip.head.at)  # the log's times are in its order, whatever the clock says
        self._macs: dict[tuple[str, int], bytes | None] = {}
        self.changes: Counter[str] = Counter()
        """How many times a row of each table was written or removed."""
        self._touched: list[Touched] = []
        self._restated: list[tuple[int, str]] = []
        self.tip = Tip(tip.seal, tip.head, tip.total)
        self.events: list[EventRow] = []
        self.changed: list[Touched] = []
        self.told: list[Any] = []
        """What is answered to whoever asked for it, for a mark to write down."""

    @property
    def number(self) -> int:
        """The number that the next event will have."""
        return self.tip.head.seq + 1

    def put(self, table: str, row_id: str, body: dict[str, Any], tag: str = "", *, card: bytes | None = None) -> int:
        """Add a row at the next place; returns its place. A stranger under its id has to make room."""
        stranger = self._backend.by_id(table, row_id)
        if stranger is not None and self.known(table, stranger.seq) is None:
            self.remove(table, stranger)
        seq = self._backend.next_seq(table)
        if self.known(table, seq) is not None:
            # Somebody took the row away that is to be there. Nothing may come to lie over the gap.
            Inspection(self._expected, missing=(RowPlace(table, seq),)).require_nothing_lost(self.tip.head)
        self._backend.insert(table, self._sealed_row(table, Row(seq, row_id, tag, encoded(body), b"", card)))
        return seq

    def set(self, table: str, row_id: str, body: dict[str, Any], tag: str = "", *, card: bytes | None = None) -> int:
        """Let the row of that id say this, whatever it said and whether or not there was one; returns its place."""
        seq = self._index.place(table, row_id)
        if seq is not None and any(row.id != row_id for row in self._backend.by_seqs(table, [seq])):
            seq = None  # another process took it away or renamed it, and something else is there now
        if seq is None or self.known(table, seq) is None:
            other = self._backend.by_id(table, row_id)
            seq = other.seq if other is not None and self.known(table, other.seq) is not None else None
        if seq is None:
            return self.put(table, row_id, body, tag, card=card)
        self._release(table, seq)
        self._backend.replace(table, self._sealed_row(table, Row(seq, row_id, tag, encoded(body), b"", card)))
        return seq

    def replace(
        self,
        table: str,
        old: Row,
        body: dict[str, Any],
        tag: str = "",
        *,
        card: bytes | None = None,
        row_id: str | None = None,
    ) -> None:
        """Give a verified row new content; its identity stays unless ``row_id`` is another, and so does its index card.

        The new content is made of the old, so that a row which this keep did not write must not get a seal here.
        """
        if not self.is_ours(table, old):
            raise StoreTampered(
                f"{RowPlace(table, old.seq)} is not what this keep wrote there, and is not written anew.",
                code="row_altered",
                hint="See 'truekeep audit verify'; delete what was altered.",
                where=str(RowPlace(table, old.seq)),
                since=known_good(self.tip.head),
            )
        kept = card if card is not None else self.card(table, old.seq)
        self._release(table, old.seq)
        if row_id is not None:
            self._index.remove(table, old.seq, old.id)
        row = Row(old.seq, row_id or old.id, tag, encoded(body), b"", kept)
        self._backend.replace(table, self._sealed_row(table, row))

    def is_ours(self, table: str, row: Row) -> bool:
        """Whether a row is the one that this keep wrote at its place last."""
        return self.known(table, row.seq) == row.mac and self._seal.holds(table, row)

    def attach(self, table: str, row: Row, card: bytes) -> None:
        """Give a verified row a new index card; everything else in it stays. A foreign row is never sealed."""
        if not self.is_ours(table, row):
            return
        self._release(table, row.seq)
        self._backend.replace(table, self._sealed_row(table, row._replace(card=card)))

    def remove(self, table: str, row: Row) -> None:
        """Take a row away."""
        self._release(table, row.seq)
        self._backend.remove(table, row.seq)
        self._index.remove(table, row.seq, row.id)
        self._touch(table, row.seq, None)

    def event(self, kind: str, **body: Any) -> None:
        """Close what was done since the last event under one link of the chain.

        What people wrote and who is named goes into a sealed note beside the event, so that it can be erased later
        without touching the chain.
        """
        if not _OWN.isdisjoint(body):
            raise AssertionError("the event has a member that is the ledger's own")
        seq = self.tip.head.seq + 1
        noted = {name: body.pop(name) for name in _NOTED if isinstance(body.get(name), str)}
        if noted:
            self.put("notes", str(seq), noted)
            body["noted"] = list(noted)
        if self._restated:
            body[RESTATED], self._restated = self._restated, []
        state = self._seal.mask(self.tip.total, seq)
        text = encoded({**body, "rows": self._touched} if self._touched else body)
        draft = EventRow(seq, self._at, kind, text, state, b"")
        event = EventRow(seq, self._at, kind, text, state, self._seal.link(self.tip.head.hash, draft))
        self._backend.append(event)
        self.events.append(event)
        self.tip.head = AnchorHead(seq, event.hash, self._at)
        self.changed += self._touched
        self._touched = []

    def restate(self, event: EventRow, body: dict[str, Any]) -> None:
        """Leave only this of an earlier event. Its link stays as it is; the next event vouches for what is left."""
        kept = event._replace(body=encoded(body))
        self._backend.restate(kept)
        self._restated.append((event.seq, self._seal.restated(kept)))

    def finish(self) -> None:
        """Nothing changes without an event."""
        if self._touched or self._restated:
            raise AssertionError("rows were changed without an event that names them")

    def _sealed_row(self, table: str, row: Row) -> Row:
        mac = self._seal.mac(table, row)
        self.tip.total += self._seal.term(mac)
        self._index.put(table, row.seq, row.id, row.tag)
        self._touch(table, row.seq, mac)
        return row._replace(mac=mac)

    def card(self, table: str, seq: int) -> bytes | None:
        """The index card at that place, if it is this keep's own."""
        rows = self._backend.by_seqs(table, [seq], cards=True) if table in CARDED else []
        return next((row.card for row in rows if self._seal.holds_whole(table, row)), None)

    def _release(self, table: str, seq: int) -> None:
        # The sum holds what this keep wrote there, whatever the row says now; a foreign row has no share in it.
        mac = self.known(table, seq)
        if mac is not None:
            self.tip.total -= self._seal.term(mac)

    def known(self, table: str, seq: int) -> bytes | None:
        """The MAC of what this keep has at that place, this transaction included."""
        return self._macs.get((table, seq), self._expected[table].get(seq))

    def _touch(self, table: str, seq: int, mac: bytes | None) -> None:
        self._macs[table, seq] = mac
        self.changes[table] += 1
        self._touched.append((table, seq, mac.hex() if mac else None))
