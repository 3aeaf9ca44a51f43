"""Keys: one random secret per keep, wrapped by the master key, and everything that is derived from it.

Keys live apart from data. A keep's key file holds its root (digests, anchors and signatures last as long as the keep)
and its data keys, oldest first. A data key seals and encrypts from its rotation until the next; older ones stay, so
that old links of the audit chain and old backups can be verified. Deleting the file shreds the keep. What a keep
exports and the receipts it gives are signed with its own Ed25519 key.
"""

from __future__ import annotations

import base64
import binascii
import json
import platform
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from truekeep.errors import InvalidRequest, KeyUnavailable
from truekeep.stores.keyfile import VERSION, locked, read_entry, replace_entry, write_new
from truekeep.stores.master import KEY_BYTES, MasterKeys, Wrapping

_TRIES = 5
"""Looks at a key file while another process rotates keys; one that never holds still is refused."""
_PREFIX = "ed25519:"
_PARTS = ("nonce", "wrapped", "service")
"""The encrypted parts of an entry; the last one only where a key service wraps."""


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """What a key file protects."""

    keep_id: str
    cipher: str
    root: bytes
    data: tuple[bytes, ...]
    pending: bool = False
    """Whether the newest data key may not be in force everywhere yet: a rotation was begun."""

    def __repr__(self) -> str:
        return f"Secret(keep_id={self.keep_id!r}, data_keys={len(self.data)}, pending={self.pending})"


@dataclass(frozen=True, slots=True, repr=False)
class Epoch:
    """The keys derived from one data key. Holding the file key does not give the MAC or audit keys."""

    file: bytes
    mac: bytes
    audit: bytes

    def __repr__(self) -> str:
        return "Epoch(…)"


@dataclass(frozen=True, slots=True, repr=False)
class KeepKeys:
    """The keys of one keep."""

    keep_id: str
    cipher: str
    epochs: tuple[Epoch, ...]
    pending: bool
    digest: bytes
    anchor: bytes
    sign: bytes

    @property
    def file(self) -> bytes:
        """The key that encrypts the database."""
        return self.epochs[-2 if self.pending else -1].file

    @property
    def file_keys(self) -> tuple[bytes, ...]:
        """The keys that may encrypt the database, likeliest first: several while a rotation or restore is under way."""
        return tuple(epoch.file for epoch in reversed(self.epochs[0 if self.pending else -1 :]))

    def __repr__(self) -> str:
        return f"KeepKeys(keep_id={self.keep_id!r}, cipher={self.cipher!r}, epochs={len(self.epochs)})"


class Keyring:
    """The key directory: creates, opens and rewraps each keep's key."""

    def __init__(self, directory: Path, master_key: str = "") -> None:
        self.directory = directory
        self.masters = MasterKeys(directory, master_key)

    def path(self, keep: str) -> Path:
        """Where the wrapped key of that keep is."""
        return self.directory / "keeps" / f"{keep}.key"

    def names(self) -> list[str]:
        """The keeps that have a key here."""
        return sorted(path.stem for path in (self.directory / "keeps").glob("*.key"))

    def exists(self, keep: str) -> bool:
        """Whether a key for that keep was ever made here."""
        return self.path(keep).exists()

    def create(self, keep: str) -> KeepKeys:
        """A new random key, wrapped and written; an existing one is opened instead."""
        with locked(self.directory, tidy=False):
            made = Secret(
                secrets.token_hex(16),
                choose_cipher(),
                secrets.token_bytes(KEY_BYTES),
                (secrets.token_bytes(KEY_BYTES),),
            )
            self.write_new(keep, _wrapped(made, self.masters.current(create=True), keep), made)
        return self.open(keep)

    def entry(self, keep: str) -> dict[str, Any]:
        """The wrapped key as it is stored."""
        return read_entry(self.path(keep), "keep-key")

    def write_new(self, keep: str, entry: Mapping[str, Any], secret: Secret) -> None:  # noqa: ARG002 - for other stores
        """Store a new keep's key; when another process was first, its key stands."""
        write_new(self.path(keep), entry)

    def replace(self, keep: str, entry: Mapping[str, Any], secret: Secret) -> None:  # noqa: ARG002
        """Store a keep's key anew; a crash leaves the old one or the new one."""
        replace_entry(self.path(keep), entry)

    def open(self, keep: str) -> KeepKeys:
        """Unwrap the keep's secret with the master key and derive its keys."""
        return derive(self.secret(keep))

    def secret(self, keep: str) -> Secret:
        """What the keep's key file protects. A rotation in another process may move keys between two looks."""
        for _ in range(_TRIES):
            entry = self.entry(keep)
            try:
                return _unwrapped(entry, self.masters.by_id(str(entry.get("master"))), keep)
            except KeyUnavailable:
                if self.entry(keep) == entry:
                    raise
        raise KeyUnavailable("The keep's key does not hold still.", hint="Try again when no keys are being rotated.")

    def wrapped_by(self, keep: str) -> str:
        """The fingerprint of the master key that wraps a keep's key."""
        return str(self.entry(keep).get("master"))

    def rewrap(self, keep: str, master: Wrapping, change: Callable[[Secret], Secret] = lambda secret: secret) -> Secret:
        """Write the keep's secret anew, changed and under that master key. The caller holds the directory's lock."""
        changed = change(self.secret(keep))
        self.replace(keep, _wrapped(changed, master, keep), changed)
        return changed


def with_new_data_key(secret: Secret) -> Secret:
    """The secret at the start of a rotation; one that was begun before is taken up."""
    if secret.pending:
        return secret
    return replace(secret, data=(*secret.data, secrets.token_bytes(KEY_BYTES)), pending=True)


def with_restore_begun(secret: Secret) -> Secret:
    """The secret while a backup is put back, which may be under an older data key."""
    return replace(secret, pending=True)


def with_rotation_done(secret: Secret) -> Secret:
    """The secret once the newest data key is in force everywhere."""
    return replace(secret, pending=False)


def choose_cipher() -> str:
    """AEGIS where the processor has AES instructions, ChaCha20-Poly1305 otherwise."""
    return "aegis" if _has_aes() else "chacha20"


def _has_aes() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return platform.machine().lower() in ("arm64", "aarch64", "x86_64", "amd64")
    return any(line.startswith(("flags", "Features")) and " aes" in line for line in flags.splitlines())


def derive(secret: Secret) -> KeepKeys:
    """Every key that comes from a secret."""

    def subkey(key: bytes, purpose: str) -> bytes:
        info = f"truekeep/v{VERSION}/{purpose}".encode()
        return HKDF(SHA256(), KEY_BYTES, salt=secret.keep_id.encode(), info=info).derive(key)

    epochs = (Epoch(subkey(key, "file"), subkey(key, "mac"), subkey(key, "audit")) for key in secret.data)
    lasting = (subkey(secret.root, purpose) for purpose in ("digest", "anchor", "sign"))
    return KeepKeys(secret.keep_id, secret.cipher, tuple(epochs), secret.pending, *lasting)


def _wrapped(secret: Secret, master: Wrapping, keep: str) -> dict[str, Any]:
    content = {"root": _text(secret.root), "data": [_text(key) for key in secret.data], "pending": secret.pending}
    binding = _binding(keep, secret.keep_id, secret.cipher, master.id)
    return {
        "truekeep": "keep-key",
        "version": VERSION,
        "keep_id": secret.keep_id,
        "cipher": secret.cipher,
        "master": master.id,
        **{part: _text(value) for part, value in master.close(json.dumps(content).encode(), binding).items()},
    }


def _unwrapped(entry: dict[str, Any], master: Wrapping, keep: str) -> Secret:
    try:
        keep_id, cipher = str(entry["keep_id"]), str(entry["cipher"])
        parts = {part: _bytes(entry[part]) for part in _PARTS if part in entry}
        content = json.loads(master.open(parts, _binding(keep, keep_id, cipher, master.id)))
        data = tuple(_bytes(key) for key in content["data"])
        return Secret(keep_id, cipher, _bytes(content["root"]), data, bool(content["pending"]))
    except (KeyError, TypeError, ValueError, InvalidTag):
        raise KeyUnavailable(
            "The keep's key cannot be unwrapped with this master key.",
            code="wrong_key",
            hint=f"Put back the key file of this keep, or the master key that made it ({master.id}).",
        ) from None


def _binding(keep: str, keep_id: str, cipher: str, master_id: str) -> bytes:
    # The name is bound too: a key file copied under another keep's name does not open.
    return json.dumps(["truekeep", VERSION, keep, keep_id, cipher, master_id]).encode()


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _bytes(value: Any) -> bytes:
    return base64.b64decode(str(value), validate=True)


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
