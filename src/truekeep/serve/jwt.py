"""JWT bearer tokens: an issuer the operator trusts says who calls, in claims that map to the same identity.

What is checked before a claim is believed: the algorithm is one of those the operator lists, all of them asymmetric (so
neither ``none`` nor a public key used as an HMAC secret passes); the key is one of the issuer's, and of the kind the
algorithm takes; issuer, audience, expiry and not-before hold; issuer, audience, subject and expiry are there at all.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt

from truekeep.errors import ConfigError, NotAuthenticated, ServiceBusy, TruekeepError
from truekeep.serve.identity import Identity, checked_capabilities, checked_channel, checked_pattern
from truekeep.serve.settings import ServeSettings

ASYMMETRIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
_KEY_KINDS = {"RSA": ("RS", "PS"), "EC": ("ES",), "OKP": ("Ed",)}
_TOKEN_CAP = 8_000
_KEYS_CAP = 200_000
_FRESH_SECONDS = 300.0
_SELDOM_SECONDS = 30.0
_LEEWAY_SECONDS = 30
_FETCH_SECONDS = 5.0


class Issuer:
    """The issuer whose tokens are believed, and what its claims are called."""

    def __init__(self, settings: ServeSettings, clock: Callable[[], float] = time.monotonic) -> None:
        if not (settings.jwt_issuer and settings.jwt_audience):
            raise ConfigError("JWT tokens need an issuer and an audience.", code="jwt_incomplete")
        self._settings = settings
        self._algorithms = settings.jwt_algorithms.split()
        if not self._algorithms or not ASYMMETRIC.issuperset(self._algorithms):
            raise ConfigError(
                "JWT algorithms must be asymmetric ones.",
                code="jwt_algorithms",
                hint=f"Algorithms: {', '.join(sorted(ASYMMETRIC))}.",
            )
        self._keys = _Keys(settings.jwt_keys, clock)

    def identify(self, presented: str) -> Identity:
        """Who presents a token; every reason to refuse one is told in the same words."""
        try:
            return self._identity(self._claims(presented))
        except (jwt.InvalidTokenError, jwt.PyJWTError, TypeError, ValueError, KeyError, TruekeepError) as error:
            if isinstance(error, ServiceBusy):
                raise
            raise NotAuthenticated("The token is not valid, or not any more.", code="invalid_token") from None

    def _claims(self, presented: str) -> dict[str, Any]:
        if len(presented) > _TOKEN_CAP:
            raise jwt.InvalidTokenError
        header = jwt.get_unverified_header(presented)
        algorithm = header.get("alg")
        if algorithm not in self._algorithms or "crit" in header:
            raise jwt.InvalidAlgorithmError
        key = self._keys.find(header.get("kid"), str(algorithm))
        claims: dict[str, Any] = jwt.decode(
            presented,
            key.key,
            algorithms=[str(algorithm)],
            audience=self._settings.jwt_audience,
            issuer=self._settings.jwt_issuer,
            leeway=_LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
        return claims

    def _identity(self, claims: dict[str, Any]) -> Identity:
        names = self._settings
        given = claims[names.jwt_capabilities_claim]
        listed = given.split() if isinstance(given, str) else list(given)
        channel = checked_channel(claims[names.jwt_channel_claim])
        subject = str(claims["sub"])
        digest = hashlib.sha256(f"{claims['iss']}\0{subject}".encode()).hexdigest()
        return Identity(
            token_id=f"jwt-{digest[:12]}",
            keep_pattern=checked_pattern(claims[names.jwt_keep_claim]),
            channel=channel,
            capabilities=checked_capabilities(frozenset(map(str, listed)), channel),
            subject=subject[:100],
        )


class _Keys:
    """The issuer's public keys, from a file or an address; fetched again when they are old or one is missing."""

    def __init__(self, source: str, clock: Callable[[], float]) -> None:
        self._source = source
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._fetched = float("-inf")
        self._is_address = "://" in source
        where = urlsplit(source)
        if self._is_address and where.scheme != "https" and where.hostname not in ("127.0.0.1", "::1", "localhost"):
            raise ConfigError("The issuer's keys are fetched over https only.", code="jwt_keys_address")
        if not source:
            raise ConfigError("JWT tokens need the issuer's keys.", code="jwt_incomplete", hint="Set serve.jwt_keys.")
        if not self._is_address:
            self._load(Path(source).expanduser().read_bytes(), self._clock())

    def find(self, key_id: object, algorithm: str) -> jwt.PyJWK:
        with self._lock:
            age = self._clock() - self._fetched
            key = self._known(key_id)
            # A token that names a key nobody has must not make us fetch on every request.
            if self._is_address and (age > _FRESH_SECONDS or (key is None and age > _SELDOM_SECONDS)):
                self._refresh(has_some=key is not None)
                key = self._known(key_id)
        if key is None or not algorithm.startswith(_KEY_KINDS[key.key_type or ""]):
            raise jwt.InvalidKeyError
        return key

    def _known(self, key_id: object) -> jwt.PyJWK | None:
        if isinstance(key_id, str):
            return self._keys.get(key_id)
        return next(iter(self._keys.values())) if key_id is None and len(self._keys) == 1 else None

    def _refresh(self, *, has_some: bool) -> None:
        import httpx  # noqa: PLC0415 - only where keys are fetched

        self._fetched = self._clock() - _FRESH_SECONDS + _SELDOM_SECONDS  # a failure is not repeated at once
        try:
            with httpx.Client(timeout=_FETCH_SECONDS, follow_redirects=False) as client:
                self._load(client.get(self._source).raise_for_status().content, self._clock())
        except (httpx.HTTPError, ConfigError) as error:
            if not has_some:
                raise ServiceBusy("The issuer's keys cannot be had now.", code="issuer_unavailable") from error

    def _load(self, content: bytes, now: float) -> None:
        if len(content) > _KEYS_CAP:
            raise ConfigError("The issuer's keys are too many.", code="jwt_keys")
        try:
            listed = json.loads(content)["keys"]
            usable = [one for one in listed if one.get("kty") in _KEY_KINDS and one.get("use", "sig") == "sig"]
            made = [jwt.PyJWK(one, algorithm=one.get("alg")) for one in usable]
        except (ValueError, TypeError, KeyError, AttributeError, jwt.PyJWTError) as error:
            raise ConfigError("The issuer's keys cannot be read: not a JWKS.", code="jwt_keys") from error
        self._keys = {key.key_id: key for key in made}
        self._fetched = now
