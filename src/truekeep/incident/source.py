"""What a revocation is about: a principal, channel, session, prompt or time, all of those that are given."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from datetime import datetime

from truekeep.candidate import checked_moment, checked_text
from truekeep.errors import InvalidName, InvalidRequest
from truekeep.incident.lineage import Since
from truekeep.origin import session_name
from truekeep.principal import principal_of
from truekeep.transcripts import Observation
from truekeep.types import Memory, utc_text

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Source:
    """Where text came from; everything that is given has to match."""

    principal: str | None = None
    """As it was named; ``spellings`` are those that are stored."""
    channel: str | None = None
    session: str | None = None
    prompt: str | None = None
    since: datetime | None = None
    spellings: frozenset[str] = frozenset()

    @classmethod
    def checked(
        cls,
        principal: str | None,
        channel: str | None,
        session: str | None,
        prompt: str | None,
        since: datetime | None,
    ) -> Source:
        """The source that a caller names, in the spelling that is stored."""
        if all(given is None for given in (principal, channel, session, prompt, since)):
            raise InvalidRequest(
                "Nothing was named that could be revoked.",
                code="no_source",
                hint="Name a principal, channel, session, prompt or time.",
            )
        return cls(
            principal=principal,
            spellings=_spellings(principal) if principal is not None else frozenset(),
            channel=None if channel is None else checked_text(channel, _LONGEST),
            session=None if session is None else session_name(session),
            prompt=None if prompt is None else checked_text(prompt, _LONGEST),
            since=checked_moment("since", since),
        )

    def wrote(self, memory: Memory) -> bool:
        """Whether the memory came from there."""
        origin = memory.origin
        return (
            (self.principal is None or origin.principal in self.spellings)
            and (self.channel is None or self.channel in (origin.channel, origin.carrier))
            and (self.session is None or origin.session == self.session)
            and (self.prompt is None or origin.prompt == self.prompt)
            and (self.since is None or memory.created_at >= self.since)
        )

    def read_in(self, observations: Iterable[Observation], first: int = 0) -> dict[str, Since]:
        """The sessions that took in text from there, and since when. A prompt is not read by a session.

        ``first`` is the first audit event since the time that is given: when something was taken in is the log's
        word, not its sender's.
        """
        found: dict[str, Since] = {}
        for seen in observations if self._is_read() else ():
            if (
                (self.principal is None or seen.principal in self.spellings)
                and (self.channel is None or seen.channel == self.channel)
                and (self.session is None or seen.session == self.session)
                and (not seen.order or seen.order >= first)
            ):
                found.setdefault(seen.session, Since(seen.order, seen.at))
        return found

    def as_dict(self) -> dict[str, str]:
        """What was named, as JSON members."""
        given = ((entry.name, getattr(self, entry.name)) for entry in fields(self) if entry.name != "spellings")
        return {n: utc_text(v) if isinstance(v, datetime) else str(v) for n, v in given if v is not None}

    def _is_read(self) -> bool:
        return self.prompt is None and (self.principal is not None or self.channel is not None)


def _spellings(given: str) -> frozenset[str]:
    """A principal as it may be stored: the domain of a page or mail, or a plain name."""
    found = set()
    for kind in ("web", "email", ""):
        with suppress(InvalidName):
            found.add(principal_of(kind, given))
    if not found:
        raise InvalidName("The principal is not a URL, a domain or a name.", code="invalid_principal")
    return frozenset(name for name in found if name is not None)
