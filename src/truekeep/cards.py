"""The index card in a memory's row: what its text says, the values in it, and its vector."""

from __future__ import annotations

import struct
from typing import NamedTuple

_LENGTHS = struct.Struct("<III")


class Card(NamedTuple):
    """The parts of a card; all are empty where there is none."""

    said: bytes = b""
    """What keyword search knows."""
    values: bytes = b""
    """The fingerprint by which the act boundary finds the text."""
    model: bytes = b""
    vector: bytes = b""

    def to_bytes(self) -> bytes:
        """The card as it is stored."""
        return b"".join((_LENGTHS.pack(len(self.said), len(self.values), len(self.model)), *self))


def card_in(stored: bytes | None) -> Card:
    """The card in a verified row."""
    if stored is None or len(stored) < _LENGTHS.size:
        return Card()
    ends = [_LENGTHS.size]
    for length in _LENGTHS.unpack_from(stored):
        ends.append(ends[-1] + length)
    return Card(*(stored[start:end] for start, end in zip(ends, [*ends[1:], None], strict=True)))
