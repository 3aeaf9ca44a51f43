"""Seals: the MAC over every row, the keyed digests of the audit log, and the running sum over the current set."""

from __future__ import annotations

import hashlib
import hmac

from truekeep.stores.base import EventRow, Row
from truekeep.stores.keys import KeepKeys

_MODULUS = 1 << 256
_FORMAT = "1"


class Seal:
    """Everything that needs the keep's MAC, audit and digest keys."""

    def __init__(self, keys: KeepKeys) -> None:
        self._keys = keys

    def mac(self, table: str, row: Row) -> bytes:
        """The MAC over a row's whole content, its identity, its table, its keep and its position."""
        sizes = f"{len(row.id)}\x1f{len(row.tag)}"
        head = f"{_FORMAT}\x1f{self._keys.keep_id}\x1f{table}\x1f{row.seq}\x1f{sizes}\x1f"
        body = row.body if isinstance(row.body, bytes) else row.body.encode("utf-8", "surrogatepass")
        return hmac.digest(self._keys.mac, (head + row.id + row.tag).encode("utf-8", "surrogatepass") + body, "sha256")

    def holds(self, table: str, row: Row) -> bool:
        """Whether the row is exactly what this keep wrote at that place."""
        return hmac.compare_digest(self.mac(table, row), row.mac)

    def term(self, mac: bytes) -> int:
        """A row's share in the set sum. Keyed apart from the MAC, so that visible MACs do not reveal it."""
        return int.from_bytes(
            hashlib.blake2b(mac, key=self._keys.audit, digest_size=32, person=b"term").digest(), "big"
        )

    def mask(self, total: int, event: int) -> bytes:
        """The set sum as it is stored with an event: masked by that event's number (MSet-Add-Hash)."""
        return ((total + self._pad(event)) % _MODULUS).to_bytes(32, "big")

    def unmask(self, stored: bytes, event: int) -> int:
        """The set sum behind ``mask``."""
        return (int.from_bytes(stored, "big") - self._pad(event)) % _MODULUS

    def _pad(self, event: int) -> int:
        number = event.to_bytes(8, "big")
        return int.from_bytes(
            hashlib.blake2b(number, key=self._keys.audit, digest_size=32, person=b"pad").digest(), "big"
        )

    def link(self, previous: bytes, event: EventRow) -> bytes:
        """The chain hash of an event: over its content, the set it left behind and the event before it."""
        head = f"{_FORMAT}\x1f{self._keys.keep_id}\x1f{event.seq}\x1f{event.at}\x1f{event.kind}\x1f"
        data = previous + event.state + (head + event.body).encode("utf-8", "surrogatepass")
        return hmac.digest(self._keys.audit, b"link" + data, "sha256")

    def digest(self, purpose: str, text: str) -> str:
        """A keyed hash, so that erased text cannot be guessed back from the log."""
        data = f"{purpose}\x1f{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._keys.digest, digest_size=20).hexdigest()


def genesis() -> bytes:
    """What the first event is chained to."""
    return b"\0" * 32
