"""The master key: a file of our own in the key directory, or what the operator names (file, environment, command, KMS).

A master key wraps the keys of all keeps. Its id is a fingerprint that says which one wrapped a key and gives nothing
away. Only the id ever appears in files, errors and output.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
import secrets
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from truekeep.errors import ConfigError, KeyUnavailable
from truekeep.stores.key_service import ServiceKey, service_at
from truekeep.stores.keyfile import read_entry, replace_entry, write_new

KEY_BYTES = 32
PLUGIN = "plugin:"
_COMMAND_SECONDS = 60
"""A key service is slow; one that does not answer must not hang every start."""
_LONGEST = 4_096
"""A key takes far less; whatever else the file or the command holds is not read."""
_FORM = "It must be 32 bytes, as base64 or hexadecimal."


@dataclass(frozen=True, slots=True, repr=False)
class Master:
    """One master key."""

    key: bytes

    @property
    def id(self) -> str:
        """Its fingerprint."""
        return hmac.digest(self.key, b"truekeep master key id", "sha256").hex()[:16]

    def close(self, content: bytes, binding: bytes) -> dict[str, bytes]:
        """Encrypt a keep's keys, bound to what they are of."""
        nonce = secrets.token_bytes(12)
        return {"nonce": nonce, "wrapped": AESGCM(self.key).encrypt(nonce, content, binding)}

    def open(self, parts: Mapping[str, bytes], binding: bytes) -> bytes:
        """What was closed with this key and that binding."""
        return AESGCM(self.key).decrypt(parts["nonce"], parts["wrapped"], binding)

    def __repr__(self) -> str:
        return f"Master(id={self.id!r})"


Wrapping = Master | ServiceKey
"""What keeps' keys are wrapped with: a key that is at hand, or one that never leaves its service."""


class MasterKeys:
    """The master keys at hand: those in the key directory's own file, or the one that ``source`` leads to."""

    def __init__(self, directory: Path, source: str = "") -> None:
        self.path = directory / "master.key"
        self.source = source
        self._directory = directory

    @property
    def is_own(self) -> bool:
        """Whether truekeep made the key and keeps it in the key directory."""
        return not self.source

    def current(self, *, create: bool = False) -> Wrapping:
        """The key that new keys are wrapped with."""
        if self.source.startswith(PLUGIN):
            service = service_at(self.source.removeprefix(PLUGIN))
            return ServiceKey(service, str(service.key_id))
        if self.source:
            return fetched(self.source)
        if create and not self.path.exists():
            self._found()
        current, known = self._stored()
        return known[current]

    def by_id(self, master_id: str) -> Wrapping:
        """The key with that fingerprint; a service has older ones as well, and finds out which."""
        if self.source.startswith(PLUGIN):
            return ServiceKey(service_at(self.source.removeprefix(PLUGIN)), master_id)
        known = {master.id: master for master in (fetched(self.source),)} if self.source else self._stored()[1]
        if master_id not in known:
            raise KeyUnavailable(
                f"The key is wrapped by master key {master_id}, and that one is not at hand.",
                code="wrong_key",
                hint=f"Put it back where it was: {self.source.partition(':')[0] or self.path}.",
            )
        return known[master_id]

    def add(self) -> Master:
        """Make a new key of our own the current one; the old one stays until nothing needs it."""
        known = self._stored()[1] if self.path.exists() else {}
        made = Master(secrets.token_bytes(KEY_BYTES))
        replace_entry(self.path, _entry(made.id, {**known, made.id: made}))
        return made

    def drop_all_but_current(self) -> None:
        """Forget the keys that nothing is wrapped with any more."""
        current, known = self._stored()
        if len(known) > 1:
            replace_entry(self.path, _entry(current, {current: known[current]}))

    def _found(self) -> None:
        if any((self._directory / "keeps").glob("*.key")):
            raise KeyUnavailable(
                f"The master key is missing, and there are keeps that need it: {self.path}",
                code="key_missing",
                hint="Restore it, or say where it is with the setting master_key.",
            )
        made = Master(secrets.token_bytes(KEY_BYTES))
        write_new(self.path, _entry(made.id, {made.id: made}))

    def _stored(self) -> tuple[str, dict[str, Master]]:
        entry = read_entry(self.path, "master-key")
        try:
            found = [Master(base64.b64decode(str(text), validate=True)) for text in entry["keys"]]
            known = {master.id: master for master in found if len(master.key) == KEY_BYTES}
            current = str(entry["current"])
            if current not in known:
                raise KeyError(current)
        except (KeyError, TypeError, ValueError) as error:
            raise KeyUnavailable("The master key file is damaged.", hint=f"Restore {self.path}.") from error
        return current, known


def _entry(current: str, keys: Mapping[str, Master]) -> dict[str, object]:
    texts = [base64.b64encode(master.key).decode() for master in keys.values()]
    return {"truekeep": "master-key", "version": 1, "current": current, "keys": texts}


def fetched(source: str) -> Master:
    """The key behind ``env:NAME``, ``file:PATH`` or ``command:LINE``. Errors name the kind of source, nothing else."""
    kind, _, rest = source.partition(":")
    if kind == "env" and rest:
        return _parsed(os.environ.get(rest, "").encode(), "environment variable")
    if kind == "file" and rest:
        return _parsed(_content(Path(rest).expanduser()), "file")
    if kind == "command" and rest:
        return _answered(rest)
    raise ConfigError(
        "The setting master_key is not understood.", hint="Use env:NAME, file:PATH, command:LINE or plugin:MODULE:NAME."
    )


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()[:_LONGEST]
    except OSError as error:
        raise KeyUnavailable("The file with the master key cannot be read.", hint=type(error).__name__) from None


@cache
def _answered(line: str) -> Master:
    """What a command prints; asked once in a process, because a key service is slow and counts its calls."""
    try:
        done = subprocess.run(
            shlex.split(line),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        # The cause is left out: it would carry the command line and whatever the command printed.
        raise KeyUnavailable("The command for the master key did not run.", hint=type(error).__name__) from None
    if done.returncode != 0:
        raise KeyUnavailable("The command for the master key failed.", hint=f"It ended with {done.returncode}.")
    return _parsed(done.stdout[:_LONGEST], "command's answer")


def _parsed(text: bytes, where: str) -> Master:
    if len(text) == KEY_BYTES:
        return Master(text)
    stripped = text.strip()
    try:
        key = (
            bytes.fromhex(stripped.decode())
            if len(stripped) == 2 * KEY_BYTES
            else base64.b64decode(stripped, validate=True)
        )
    except (ValueError, binascii.Error):
        key = b""
    if len(key) != KEY_BYTES:
        raise KeyUnavailable(f"The {where} does not hold a master key.", hint=_FORM)
    return Master(key)
