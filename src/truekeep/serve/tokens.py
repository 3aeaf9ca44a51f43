"""Tokens: who may reach which keeps over the network. Shown once, kept as hashes beside the keys, and revocable.

A token is ``tk_ID_SECRET``: 48 bits to find it by and 256 random bits to know it by. Their book (``book.py``) holds the
SHA-256 of the secret (a random 256-bit secret needs no slow hash). It is replaced as a whole, and every process that
serves notices within the next request, so that a revocation counts at once and everywhere.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from truekeep.errors import InvalidRequest, NotAuthenticated, UnknownId
from truekeep.serve.identity import Identity, checked_capabilities, checked_channel, checked_pattern
from truekeep.stores.book import Shelf, book_on
from truekeep.trust.candidate import checked_text
from truekeep.types import utc_moment, utc_text

DEFAULT_DAYS = 90
"""A token that nobody renews stops working."""
_LONGEST_DAYS = 3_650
"""Nobody means to leave a token for longer than ten years."""
_MOST = 100_000
"""The book is read and written as a whole."""
_SUBJECT_CAP = 100
"""A name, which signs decisions and is shown in the log."""
TOKENS = "tokens"
"""What the book is called."""
_SHAPE = re.compile(r"tk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_NO_HASH = "0" * 64


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token: everything but the secret."""

    id: str
    hash: str
    keep: str
    channel: str
    capabilities: tuple[str, ...]
    subject: str
    created_at: str
    expires_at: str
    revoked_at: str | None = None

    def state(self, now: datetime) -> str:
        """``active``, ``expired`` or ``revoked``."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if utc_moment(self.expires_at) <= now else "active"

    def identity(self) -> Identity:
        """Who holds it."""
        return Identity(self.id, self.keep, self.channel, frozenset(self.capabilities), self.subject)

    def as_dict(self, now: datetime) -> dict[str, Any]:
        """The token as JSON members, without its hash."""
        members = asdict(self) | {"capabilities": list(self.capabilities), "state": self.state(now)}
        del members["hash"]
        return members


def now() -> datetime:
    """The current moment, in UTC."""
    return datetime.now(UTC)


class TokenBook:
    """The tokens of one home."""

    def __init__(self, shelf: Shelf, clock: Callable[[], datetime] = now) -> None:
        self._book = book_on(shelf, TOKENS, _tokens)
        self._clock = clock
        self.is_remote = self._book.is_remote
        """Whether to look at them takes a question over the network."""

    def add(
        self,
        keep: str,
        channel: str,
        capabilities: Iterable[str],
        *,
        subject: str = "",
        days: float = DEFAULT_DAYS,
    ) -> tuple[str, Token]:
        """Make a token; the first of the two is what its holder gets, and cannot be had again."""
        if not 0 < days <= _LONGEST_DAYS:
            raise InvalidRequest(f"A token lives for up to {_LONGEST_DAYS:,} days.", code="invalid_days")
        name = checked_channel(channel)
        moment, secret, token_id = self._clock(), secrets.token_urlsafe(32), secrets.token_hex(6)
        token = Token(
            id=token_id,
            hash=_hash(secret),
            keep=checked_pattern(keep),
            channel=name,
            capabilities=tuple(sorted(checked_capabilities(frozenset(capabilities), name))),
            subject=checked_text(subject, _SUBJECT_CAP) if subject else "",
            created_at=utc_text(moment),
            expires_at=utc_text(moment + timedelta(days=days)),
        )
        with self._book.changing() as known:
            if len(known) >= _MOST:
                raise InvalidRequest(f"There are {_MOST:,} tokens already.", code="too_many_tokens")
            self._write({**known, token.id: token})
        return f"tk_{token.id}_{secret}", token

    def list(self) -> list[Token]:
        """Every token, oldest first."""
        return list(self._book.current().values())

    def revoke(self, token_id: str) -> Token:
        """Take a token back; whoever holds it is refused from the next request on."""
        with self._book.changing() as known:
            token = known.get(token_id)
            if token is None:
                raise UnknownId("No such token.", hint="List them with 'truekeep tokens list'.")
            revoked = token if token.revoked_at else replace(token, revoked_at=utc_text(self._clock()))
            self._write({**known, token_id: revoked})
        return revoked

    def identify(self, presented: str) -> Identity:
        """Who presents a token; one that is malformed, unknown, expired or revoked is refused in the same words."""
        shape = _SHAPE.fullmatch(presented)
        return self._identified(presented, shape, self._book.current() if shape else {})

    def remembered(self, presented: str) -> Identity:
        """Who presented it when the tokens were last looked at: it says who pays, and lets nobody in."""
        return self._identified(presented, _SHAPE.fullmatch(presented), self._book.remembered())

    def _identified(self, presented: str, shape: re.Match[str] | None, known: Mapping[str, Token]) -> Identity:
        token = known.get(shape[1]) if shape else None
        # The comparison is made in any case: how long a refusal takes does not say which ids exist.
        matches = hmac.compare_digest(token.hash if token else _NO_HASH, _hash(shape[2] if shape else presented))
        if token is None or not matches or token.state(self._clock()) != "active":
            raise NotAuthenticated("The token is not valid, or not any more.", code="invalid_token")
        return token.identity()

    def holder(self, token_id: str) -> Identity | None:
        """Who holds the token of that id, as long as it counts."""
        token = self._book.current().get(token_id)
        return token.identity() if token is not None and token.state(self._clock()) == "active" else None

    def _write(self, tokens: dict[str, Token]) -> None:
        self._book.write({"tokens": [asdict(token) for token in tokens.values()]})


def _tokens(members: Mapping[str, Any]) -> dict[str, Token]:
    listed = members.get("tokens", ())
    return {one["id"]: Token(**one | {"capabilities": tuple(one["capabilities"])}) for one in listed}


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
