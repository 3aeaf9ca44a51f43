"""Links and visits: who may come in by a one-time link, and who has. Kept as hashes beside the keys, like tokens.

Both are 256 random bits. A link is spent by its first use. A visit that began with a token ends when the token does;
every visit ends when nothing was asked for a while, and after some hours in any case.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from truekeep.errors import NotAuthenticated
from truekeep.serve.identity import Identity, checked_capabilities, checked_channel, checked_pattern
from truekeep.serve.settings import ServeSettings
from truekeep.serve.tokens import TokenBook, now
from truekeep.stores.book import Shelf, book_on
from truekeep.types import utc_moment, utc_text

VISITS = "console"
"""What the book is called."""
COOKIE, SAFE_COOKIE = "truekeep", "__Host-truekeep"
_MOST, _MOST_OF_ONE = 10_000, 16
"""Links and visits that are kept, and of them visits of one token; the oldest go first. The book is read and written as
a whole, so whoever signs in again and again must not make everybody's longer."""
_SECRET_CAP = 200
"""Longer than any secret that this service makes; no more of it is hashed."""
_NOTED = timedelta(minutes=1)
"""A visit is written down again at most this often."""


@dataclass(frozen=True, slots=True)
class VisitLink:
    """A one-time way in, without its secret."""

    hash: str
    keep: str
    channel: str
    capabilities: tuple[str, ...]
    subject: str
    expires_at: str

    def identity(self) -> Identity:
        """Whom it lets in."""
        return Identity(f"link-{self.hash[:12]}", self.keep, self.channel, frozenset(self.capabilities), self.subject)


@dataclass(frozen=True, slots=True)
class Visit:
    """Somebody who is signed in, without the cookie's secret."""

    hash: str
    token: str
    """The token that the visit began with and ends with; empty for one that began with a link."""
    link: VisitLink | None
    began_at: str
    seen_at: str


@dataclass(frozen=True, slots=True)
class _Content:
    links: Mapping[str, VisitLink] = field(default_factory=dict)
    visits: Mapping[str, Visit] = field(default_factory=dict)


class Visits:
    """The links and visits of one home, shared by all processes that serve it."""

    def __init__(
        self, shelf: Shelf, settings: ServeSettings | None = None, clock: Callable[[], datetime] = now
    ) -> None:
        chosen = settings or ServeSettings()
        self._is_alone = chosen.is_loopback and not chosen.tls_certificate
        self._book = book_on(shelf, VISITS, _content)
        self._tokens = TokenBook(shelf, clock)
        self._clock = clock
        self._link_life = timedelta(minutes=chosen.console_link_minutes)
        self._idle = timedelta(minutes=chosen.console_idle_minutes)
        self._longest = timedelta(hours=chosen.console_hours)

    def cookie_of(self, cookies: Mapping[str, str]) -> str:
        """The visit's cookie. The one that other hosts of the domain could set counts only where there are none."""
        return cookies.get(SAFE_COOKIE) or (cookies.get(COOKIE, "") if self._is_alone else "")

    def link(self, keep: str, subject: str, capabilities: frozenset[str]) -> str:
        """A link's secret for a person; it can be used once, for some minutes."""
        secret = secrets.token_urlsafe(32)
        channel = checked_channel(
            f"reviewer:{Identity('', keep, '', frozenset(), subject).signs_as.replace(' ', '-')[:60]}"
        )
        link = VisitLink(
            hash=_hash(secret),
            keep=checked_pattern(keep),
            channel=channel,
            capabilities=tuple(sorted(checked_capabilities(capabilities, channel))),
            subject=subject,
            expires_at=utc_text(self._clock() + self._link_life),
        )
        with self._book.changing() as known:
            self._write(replace(known, links={**known.links, link.hash: link}))
        return secret

    def invited(self, secret: str) -> Identity | None:
        """Whom a link would let in; looking does not spend it."""
        link = _matching(self._book.current().links, secret)
        return link.identity() if link is not None and self._is_live(link) else None

    def enter(self, secret: str) -> tuple[str, Identity]:
        """Spend a link; gives the cookie of the visit that begins with it."""
        cookie = secrets.token_urlsafe(32)
        if self.invited(secret) is None:  # whoever guesses does not get to lock the key directory
            raise _spent()
        with self._book.changing() as known:
            link = _matching(known.links, secret)
            if link is None or not self._is_live(link):
                raise _spent()
            left = {name: one for name, one in known.links.items() if name != link.hash}
            visit = self._begun(cookie, "", link)
            self._write(replace(known, links=left, visits={**known.visits, visit.hash: visit}))
        return cookie, link.identity()

    def begin(self, presented: str) -> tuple[str, Identity]:
        """Begin a visit with a token that may review or administer; gives its cookie."""
        identity = self._tokens.identify(presented)
        if not (identity.may("review") or identity.may("admin")):
            raise NotAuthenticated("This token can neither review nor administer.", code="token_no_role")
        cookie = secrets.token_urlsafe(32)
        visit = self._begun(cookie, identity.token_id, None)
        with self._book.changing() as known:
            self._write(replace(known, visits={**known.visits, visit.hash: visit}))
        return cookie, identity

    def who(self, cookie: str, *, is_here: bool = True) -> Identity | None:
        """Who has that cookie and is still signed in. What a page asks by itself does not show that anybody is here."""
        visit = _matching(self._book.current().visits, cookie)
        if visit is None or not self._is_on(visit):
            return None
        if is_here and self._clock() - utc_moment(visit.seen_at) > _NOTED:
            self._note(visit)
        return self._identity(visit)

    def end(self, cookie: str) -> None:
        """Sign out; the cookie is worth nothing from here on."""
        visit = _matching(self._book.current().visits, cookie)
        if visit is None:
            return
        with self._book.changing() as known:
            self._write(replace(known, visits={name: one for name, one in known.visits.items() if name != visit.hash}))

    def _begun(self, cookie: str, token: str, link: VisitLink | None) -> Visit:
        moment = utc_text(self._clock())
        return Visit(_hash(cookie), token, link, moment, moment)

    def _note(self, visit: Visit) -> None:
        with self._book.changing() as known:
            if (current := known.visits.get(visit.hash)) is not None:
                seen = replace(current, seen_at=utc_text(self._clock()))
                self._write(replace(known, visits={**known.visits, visit.hash: seen}))

    def _identity(self, visit: Visit) -> Identity | None:
        return visit.link.identity() if visit.link is not None else self._tokens.holder(visit.token)

    def _is_live(self, link: VisitLink) -> bool:
        return self._clock() < utc_moment(link.expires_at)

    def _is_on(self, visit: Visit) -> bool:
        moment = self._clock()
        return moment - utc_moment(visit.seen_at) < self._idle and moment - utc_moment(visit.began_at) < self._longest

    def _write(self, content: _Content) -> None:
        """What is over is forgotten with every write, so the book stays small."""
        links = [asdict(link) for link in content.links.values() if self._is_live(link)]
        visits = [asdict(visit) for visit in _latest(v for v in content.visits.values() if self._is_on(v))]
        self._book.write({"links": links[-_MOST:], "visits": visits[-_MOST:]})


def _latest(visits: Iterable[Visit]) -> list[Visit]:
    """Of every token the visits that began last, in their order."""
    kept: list[Visit] = []
    of: Counter[str] = Counter()
    for visit in reversed(list(visits)):
        of[visit.token] += 1
        if not visit.token or of[visit.token] <= _MOST_OF_ONE:  # one that began with a link is one of a kind
            kept.append(visit)
    return kept[::-1]


def _spent() -> NotAuthenticated:
    return NotAuthenticated("The link was used already, or its time is over.", code="link_spent")


_Kept = TypeVar("_Kept", VisitLink, Visit)


def _matching(kept: Mapping[str, _Kept], secret: str) -> _Kept | None:
    """The entry of a secret. It is found by the secret's hash, so how long that takes says nothing about others."""
    presented = _hash(secret[:_SECRET_CAP])
    found = kept.get(presented)
    return found if found is not None and hmac.compare_digest(found.hash, presented) else None


def _content(members: Mapping[str, Any]) -> _Content:
    links = [_link(one) for one in members.get("links", ())]
    visits = [
        Visit(**{**one, "link": _link(one["link"]) if one["link"] else None}) for one in members.get("visits", ())
    ]
    return _Content({one.hash: one for one in links}, {one.hash: one for one in visits})


def _link(members: Mapping[str, Any]) -> VisitLink:
    return VisitLink(**{**members, "capabilities": tuple(members["capabilities"])})


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
