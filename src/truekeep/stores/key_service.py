"""A key service (KMS, HSM) as the master key: it wraps and unwraps, and its key never is in this process.

A class of the operator's own stands between, named in the setting ``master_key`` as ``plugin:MODULE:NAME`` and made
without arguments. A keep's key is encrypted here with a key of its own, which only the service can unwrap again; both
are bound to the keep, so that neither opens under another one's name.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from truekeep.errors import ConfigError, KeyUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

_KEY_BYTES = 32
_LONGEST = 8_192
"""What a service gives for a wrapped key is stored with every keep; real ones give some hundred bytes."""


class KeyService(Protocol):
    """What a plug-in has to be. Whatever it raises is told as its type only."""

    @property
    def key_id(self) -> str:
        """Which of the service's keys wraps from now on, as an ARN or a path. It is shown and stored."""

    def wrap(self, key: bytes, context: Mapping[str, str]) -> bytes:
        """Encrypt a key with the service's key ``key_id``, bound to the context if the service can do that."""

    def unwrap(self, key_id: str, wrapped: bytes, context: Mapping[str, str]) -> bytes:
        """Decrypt what ``wrap`` gave, with the service's key of that id, which may be an older one."""


@dataclass(frozen=True, slots=True, repr=False)
class ServiceKey:
    """One key of a key service, used like a master key that is at hand."""

    service: KeyService
    id: str

    def close(self, content: bytes, binding: bytes) -> dict[str, bytes]:
        """Encrypt with a fresh key, which the service wraps."""
        key, nonce = secrets.token_bytes(_KEY_BYTES), secrets.token_bytes(12)
        wrapped = _asked(lambda: self.service.wrap(key, _context(binding)))
        return {"nonce": nonce, "wrapped": AESGCM(key).encrypt(nonce, content, binding), "service": wrapped}

    def open(self, parts: Mapping[str, bytes], binding: bytes) -> bytes:
        """The content again; the service is asked once."""
        wrapped = parts["service"]
        key = _asked(lambda: self.service.unwrap(self.id, wrapped, _context(binding)))
        return AESGCM(key).decrypt(parts["nonce"], parts["wrapped"], binding)

    def __repr__(self) -> str:
        return f"ServiceKey(id={self.id!r})"


@cache
def service_at(place: str) -> KeyService:
    """The plug-in at ``MODULE:NAME``, made once in a process."""
    module, _, name = place.partition(":")
    try:
        return cast("KeyService", getattr(import_module(module), name)())
    except Exception as error:
        # Somebody else's code: what it says may hold a secret.
        raise ConfigError(
            "The plug-in for the master key cannot be loaded.",
            hint=f"master_key is plugin:MODULE:NAME, a class that takes no arguments ({type(error).__name__}).",
        ) from None


def _context(binding: bytes) -> Mapping[str, str]:
    return {"truekeep": binding.decode()}


def _asked(ask: Callable[[], bytes]) -> bytes:
    try:
        found = ask()
    except Exception as error:
        raise KeyUnavailable(
            "The key service did not wrap or unwrap the keep's key.",
            code="key_service_failed",
            hint=f"Look at the service, and at what this process may do there ({type(error).__name__}).",
        ) from None
    if not isinstance(found, bytes) or not 0 < len(found) <= _LONGEST:
        raise KeyUnavailable("The key service gave no key.", code="key_service_failed", hint="Look at the plug-in.")
    return found
