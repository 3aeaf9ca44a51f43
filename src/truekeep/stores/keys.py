"""Keys: one master key, one wrapped data key per keep, and the subkeys derived from it.

Keys live apart from data. Every file carries a version marker, is created with mode 0600 and is never
overwritten; deleting a keep's key file makes its database unreadable for good.
"""

from __future__ import annotations

import base64
import json
import os
import platform
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from truekeep.errors import KeyUnavailable, StoreReadOnly

_VERSION = 1
_KEY_BYTES = 32


@dataclass(frozen=True, slots=True, repr=False)
class KeepKeys:
    """The secrets of one keep. Holding the file key does not give the MAC or audit keys."""

    keep_id: str
    cipher: str
    file: bytes
    mac: bytes
    audit: bytes
    digest: bytes

    def __repr__(self) -> str:
        return f"KeepKeys(keep_id={self.keep_id!r}, cipher={self.cipher!r})"


class Keyring:
    """The key directory: creates and opens the master key and each keep's data key."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, keep: str) -> Path:
        """Where the wrapped key of that keep is."""
        return self.directory / "keeps" / f"{keep}.key"

    def exists(self, keep: str) -> bool:
        """Whether a key for that keep was ever made here."""
        return self.path(keep).exists()

    def create(self, keep: str) -> KeepKeys:
        """A new random data key, wrapped and written; an existing one is opened instead."""
        keep_id, cipher = secrets.token_hex(16), choose_cipher()
        data_key, nonce = secrets.token_bytes(_KEY_BYTES), secrets.token_bytes(12)
        wrapped = AESGCM(self._master(create=True)).encrypt(nonce, data_key, _binding(keep, keep_id, cipher))
        entry = {
            "truekeep": "keep-key",
            "version": _VERSION,
            "keep_id": keep_id,
            "cipher": cipher,
            "nonce": _text(nonce),
            "wrapped": _text(wrapped),
        }
        _write_new(self.path(keep), entry)
        return self.open(keep)

    def open(self, keep: str) -> KeepKeys:
        """Unwrap the keep's data key with the master key and derive its subkeys."""
        entry = _read(self.path(keep), "keep-key")
        try:
            keep_id, cipher = str(entry["keep_id"]), str(entry["cipher"])
            nonce, wrapped = _bytes(entry["nonce"]), _bytes(entry["wrapped"])
            data_key = AESGCM(self._master(create=False)).decrypt(nonce, wrapped, _binding(keep, keep_id, cipher))
        except (KeyError, ValueError, InvalidTag) as error:
            raise KeyUnavailable(
                "The keep's key cannot be unwrapped with this master key.",
                code="wrong_key",
                hint=f"Put back the master key that made {self.path(keep)}.",
            ) from error
        return _derive(data_key, keep_id, cipher)

    def _master(self, *, create: bool) -> bytes:
        path = self.directory / "master.key"
        if create and not path.exists():
            key = _text(secrets.token_bytes(_KEY_BYTES))
            _write_new(path, {"truekeep": "master-key", "version": _VERSION, "key": key})
        try:
            key_bytes = _bytes(_read(path, "master-key")["key"])
        except (KeyError, ValueError) as error:
            raise KeyUnavailable("The master key file is damaged.", hint=f"Restore {path}.") from error
        if len(key_bytes) != _KEY_BYTES:
            raise KeyUnavailable("The master key file is damaged.", hint=f"Restore {path}.")
        return key_bytes


def choose_cipher() -> str:
    """AEGIS where the processor has AES instructions, ChaCha20-Poly1305 otherwise."""
    return "aegis" if _has_aes() else "chacha20"


def _has_aes() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return platform.machine().lower() in ("arm64", "aarch64", "x86_64", "amd64")
    return any(line.startswith(("flags", "Features")) and " aes" in line for line in flags.splitlines())


def _derive(data_key: bytes, keep_id: str, cipher: str) -> KeepKeys:
    def subkey(purpose: str) -> bytes:
        info = f"truekeep/v{_VERSION}/{purpose}".encode()
        return HKDF(SHA256(), _KEY_BYTES, salt=keep_id.encode(), info=info).derive(data_key)

    return KeepKeys(keep_id, cipher, subkey("file"), subkey("mac"), subkey("audit"), subkey("digest"))


def _binding(keep: str, keep_id: str, cipher: str) -> bytes:
    # The name is bound too: a key file copied under another keep's name does not open.
    return json.dumps(["truekeep", _VERSION, keep, keep_id, cipher]).encode()


def _write_new(path: Path, entry: dict[str, Any]) -> None:
    """Write once, complete or not at all; when another process was first, its file stands."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(entry).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, path)
        except FileExistsError:
            return
        finally:
            draft.unlink(missing_ok=True)
        _sync_directory(path.parent)
    except OSError as error:
        raise StoreReadOnly(f"A key cannot be written to {path.parent}.") from error


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read(path: Path, kind: str) -> dict[str, Any]:
    try:
        entry = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise KeyUnavailable(
            f"The key file is missing: {path}",
            hint="Restore it, or point TRUEKEEP_KEYS at the right directory.",
        ) from error
    except (OSError, ValueError) as error:
        raise KeyUnavailable(f"The key file cannot be read: {path}") from error
    if not isinstance(entry, dict) or entry.get("truekeep") != kind or entry.get("version") != _VERSION:
        raise KeyUnavailable(f"Not a key file of this version: {path}")
    return entry


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _bytes(value: Any) -> bytes:
    return base64.b64decode(str(value), validate=True)
