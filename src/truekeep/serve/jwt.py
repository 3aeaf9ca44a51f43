"""JWT bearer tokens: an issuer the operator trusts says who calls, in claims that map to the same identity.

What is checked before a claim is believed: the algorithm is one of those the operator lists, all of them asymmetric (so
neither ``none`` nor a public key used as an HMAC secret passes); the key is one of the issuer's, and of the kind the
algorithm takes; issuer, audience, expiry and not-before hold; issuer, audience, subject and expiry are there at all.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

import jwt

from truekeep.errors import ConfigError, NotAuthenticated, ServiceBusy, TruekeepError
from truekeep.serve.identity import Identity, checked_capabilities, checked_channel, checked_pattern
from truekeep.serve.issuer_keys import IssuerKeys
from truekeep.serve.settings import ServeSettings

ASYMMETRIC = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
_TOKEN_CAP = 8_000
"""Longer than any token an issuer makes; nothing is parsed for what cannot be one."""
_LEEWAY_SECONDS = 30
"""Clocks differ."""


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
        self._keys = IssuerKeys(settings.jwt_keys, clock)

    async def identify(self, presented: str) -> Identity:
        """Who presents a token; every reason to refuse one is told in the same words."""
        try:
            return self._identity(await self._claims(presented))
        except (jwt.PyJWTError, TypeError, ValueError, KeyError, RecursionError, TruekeepError) as error:
            if isinstance(error, ServiceBusy):
                raise
            raise NotAuthenticated("The token is not valid, or not any more.", code="invalid_token") from None

    async def _claims(self, presented: str) -> dict[str, Any]:
        if len(presented) > _TOKEN_CAP:
            raise jwt.InvalidTokenError
        header = jwt.get_unverified_header(presented)
        algorithm = header.get("alg")
        if algorithm not in self._algorithms or "crit" in header:
            raise jwt.InvalidAlgorithmError
        key = await self._keys.find(header.get("kid"), str(algorithm))
        claims: dict[str, Any] = jwt.decode(
            presented,
            key.key,
            algorithms=[str(algorithm)],
            audience=self._settings.jwt_audience,
            issuer=[self._settings.jwt_issuer],  # as one of a list it is compared whole
            leeway=_LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
        return claims

    def _identity(self, claims: dict[str, Any]) -> Identity:
        names = self._settings
        listed = _listed(claims[names.jwt_capabilities_claim])
        channel = checked_channel(claims[names.jwt_channel_claim])
        subject = str(claims["sub"])
        if not subject.strip():
            raise jwt.InvalidTokenError  # nobody would sign what this token decides
        digest = hashlib.sha256(f"{claims['iss']}\0{subject}".encode()).hexdigest()
        return Identity(
            token_id=f"jwt-{digest[:12]}",
            keep_pattern=checked_pattern(claims[names.jwt_keep_claim]),
            channel=channel,
            capabilities=checked_capabilities(listed, channel),
            subject=subject[:100],
        )


def _listed(given: object) -> frozenset[str]:
    """Capabilities as words in a text or a list. An object that says ``{"delete": false}`` gives none."""
    words = given.split() if isinstance(given, str) else given
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise jwt.InvalidTokenError
    return frozenset(words)
