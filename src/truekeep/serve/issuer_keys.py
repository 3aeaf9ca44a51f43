"""An issuer's public keys, from a file or an address.

They are fetched in a thread of their own, once at a time, so that an issuer that hangs, drips or fails costs nobody but
those who wait for its keys. Whoever comes while the known keys are good enough does not wait. After a failure the next
attempt waits twice as long as the one before.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import jwt

from truekeep.errors import ConfigError, ServiceBusy
from truekeep.serve.logs import WARNING, log_event

KEY_KINDS = {"RSA": ("RS", "PS"), "EC": ("ES",), "OKP": ("Ed",)}
_KEYS_CAP = 200_000
"""Bytes of an issuer's keys; more is not read."""
_EARLY_SECONDS = 150.0
"""From this age on keys are fetched again beside the requests that use them."""
_FRESH_SECONDS = 300.0
"""How long fetched keys count: an issuer that takes a key back is heard within this time, if it answers at all."""
_STALEST_SECONDS = 86_400.0
"""How long the known keys do while the issuer does not answer; then it is not known any more whom it vouches for."""
_SELDOM_SECONDS = 30.0
"""Tokens with made-up key ids must not have the issuer asked each time. Doubled with every failure, up to:"""
_LONGEST_PAUSE_SECONDS = 600.0
"""An issuer that comes back is asked again within ten minutes."""
_FETCH_SECONDS = 5.0
"""How long a fetch may take in all; whoever needs its keys waits for it."""
_LOCAL = ("127.0.0.1", "::1", "localhost")


class IssuerKeys:
    """The keys by their ids. Used from the event loop only."""

    def __init__(self, source: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._clock = clock
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._fetched = float("-inf")
        self._next = float("-inf")
        self._until = float("-inf")
        """How long the fetch that is under way is waited for."""
        self._failures = 0
        self._fetch: asyncio.Future[None] | None = None
        self._is_address = "://" in source
        where = urlsplit(source)
        if self._is_address and where.scheme != "https" and where.hostname not in _LOCAL:
            raise ConfigError("The issuer's keys are fetched over https only.", code="jwt_keys_address")
        if not source:
            raise ConfigError("JWT tokens need the issuer's keys.", code="jwt_incomplete", hint="Set serve.jwt_keys.")
        if not self._is_address:
            self._keys = _parsed(Path(source).expanduser().read_bytes())

    async def find(self, key_id: object, algorithm: str) -> jwt.PyJWK:
        """The key of that id, if the algorithm is one of its kind's."""
        if self._is_address:
            await self._renewed(key_id)
        key = self._known(key_id)
        if key is None and self._failures:
            raise ServiceBusy("The issuer's keys cannot be had now.", code="issuer_unavailable")
        if key is None or not algorithm.startswith(KEY_KINDS[key.key_type or ""]):
            raise jwt.InvalidKeyError
        return key

    def _known(self, key_id: object) -> jwt.PyJWK | None:
        if self._is_address and self._clock() - self._fetched > _STALEST_SECONDS:
            return None
        if isinstance(key_id, str):
            return self._keys.get(key_id)
        return next(iter(self._keys.values())) if key_id is None and len(self._keys) == 1 else None

    async def _renewed(self, key_id: object) -> None:
        """Have the keys fetched where they are old or one is missing, and wait for that only where it matters."""
        age = self._clock() - self._fetched
        is_known = self._known(key_id) is not None
        if is_known and age <= _EARLY_SECONDS:
            return
        fetch = self._fetch or self._begun()
        left = self._until - self._clock()
        if fetch is not None and left > 0 and (not is_known or (age > _FRESH_SECONDS and not self._failures)):
            await asyncio.wait({fetch}, timeout=left)

    def _begun(self) -> asyncio.Future[None] | None:
        """A fetch, unless the last one was too short a time ago."""
        if self._clock() < self._next:
            return None
        self._next = self._clock() + min(_SELDOM_SECONDS * 2**self._failures, _LONGEST_PAUSE_SECONDS)
        self._until = self._clock() + _FETCH_SECONDS
        loop = asyncio.get_running_loop()
        self._fetch = fetch = loop.create_future()

        def settle(keys: dict[str | None, jwt.PyJWK] | None) -> None:
            self._fetch = None
            self._failures = 0 if keys is not None else min(self._failures + 1, 10)
            if keys is not None:
                self._keys, self._fetched = keys, self._clock()
                self._next = self._clock() + _SELDOM_SECONDS
            fetch.set_result(None)

        def work() -> None:
            keys = _downloaded(self._source)
            with suppress(RuntimeError):  # the service ended meanwhile
                loop.call_soon_threadsafe(settle, keys)

        threading.Thread(target=work, name="truekeep-issuer", daemon=True).start()
        return fetch


def _downloaded(source: str) -> dict[str | None, jwt.PyJWK] | None:
    import httpx  # noqa: PLC0415 - only where keys are fetched

    ends, content = time.monotonic() + _FETCH_SECONDS, bytearray()
    plain = {"Accept-Encoding": "identity"}  # nothing that unpacks to more than was sent
    try:
        with (
            httpx.Client(timeout=_FETCH_SECONDS, follow_redirects=False, headers=plain) as client,
            client.stream("GET", source) as answer,
        ):
            for part in answer.raise_for_status().iter_raw():
                content += part
                if len(content) > _KEYS_CAP or time.monotonic() > ends:
                    return None
        return _parsed(bytes(content))
    except Exception as error:  # whatever an issuer sends, the fetch ends
        log_event("issuer.failed", WARNING, error=type(error).__name__)
        return None


def _parsed(content: bytes) -> dict[str | None, jwt.PyJWK]:
    if len(content) > _KEYS_CAP:
        raise ConfigError("The issuer's keys are too many.", code="jwt_keys")
    try:
        listed = json.loads(content)["keys"]
        usable = [one for one in listed if one.get("kty") in KEY_KINDS and one.get("use", "sig") == "sig"]
        made = [jwt.PyJWK(one, algorithm=one.get("alg")) for one in usable]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, jwt.PyJWTError) as error:
        raise ConfigError("The issuer's keys cannot be read: not a JWKS.", code="jwt_keys") from error
    return {key.key_id: key for key in made}
