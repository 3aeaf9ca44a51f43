"""Intake: what a caller passed becomes a candidate, with its origin and standing bound to the channel it came over.

What a session is reported to have taken in is bound in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, TypedDict, Unpack

from truekeep.candidate import KINDS, checked_metadata, checked_moment, checked_text, checked_words
from truekeep.channels import Channels
from truekeep.config import Settings
from truekeep.errors import InvalidRequest
from truekeep.origin import AGENT, own_principal, relays, require, session_name, standing_of
from truekeep.principal import principal_of
from truekeep.sessions import Sessions
from truekeep.types import Candidate, Channel, Memory, Origin, Standing


class Fields(TypedDict, total=False):
    """What may be passed beside a text. None of it grants anything."""

    principal: str | None
    """Who is behind the channel: a URL, a domain or a name."""
    session: str | None
    kind: str
    """``semantic`` or ``episodic``."""
    topics: Iterable[str]
    entities: Iterable[str]
    metadata: Mapping[str, Any] | None
    as_of: datetime | None
    """Since when it holds; now, if it is left out."""
    expires_at: datetime | None
    quote: str | None
    """The words it was drawn from."""
    parents: Iterable[str]
    """Memories it was derived from; it stands no higher than the lowest of them."""


class Intake:
    """Binds candidates of one keep."""

    def __init__(
        self, settings: Settings, channels: Channels, sessions: Sessions, find: Callable[[str], Memory]
    ) -> None:
        self._settings = settings
        self._channels = channels
        self._sessions = sessions
        self._find = find

    def candidate(self, text: str, *, via: str, **fields: Unpack[Fields]) -> Candidate:
        """Check everything that was passed, and bind it to its channel."""
        settings, channel = self._settings, self._channels.get(via)
        require(channel, "write")
        if unknown := set(fields) - Fields.__annotations__.keys():
            raise InvalidRequest(f"{len(unknown)} unknown fields were passed.", hint=f"Fields: {', '.join(_NAMES)}.")
        kind = fields.get("kind", "semantic")
        if kind not in KINDS:
            raise InvalidRequest("No such kind of memory.", hint=f"Kinds: {', '.join(KINDS)}.", code="unknown_kind")
        named = fields.get("parents", ())
        if isinstance(named, str) or not isinstance(named, Iterable):
            raise InvalidRequest("parents must be a list of memories' ids.", code="invalid_parents")
        parents = [self._find(parent) for parent in named]
        checked = checked_text(text, settings.text_cap)
        origin, relayed = self._origin(channel, parents, fields)
        state = self._sessions.state(origin.session)
        standing = standing_of(
            channel,
            clean_mediated_session=state.is_clean,
            relayed=relayed,
            parents=[memory.standing for memory in parents],
        )
        if channel.name == AGENT and not relayed and self._is_quoted(origin, checked):
            # The owner said it, in this session and in these words; the agent only wrote it down.
            standing = min((Standing.OWNER, *(memory.standing for memory in parents)))
            origin = replace(origin, principal=state.member)
        return Candidate(
            text=checked,
            standing=standing,
            origin=origin,
            kind=kind,
            topics=checked_words("topics", fields.get("topics", ()), settings),
            entities=checked_words("entities", fields.get("entities", ()), settings),
            metadata=checked_metadata(fields.get("metadata") or {}, settings),
            as_of=checked_moment("as_of", fields.get("as_of")),
            expires_at=checked_moment("expires_at", fields.get("expires_at")),
        )

    def candidates(
        self, entries: Iterable[str | Mapping[str, Any]], *, via: str, **shared: Unpack[Fields]
    ) -> list[Candidate]:
        """Do so with every entry of a batch: a text, or fields that count before the shared ones."""
        listed = list(entries) if isinstance(entries, Iterable) and not isinstance(entries, str) else None
        if listed is None or not all(isinstance(entry, str | Mapping) for entry in listed):
            raise InvalidRequest("A batch is a list of texts, or of fields with a text.", code="invalid_batch")
        if len(listed) > self._settings.batch_cap:
            raise InvalidRequest(f"A batch has at most {self._settings.batch_cap:,} entries.", code="batch_too_large")
        singles: list[dict[str, Any]] = [{"text": entry} if isinstance(entry, str) else dict(entry) for entry in listed]
        return [self.candidate(**{"text": None, **shared, **single, "via": via}) for single in singles]

    def observe(
        self,
        session: str,
        channel: str,
        text: str,
        *,
        principal: str | None = None,
        message: str | None = None,
        role: str | None = None,
        at: datetime | None = None,
        is_dated: bool = True,
    ) -> None:
        """Check what a session is said to have taken in, and record it as of its channel."""
        known, settings = self._channels.get(channel), self._settings
        require(known, "observe" if known.standing is Standing.OWNER else "write")
        named = principal_of(known.name, principal)
        self._sessions.observe(
            session_name(session),
            known,
            checked_text(text, settings.observe_cap),
            principal=named or own_principal(known),
            relayed=relays(known, named),
            message=checked_text(message, settings.field_cap) if message is not None else None,
            role=checked_text(role, settings.field_cap) if role is not None else None,
            at=checked_moment("at", at),
            is_dated=is_dated,
        )

    def _is_quoted(self, origin: Origin, text: str) -> bool:
        if origin.session is None or origin.quote is None:
            return False
        return bool(self._sessions.proof(origin.session, origin.quote, text))

    def _origin(self, channel: Channel, parents: list[Memory], fields: Fields) -> tuple[Origin, bool]:
        named = principal_of(channel.name, fields.get("principal"))
        relayed = relays(channel, named)
        session, quote = fields.get("session"), fields.get("quote")
        origin = Origin(
            channel=channel.name,
            principal=named or own_principal(channel),
            session=session_name(session) if session is not None else None,
            quote=checked_text(quote, self._settings.text_cap) if quote is not None else None,
            parents=tuple(memory.id for memory in parents),
            carrier=channel.name if relayed else None,
        )
        return origin, relayed


_NAMES = tuple(Fields.__annotations__)
