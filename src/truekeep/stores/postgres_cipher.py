"""What a keep's rows look like in a shared database: sealed boxes that only open in their own place.

A box is bound to the keep, the table, the place and the part it is of, so a box that was copied to another place or
keep does not open there. Ids and tags are inside: some of them are digests of what was said, others name principals.
Rows are found by a keyed digest of their id.
"""

from __future__ import annotations

import hashlib
import secrets
import struct
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

if TYPE_CHECKING:
    from truekeep.stores.keys import KeepKeys

_FORMAT = 1
_HEAD = struct.Struct(">BH")
"""The version of the format, and which of the keep's data keys closed the box."""
_NONCE = 12
_START = _HEAD.size + _NONCE
_LENGTHS = struct.Struct(">II")
_DIGEST = 16
_ERRORS = "surrogatepass"


class Boxes:
    """Closes and opens the boxes of one keep."""

    def __init__(self, keys: KeepKeys) -> None:
        kind = AESGCM if keys.cipher == "aegis" else ChaCha20Poly1305
        self.name = "AES-256-GCM" if kind is AESGCM else "ChaCha20-Poly1305"
        self._keep = keys.keep_id
        self._ciphers = [kind(_subkey(one.file, b"boxes")) for one in keys.epochs]
        # The newest key closes, also while a rotation is under way: nobody reads here who does not have it.
        self._epoch = len(self._ciphers) - 1
        self._head = _HEAD.pack(_FORMAT, self._epoch)
        self._openers = {_HEAD.pack(_FORMAT, epoch): one.decrypt for epoch, one in enumerate(self._ciphers)}
        self._places: dict[str, bytes] = {}
        self._ids = _subkey(keys.digest, b"ids")

    def close(self, part: str, seq: int, *texts: str, data: bytes = b"") -> bytes:
        """A box for up to three texts and some bytes, for that part and place."""
        parts = [text.encode("utf-8", _ERRORS) for text in texts]
        content = _LENGTHS.pack(*map(len, parts[:2])) + b"".join(parts) if parts else data
        nonce = secrets.token_bytes(_NONCE)
        return self._head + nonce + self._ciphers[self._epoch].encrypt(nonce, content, self._place(part, seq))

    def open(self, part: str, seq: int, box: bytes) -> bytes | None:
        """What is in a box, or none if it was not closed for this place by this keep."""
        decrypt = self._openers.get(box[: _HEAD.size])
        if decrypt is None:
            return None
        try:
            return decrypt(box[_HEAD.size : _START], box[_START:], self._place(part, seq))
        except (InvalidTag, ValueError, TypeError):
            return None

    def texts(self, part: str, seq: int, box: bytes) -> tuple[str, str, str] | None:
        """The three texts in a box, or none."""
        content = self.open(part, seq, box)
        if content is None or len(content) < _LENGTHS.size:
            return None
        first, second = _LENGTHS.unpack_from(content)
        text = content[_LENGTHS.size :]
        try:
            if text.isascii():  # most are, and decoded at once
                whole = text.decode("ascii")
                return whole[:first], whole[first : first + second], whole[first + second :]
            return (
                text[:first].decode("utf-8", _ERRORS),
                text[first : first + second].decode("utf-8", _ERRORS),
                text[first + second :].decode("utf-8", _ERRORS),
            )
        except UnicodeDecodeError:
            return None

    def digest(self, table: str, row_id: str) -> bytes:
        """What a row is found by in the database."""
        data = f"{table}\x1f{row_id}".encode("utf-8", _ERRORS)
        return hashlib.blake2b(data, key=self._ids, digest_size=_DIGEST, person=b"tk row id").digest()

    def _place(self, part: str, seq: int) -> bytes:
        begin = self._places.get(part)
        if begin is None:
            begin = self._places[part] = f"truekeep\x1f{_FORMAT}\x1f{self._keep}\x1f{part}\x1f".encode()
        return begin + b"%d" % seq


def _subkey(key: bytes, purpose: bytes) -> bytes:
    return hashlib.blake2b(key=key, digest_size=32, person=b"tk pg " + purpose).digest()
