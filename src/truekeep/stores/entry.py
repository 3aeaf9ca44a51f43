"""One transaction of the ledger: rows that are sealed as they are written, and the events that name them."""

from __future__ import annotations

import json
from typing import Any, Protocol

from truekeep.stores.anchor import Head
from truekeep.stores.audit import Expected, Tip, Touched
from truekeep.stores.base import CARDED, Backend, EventRow, Row

_NOTED = ("principal", "reason", "why")
"""Members of events that may name or quote people."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class Mark(Protocol):
    """What a transaction is done under, so that it is done once."""

    def require_new(self) -> None:
        """Raise if it was done before."""

    def note(self, entry: Entry) -> None:
        """Write down, in the same transaction, that it is done."""


class Entry:
    """One open transaction of the ledger."""

    def __init__(self, backend: Backend, tip: Tip, expected: Expected, at: str) -> None:
        self._backend = backend
        self._seal = tip.seal
        self._expected = expected
        self._at = max(at, tip.head.at)  # the log's times are in its order, whatever the clock says
        self._macs: dict[tuple[str, int], bytes | None] = {}
        self._tables: set[str] = set()
        self._touched: list[Touched] = []
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
        self._backend.insert(table, self._sealed_row(table, Row(seq, row_id, tag, _encode(body), b"", card)))
        return seq

    def replace(self, table: str, old: Row, body: dict[str, Any], tag: str = "", *, card: bytes | None = None) -> None:
        """Give the row at that place new content; its identity stays, and its index card unless there is a new one."""
        kept = card if card is not None else self._card(table, old.seq)
        self._release(table, old.seq)
        self._backend.replace(table, self._sealed_row(table, Row(old.seq, old.id, tag, _encode(body), b"", kept)))

    def attach(self, table: str, row: Row, card: bytes) -> None:
        """Give a verified row a new index card; everything else in it stays. A foreign row is never sealed."""
        if self.known(table, row.seq) != row.mac or not self._seal.holds(table, row):
            return
        self._release(table, row.seq)
        self._backend.replace(table, self._sealed_row(table, row._replace(card=card)))

    def remove(self, table: str, row: Row) -> None:
        """Take a row away."""
        self._release(table, row.seq)
        self._backend.remove(table, row.seq)
        self._touch(table, row.seq, None)

    def event(self, kind: str, **body: Any) -> None:
        """Close what was done since the last event under one link of the chain.

        What people wrote and who is named goes into a sealed note beside the event, so that it can be erased later
        without touching the chain.
        """
        if "rows" in body or "noted" in body:
            raise AssertionError("an event's members 'rows' and 'noted' are the ledger's own")
        seq = self.tip.head.seq + 1
        noted = {name: body.pop(name) for name in _NOTED if isinstance(body.get(name), str)}
        if noted:
            self.put("notes", str(seq), noted)
            body["noted"] = list(noted)
        state = self._seal.mask(self.tip.total, seq)
        text = _encode({**body, "rows": self._touched} if self._touched else body)
        draft = EventRow(seq, self._at, kind, text, state, b"")
        event = EventRow(seq, self._at, kind, text, state, self._seal.link(self.tip.head.hash, draft))
        self._backend.append(event)
        self.events.append(event)
        self.tip.head = Head(seq, event.hash, self._at)
        self.changed += self._touched
        self._touched = []

    def finish(self) -> None:
        """Nothing changes without an event."""
        if self._touched:
            raise AssertionError("rows were changed without an event that names them")

    def _sealed_row(self, table: str, row: Row) -> Row:
        mac = self._seal.mac(table, row)
        self.tip.total += self._seal.term(mac)
        self._touch(table, row.seq, mac)
        return row._replace(mac=mac)

    def _card(self, table: str, seq: int) -> bytes | None:
        """The index card at that place, if it is this keep's own."""
        rows = self._backend.by_seqs(table, [seq], cards=True) if table in CARDED else []
        return next((row.card for row in rows if self._seal.holds_whole(table, row)), None)

    def _release(self, table: str, seq: int) -> None:
        # The sum holds what this keep wrote there, whatever the row says now; a foreign row has no share in it.
        mac = self.known(table, seq)
        if mac is not None:
            self.tip.total -= self._seal.term(mac)

    def has_touched(self, table: str) -> bool:
        """Whether a row of that table was written or removed."""
        return table in self._tables

    def known(self, table: str, seq: int) -> bytes | None:
        """The MAC of what this keep has at that place, this transaction included."""
        return self._macs.get((table, seq), self._expected[table].get(seq))

    def _touch(self, table: str, seq: int, mac: bytes | None) -> None:
        self._macs[table, seq] = mac
        self._tables.add(table)
        self._touched.append((table, seq, mac.hex() if mac else None))
