"""The key of ``truekeep protect``: it authenticates baselines and seals what was taken out of files.

It lies in the key directory, away from the files it protects: whoever can write a repository cannot forge a baseline
for it, and cannot read or replace a passage that was taken out.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from pathlib import Path

from truekeep import disk
from truekeep.errors import KeyUnavailable

_BYTES = 32
_FILE = "protect.key"


@dataclass(frozen=True, slots=True, repr=False)
class ProtectKey:
    """The key, and what is derived from it; each purpose has a key of its own."""

    key: bytes

    def __repr__(self) -> str:
        return "ProtectKey(…)"

    def derived(self, purpose: str) -> bytes:
        """The key for one purpose."""
        return hashlib.blake2b(purpose.encode(), key=self.key, digest_size=_BYTES, person=b"protect key").digest()

    def mac(self, purpose: str, content: bytes) -> str:
        """The authentication code of a content."""
        return hmac.digest(self.derived(purpose), content, "sha256").hex()


def protect_key(directory: Path, *, create: bool = False) -> ProtectKey:
    """The key in the key directory; ``create`` makes it if there is none yet."""
    path = directory / _FILE
    try:
        if create:
            disk.make_directory(directory)
            disk.write_once(path, secrets.token_bytes(_BYTES))
        key = disk.read(path, _BYTES)
    except OSError as error:
        raise KeyUnavailable(
            "The key of 'truekeep protect' cannot be read.",
            code="key_missing",
            hint=f"It is {_FILE} in the key directory ({type(error).__name__}); no baseline is believed without it.",
        ) from None
    if len(key) != _BYTES:
        raise KeyUnavailable("The key of 'truekeep protect' is damaged.", hint=f"Restore {_FILE} in the key directory.")
    return ProtectKey(key)
