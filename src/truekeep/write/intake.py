"""Intake: what a caller passed becomes a candidate, with its origin and standing bound to the channel it came over.

What a session is reported to have taken in is bound in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from truekeep.errors import InvalidRequest, told_names
from truekeep.sessions.passages import passage_of, quoted
from truekeep.trust.candidate import KINDS, checked_metadata, checked_moment, checked_text, checked_words
from truekeep.trust.origin import (
    AGENT,
    MOVED,
    own_member,
    own_principal,
    relays,
    require,
    session_name,
    standing_of,
)
from truekeep.trust.principal import principal_of
from truekeep.types import Candidate, Channel, Gist, Memory, Origin, Standing

if TYPE_CHECKING:
    from truekeep.config import Settings
    from truekeep.sessions.channels import Channels
    from truekeep.sessions.sessions import Sessions
    from truekeep.trust.flow.tools import Tool


class BoundFields(TypedDict, total=False):
    """What may be passed beside a text over a handle. None of it grants anything."""

    principal: str | None
    """Who is behind the channel: a URL, a domain or a name."""
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


class Fields(BoundFields, total=False):
    """What may be passed beside a text. None of it grants anything."""

    session: str | None


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
        if unknown := set(fields) - set(_NAMES):
            raise InvalidRequest(f"Unknown fields: {told_names(unknown)}.", hint=f"Fields: {', '.join(_NAMES)}.")
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
        if channel.name == AGENT:
            said = self._quoted(origin) if not relayed else None
            if said is not None:
                # The agent only points at it: what is remembered is the owner's passage, and nothing of the agent's
                # but its wording as a gist, where nothing foreign could have put that in its mouth.
                return replace(said, gist=Gist(checked) if state.is_clean else None)
            # The agent's word for when something was said or ends would move its text among what the owner said.
            fields = {**fields, "as_of": None, "expires_at": None}
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

    def moved(self, entries: Iterable[tuple[str, Mapping[str, Any]]], *, source: str) -> list[Candidate]:
        """Bind entries of another memory, each with its key there: hearsay of that source, whatever they say."""
        listed = list(entries)
        candidates = self.candidates([entry for _, entry in listed], via=IMPORT, principal=source)
        keys = [checked_text(key, self._settings.field_cap) for key, _ in listed]
        return [
            replace(one, standing=Standing.HEARSAY, origin=replace(one.origin, message=f"{MOVED}{key}"))
            for one, key in zip(candidates, keys, strict=True)
        ]

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
        attached: Iterable[str] = (),
        by_agent: bool = False,
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
            attached=[checked_text(one, settings.observe_cap) for one in attached],
            by_agent=by_agent,
        )

    def observe_result(
        self, session: str, called: str, tool: Tool, result: object, *, principal: str | None = None
    ) -> None:
        """Check a tool's result, and record it as what its declaration makes of it."""
        channel = self._channels.get("tool")
        text = _printed(result)
        if len(text) > self._settings.observe_cap:
            # What is too long to be looked at is somebody else's in any case; its beginning is kept as text.
            text = text[: self._settings.observe_cap]
        self._sessions.observe_result(
            session_name(session), tool, channel, text, called=called, principal=principal_of(channel.name, principal)
        )

    def _quoted(self, origin: Origin) -> Candidate | None:
        """The owner's passage that a quote stands in, if the owner said it in this session."""
        if origin.session is None or origin.quote is None:
            return None
        place = quoted(origin.quote, self._sessions.owners(origin.session), self._settings.passage_chars)
        return passage_of(*place) if place is not None else None

    def _origin(self, channel: Channel, parents: list[Memory], fields: Fields) -> tuple[Origin, bool]:
        given = fields.get("principal")
        named = principal_of(channel.name, given) if given is not None else None
        relayed = named is not None and relays(channel, named)
        session, quote = fields.get("session"), fields.get("quote")
        if session is not None and (member := own_member(channel)) is not None:
            self._sessions.require_member(session_name(session), member)
        origin = Origin(
            channel=channel.name,
            principal=named or own_principal(channel),
            session=session_name(session) if session is not None else None,
            quote=checked_text(quote, self._settings.text_cap) if quote is not None else None,
            parents=tuple(memory.id for memory in parents),
            carrier=channel.name if relayed else None,
        )
        return origin, relayed


def _printed(result: object) -> str:
    """A result as text. Whatever it is, it was handed on, so there is always something to take it in as."""
    try:
        text = str.__str__(result) if isinstance(result, str) else _as_json(result)
    except Exception:
        return UNPRINTABLE
    return text.encode("utf-8", "replace").decode("utf-8")


def _as_json(result: object) -> str:
    try:
        return json.dumps(result, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(result)


IMPORT = "import"
"""The channel over which everything from another memory comes in."""
UNPRINTABLE = "(a result that cannot be printed)"
"""What a session took in when a tool gave something that is no text and cannot be made one."""
_NAMES = tuple(Fields.__annotations__)
