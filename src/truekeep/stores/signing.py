"""Signatures: what a keep exports and the receipts it gives are signed with its own Ed25519 key."""

from __future__ import annotations

import base64
import binascii

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from truekeep.errors import InvalidRequest
from truekeep.stores.keys import KeepKeys

_PREFIX = "ed25519:"


def public_key(keys: KeepKeys) -> str:
    """The keep's public key, as text. It stays the same for as long as the keep does."""
    return _PREFIX + base64.b64encode(_private(keys).public_key().public_bytes_raw()).decode()


def signature(keys: KeepKeys, message: bytes) -> str:
    """The keep's signature over a message, as text."""
    return base64.b64encode(_private(keys).sign(message)).decode()


def is_signed_by(public: str, signed: str, message: bytes) -> bool:
    """Whether a signature over a message was made with the private half of that public key."""
    try:
        Ed25519PublicKey.from_public_bytes(_public_bytes(public)).verify(
            base64.b64decode(signed, validate=True), message
        )
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def checked_public_key(text: str) -> str:
    """A public key as ``keys status`` prints it."""
    try:
        Ed25519PublicKey.from_public_bytes(_public_bytes(text))
    except (ValueError, binascii.Error):
        raise InvalidRequest(
            "That is no public key.",
            code="invalid_public_key",
            hint="It looks like ed25519:… in 'truekeep keys status'.",
        ) from None
    return text


def _private(keys: KeepKeys) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(keys.sign)


def _public_bytes(text: str) -> bytes:
    if not text.startswith(_PREFIX):
        raise ValueError("no public key")
    return base64.b64decode(text.removeprefix(_PREFIX), validate=True)
