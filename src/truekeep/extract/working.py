"""Working memory: a session's messages, data and context, with a life span and a window that fits a budget.

Pure values. Where they are kept is the business of a ``WorkingStore``. Messages are never dropped to save room:
the window that is shown is cut, and what falls out of it is summed up, but the session keeps everything until
it expires, so that extraction loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Protocol

from truekeep.errors import InvalidRequest
from truekeep.extract.conversation import OWNER_CHANNELS, Conversation, Message
from truekeep.extract.usage import estimated_tokens
from truekeep.types import utc_moment, utc_text

FORMAT = 1
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """One session: what was said and read in it, structured data, context, and when it ends."""

    session: str
    created_at: datetime
    updated_at: datetime
    messages: tuple[Message, ...] = ()
    data: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    context: str = ""
    ttl: timedelta | None = None
    token_budget: int | None = None

    def __post_init__(self) -> None:
        if len({message.id for message in self.messages}) != len(self.messages):
            raise InvalidRequest("Two messages have the same id.", code="duplicate_message")
        if self.token_budget is not None and self.token_budget < 1:
            raise InvalidRequest("The token budget must be at least 1.", code="invalid_budget")

    @property
    def expires_at(self) -> datetime | None:
        """When the session ends unless something is said in it."""
        return None if self.ttl is None else self.updated_at + self.ttl

    def is_expired(self, now: datetime) -> bool:
        """Whether the session's time is over."""
        return self.expires_at is not None and now >= self.expires_at

    def channels(self) -> frozenset[str]:
        """The channels anything came over: what the session has read, and so what taints it."""
        return frozenset(message.channel for message in self.messages)

    def is_tainted(self, untainting: frozenset[str]) -> bool:
        """Whether anything came in over a channel other than these."""
        return not self.channels() <= untainting


@dataclass(frozen=True, slots=True)
class Window:
    """What of a session is shown: the newest messages that fit, and a summary of those that do not."""

    messages: tuple[Message, ...]
    summary: str = ""
    summarised: tuple[str, ...] = ()
    """The ids of the messages behind the summary."""
    channels: frozenset[str] = frozenset()
    """The channels behind the summary. A summary of something read is as tainted as what was read."""


class WorkingStore(Protocol):
    """Where sessions are kept."""

    def put(self, memory: WorkingMemory) -> None:
        """Keep a session, replacing its earlier state."""

    def get(self, session: str) -> WorkingMemory | None:
        """The session of that name, if it is there."""

    def list(self) -> Sequence[str]:
        """The names of all sessions."""

    def delete(self, session: str) -> bool:
        """Let a session go; whether it was there."""


Summarise = Callable[[Sequence[Message]], str]


def appended(memory: WorkingMemory, *messages: Message, now: datetime) -> WorkingMemory:
    """The session with more messages. A message that is already there is not added twice."""
    known = {message.id for message in memory.messages}
    fresh = tuple(message for message in messages if message.id not in known)
    return replace(memory, messages=memory.messages + fresh, updated_at=max(now, memory.updated_at))


def window(memory: WorkingMemory, summarise: Summarise, count: Callable[[str], int] = estimated_tokens) -> Window:
    """What fits the session's budget: the newest messages, and before them a summary of the rest."""
    if memory.token_budget is None or _tokens(memory.messages, count) <= memory.token_budget:
        return Window(memory.messages)
    for_summary = max(1, memory.token_budget // 4)
    kept = _newest(memory.messages, memory.token_budget - for_summary, count)
    overflow = memory.messages[: len(memory.messages) - len(kept)]
    summary = _fitting(summarise(overflow), for_summary, count)
    return Window(kept, summary, tuple(m.id for m in overflow), frozenset(message.channel for message in overflow))


def conversation_of(
    memory: WorkingMemory, *, speaker: str | None = None, owner_channels: frozenset[str] = OWNER_CHANNELS
) -> Conversation:
    """The session as extraction sees it: everything that was said, not just what is in the window."""
    return Conversation(memory.messages, owner_channels, speaker, memory.session)


def as_dict(memory: WorkingMemory) -> dict[str, Any]:
    """The session as JSON members, with the version of this form."""
    return {
        "format": FORMAT,
        "session": memory.session,
        "created_at": utc_text(memory.created_at),
        "updated_at": utc_text(memory.updated_at),
        "messages": [_message_dict(message) for message in memory.messages],
        "data": dict(memory.data),
        "context": memory.context,
        "ttl_seconds": None if memory.ttl is None else memory.ttl.total_seconds(),
        "token_budget": memory.token_budget,
    }


def from_dict(members: Mapping[str, Any]) -> WorkingMemory:
    """The session behind ``as_dict``; another version's form is refused, not guessed at."""
    if members.get("format") != FORMAT:
        raise InvalidRequest("This working memory was written by another version.", code="working_format")
    ttl = members["ttl_seconds"]
    return WorkingMemory(
        session=members["session"],
        created_at=utc_moment(members["created_at"]),
        updated_at=utc_moment(members["updated_at"]),
        messages=tuple(_message(entry) for entry in members["messages"]),
        data=MappingProxyType(dict(members["data"])),
        context=members["context"],
        ttl=None if ttl is None else timedelta(seconds=ttl),
        token_budget=members["token_budget"],
    )


def _message_dict(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "channel": message.channel,
        "text": message.text,
        "at": utc_text(message.at),
        "role": message.role,
        "principal": message.principal,
        "is_dated": message.is_dated,
    }


def _message(members: Mapping[str, Any]) -> Message:
    return Message(
        id=members["id"],
        channel=members["channel"],
        text=members["text"],
        at=utc_moment(members["at"]),
        role=members["role"],
        principal=members["principal"],
        is_dated=members["is_dated"],
    )


def _tokens(messages: Sequence[Message], count: Callable[[str], int]) -> int:
    return sum(count(message.text) for message in messages)


def _newest(messages: tuple[Message, ...], room: int, count: Callable[[str], int]) -> tuple[Message, ...]:
    kept = 0
    for message in reversed(messages):
        room -= count(message.text)
        if room < 0:
            break
        kept += 1
    return messages[len(messages) - kept :]


def _fitting(text: str, room: int, count: Callable[[str], int]) -> str:
    """As much of the beginning of a text as has room, whole words if possible."""
    if count(text) <= room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(text[:middle]) <= room else (low, middle - 1)
    cut = text.rfind(" ", 0, low)
    return text[: cut if cut > 0 else low]
