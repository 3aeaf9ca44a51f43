"""Seals: the MAC over every row, the keyed digests of the audit log, and the running sum over the current set.

All of them are keyed BLAKE2b (RFC 7693), told apart by its personalisation. States that have taken in the key are
copied for each row rather than made anew, because opening a keep looks at every row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from typing import TYPE_CHECKING, Any

from truekeep.errors import KeyUnavailable
from truekeep.stores.base import TABLES, EventRow, Row

if TYPE_CHECKING:
    from truekeep.stores.keys import KeepKeys

MODULUS = 1 << 256
"""Sums over sets of rows are taken modulo this, so that a sum is as long as a term."""
_FORMAT = "1"
_WHOLE, _BODY = 32, 16


@dataclass(slots=True)
class SealTally:
    """What a look at every row of a table found."""

    macs: dict[int, bytes] = field(default_factory=dict)
    """The MAC at each place whose row holds, with or without its index card."""
    total: int = 0
    """Their share in the set sum."""
    ids: dict[str, int] = field(default_factory=dict)
    """The places of those rows by id."""
    tags: dict[int, str] = field(default_factory=dict)
    """Their tags by place, where they have one."""
    failed: list[int] = field(default_factory=list)
    """Places of rows that this keep did not write as they are."""
    cardless: list[int] = field(default_factory=list)
    """Places of rows that hold but for their index card."""


class Seal:
    """Everything that needs the keep's MAC, audit and digest keys.

    The MAC of a row covers all of it. One with an index card has a second part, over everything but the card and
    over the first part: it tells a doctored card from a doctored memory, and lets a row be served without its card.
    """

    def __init__(self, keys: KeepKeys, epoch: int = 0) -> None:
        self._keys, self._epoch = keys, epoch
        mac, audit = keys.epochs[epoch].mac, keys.epochs[epoch].audit
        heads = {table: f"{_FORMAT}\x1f{keys.keep_id}\x1f{table}\x1f" for table in TABLES}
        self._whole = {table: _keyed(mac, b"row", head, _WHOLE) for table, head in heads.items()}
        self._body = {table: _keyed(mac, b"body", head, _BODY) for table, head in heads.items()}
        self._term = _keyed(audit, b"term")
        self._pads = _keyed(audit, b"pad")
        self._link = _keyed(audit, b"link", f"{_FORMAT}\x1f{keys.keep_id}\x1f")
        self._restated = _keyed(audit, b"restated", f"{_FORMAT}\x1f{keys.keep_id}\x1f")
        self._digest_key = keys.digest

    def first(self) -> Seal:
        """The seal under which the chain began."""
        return Seal(self._keys) if self._epoch else self

    @property
    def has_successor(self) -> bool:
        """Whether there are newer keys than the ones of this seal."""
        return self._epoch + 1 < len(self._keys.epochs)

    @property
    def is_superseded(self) -> bool:
        """Whether the keys of this seal were replaced, and that is over and done with."""
        return self.has_successor and not self._keys.pending

    def successor(self) -> Seal:
        """The seal after a rotation of the keys."""
        if not self.has_successor:
            raise KeyUnavailable(
                "The keys were rotated, and the key file is the one from before.",
                code="key_outdated",
                hint="Restore the newest key directory.",
            )
        return Seal(self._keys, self._epoch + 1)

    def mac(self, table: str, row: Row) -> bytes:
        """The MAC over a row's whole content, its identity, its table, its keep and its position."""
        content = _content(row)
        whole = _finished(self._whole[table], content + (row.card or b""))
        return whole + _finished(self._body[table], content + whole) if row.card else whole

    def holds(self, table: str, row: Row) -> bool:
        """Whether the row, its index card aside, is exactly what this keep wrote at that place."""
        try:
            content, whole, body = _content(row), row.mac[:_WHOLE], row.mac[_WHOLE:]
            if not body:
                return compare_digest(_finished(self._whole[table], content), whole)
            return compare_digest(_finished(self._body[table], content + whole), body)
        except (TypeError, ValueError):
            return False  # a column of another type

    def holds_whole(self, table: str, row: Row) -> bool:
        """Whether the row and the index card in it are exactly what this keep wrote at that place."""
        try:
            whole = _finished(self._whole[table], _content(row) + (row.card or b""))
            return compare_digest(whole, row.mac[:_WHOLE])
        except (TypeError, ValueError):
            return False

    def tally(self, table: str, rows: Iterable[Row]) -> SealTally:
        """Look at every row, with its card. How long opening a keep takes is decided here."""
        found = SealTally()
        fresh, share, number, macs, total = self._whole[table].copy, self._term.copy, int.from_bytes, found.macs, 0
        ids, tags = found.ids, found.tags
        for row in rows:
            seq, row_id, tag, _, mac, card = row
            whole = fresh()
            try:
                whole.update(_content(row))
                if card:
                    whole.update(card)
                holds = compare_digest(whole.digest(), mac[:_WHOLE])
            except (TypeError, ValueError):
                holds = False
            if holds or self._takes_apart(table, row, found):
                macs[seq] = mac
                ids[row_id] = seq
                if tag:
                    tags[seq] = tag
                term = share()
                term.update(mac)
                total += number(term.digest(), "big")
        found.total = total
        return found

    def _takes_apart(self, table: str, row: Row, found: SealTally) -> bool:
        """Whether a row that does not hold as a whole does without its card; notes what is wrong with it."""
        holds = self.holds(table, row)
        (found.cardless if holds else found.failed).append(row.seq)
        return holds

    def term(self, mac: bytes) -> int:
        """A row's share in the set sum. Keyed apart from the MAC, so that visible MACs do not reveal it."""
        return int.from_bytes(_finished(self._term, mac), "big")

    def mask(self, total: int, event: int) -> bytes:
        """The set sum as it is stored with an event: masked by that event's number (MSet-Add-Hash)."""
        return ((total + self._pad(event)) % MODULUS).to_bytes(32, "big")

    def unmask(self, stored: bytes, event: int) -> int:
        """The set sum behind ``mask``."""
        return (int.from_bytes(stored, "big") - self._pad(event)) % MODULUS

    def _pad(self, event: int) -> int:
        return int.from_bytes(_finished(self._pads, event.to_bytes(8, "big")), "big")

    def link(self, previous: bytes, event: EventRow) -> bytes:
        """The chain hash of an event: over its content, the set it left behind and the event before it."""
        seq, at, kind, body, state, _ = event
        text = f"{seq}\x1f{len(state)}\x1f{len(at)}\x1f{len(kind)}\x1f{at}{kind}{body}"
        return _finished(self._link, previous + text.encode("utf-8", "surrogatepass") + state)

    def restated(self, event: EventRow) -> str:
        """What a later event vouches for an event with whose body was erased in: over it as it is now, and its link."""
        seq, at, kind, body, state, digest = event
        text = f"{seq}\x1f{len(state)}\x1f{len(digest)}\x1f{len(at)}\x1f{len(kind)}\x1f{at}{kind}{body}"
        return _finished(self._restated, text.encode("utf-8", "surrogatepass") + state + digest).hex()

    def sign(self, message: bytes) -> tuple[str, str]:
        """The keep's public key and its signature over a message."""
        from truekeep.stores.keys import public_key, signature  # noqa: PLC0415 - seldom needed

        return public_key(self._keys), signature(self._keys, message)

    def digest(self, purpose: str, text: str) -> str:
        """A keyed hash, so that erased text cannot be guessed back from the log."""
        data = f"{purpose}\x1f{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._digest_key, digest_size=20).hexdigest()


def genesis() -> bytes:
    """What the first event is chained to."""
    return b"\0" * 32


def _keyed(key: bytes, purpose: bytes, head: str = "", size: int = 32) -> Any:
    return hashlib.blake2b(head.encode("utf-8"), key=key, digest_size=size, person=purpose)


def _content(row: Row) -> bytes:
    seq, row_id, tag, body, _, _ = row
    text = f"{seq}\x1f{len(row_id)}\x1f{len(tag)}\x1f{len(body)}\x1f{row_id}{tag}{body}"
    return text.encode("utf-8", "surrogatepass")


def _finished(primed: Any, data: bytes) -> bytes:
    state = primed.copy()
    state.update(data)
    return state.digest()  # type: ignore[no-any-return]
