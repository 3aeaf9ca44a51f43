"""A token that cannot be printed by accident: not in a repr, a log, an error or a pickle."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from truekeep.errors import ConfigError

_USABLE = re.compile(r"[!-~]{1,8000}", re.ASCII)
_MOST = 100


class Token:
    """A secret. Whoever sends a request reveals it, and nobody else does."""

    __slots__ = ("_secret",)

    def __init__(self, secret: object) -> None:
        if not isinstance(secret, str) or not _USABLE.fullmatch(secret):
            raise ConfigError(
                "The token cannot be used.", code="invalid_token", hint="Make one with 'truekeep tokens add'."
            )
        self._secret = secret

    def authorization(self) -> str:
        """The header that shows it to the service."""
        return f"Bearer {self._secret}"

    def __repr__(self) -> str:
        return "Token(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a token is not pickled")


def tokens_of(given: str | Iterable[str]) -> tuple[Token, ...]:
    """One token or several, one for each channel or task."""
    listed = (given,) if isinstance(given, str) else tuple(given)
    if not 1 <= len(listed) <= _MOST:
        raise ConfigError(f"A client has 1 to {_MOST} tokens.", code="invalid_token")
    return tuple(Token(one) for one in listed)
