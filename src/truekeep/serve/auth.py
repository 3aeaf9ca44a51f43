"""Authentication: the Authorization header, and nothing else, becomes an identity."""

from __future__ import annotations

import base64
import binascii

import anyio.to_thread
from starlette.datastructures import Headers

from truekeep.errors import NotAuthenticated, TruekeepError
from truekeep.serve.identity import Identity
from truekeep.serve.sender import Sender, sender_of
from truekeep.serve.settings import ServeSettings
from truekeep.serve.tokens import TokenBook
from truekeep.trust.origin import keep_name

_CAP = 10_000
"""Longer than any token; nothing is looked up for what cannot be one."""
_LOCAL = frozenset({"127.0.0.1", "localhost", "[::1]"})


class Authenticator:
    """Knows the callers of one home: by its tokens, and by the tokens of an issuer if one is set up."""

    def __init__(self, tokens: TokenBook, settings: ServeSettings) -> None:
        self._tokens = tokens
        self._issuer = None
        self._anonymous = None
        if settings.jwt_issuer or settings.jwt_keys:
            from truekeep.serve.jwt import Issuer  # noqa: PLC0415 - only where it is set up

            self._issuer = Issuer(settings)
        if settings.unsafe_no_auth:
            self._anonymous = Identity(
                "anonymous", keep_name(settings.unsafe_no_auth), "agent", frozenset({"read", "write"}), "anonymous"
            )

    async def identify(self, headers: Headers) -> Identity:
        """Who sends a request with these headers."""
        given = headers.get("authorization")
        if given is None:
            return self._nobody(headers)
        presented = _presented(given)
        if self._issuer is not None and presented.count(".") == 2:
            return await self._issuer.identify(presented)
        if self._tokens.is_remote:
            return await anyio.to_thread.run_sync(self._tokens.identify, presented)
        return self._tokens.identify(presented)

    def holder(self, header: str) -> str | None:
        """The id of the home's own token in an Authorization header, if it counts. Of an issuer's nothing is known."""
        try:
            return self._tokens.remembered(_presented(header)).token_id
        except TruekeepError:
            return None

    def check(self) -> None:
        """Raise if the tokens cannot be read."""
        self._tokens.list()

    def _nobody(self, headers: Headers) -> Identity:
        # A web page must not become the agent by sending a visitor's browser here, under whatever host name and be it
        # only to look: a picture's address is fetched without an Origin, so Sec-Fetch-Site is looked at as well.
        is_local = headers.get("host", "").rpartition(":")[0] in _LOCAL or headers.get("host") in _LOCAL
        is_foreign = "origin" in headers or sender_of(headers) is Sender.FOREIGN_PAGE
        if self._anonymous is None or not is_local or is_foreign:
            raise NotAuthenticated("The request carries no token.")
        return self._anonymous


def _presented(header: str) -> str:
    """The token of a header: after ``Bearer``, or as the password of ``Basic``."""
    scheme, _, rest = header.partition(" ")
    if len(header) > _CAP or not header.isascii():
        raise NotAuthenticated("The Authorization header cannot be used.", code="invalid_token")
    if scheme.casefold() == "bearer":
        return rest.strip()
    if scheme.casefold() == "basic":
        try:
            decoded = base64.b64decode(rest.strip(), validate=True).decode("ascii")
        except (binascii.Error, ValueError):
            raise NotAuthenticated("The Authorization header cannot be used.", code="invalid_token") from None
        name, _, password = decoded.partition(":")
        return password or name
    raise NotAuthenticated("The Authorization header cannot be used.", code="invalid_token")
