"""Working memory: a session's messages, data and context, with a life span and a window that fits a budget.

Pure values. Messages are never dropped to save room: the window that is shown is cut, and what falls out of it is
summed up, but the session keeps everything until it expires, so that extraction loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from truekeep.errors import InvalidRequest
from truekeep.extract.conversation import Message
from truekeep.extract.smalltalk import is_small_talk
from truekeep.extract.usage import estimated_tokens

LONGEST_LIFE = timedelta(days=3_650)
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
    via: str = ""
    """The channel that data and context count as: the lowest of those that anything in them was written over."""
    speaker: str | None = None
    """What the owner is called."""
    ttl: timedelta | None = None
    token_budget: int | None = None

    def __post_init__(self) -> None:
        if len({message.id for message in self.messages}) != len(self.messages):
            raise InvalidRequest("Two messages have the same id.", code="duplicate_message")
        if self.token_budget is not None and (not _is_whole(self.token_budget) or self.token_budget < 1):
            raise InvalidRequest("The token budget must be a whole number from 1.", code="invalid_budget")
        if self.ttl is not None and not (isinstance(self.ttl, timedelta) and timedelta(0) < self.ttl <= LONGEST_LIFE):
            raise InvalidRequest("The life span must be a timedelta of up to ten years.", code="invalid_ttl")

    @property
    def expires_at(self) -> datetime | None:
        """When the session ends unless something is said in it."""
        return None if self.ttl is None else self.updated_at + self.ttl

    def is_expired(self, now: datetime) -> bool:
        """Whether the session's time is over."""
        return self.expires_at is not None and now >= self.expires_at

    def channels(self) -> frozenset[str]:
        """The channels anything came over: what the session has read, and so what taints it."""
        written = {self.via} if self.data or self.context else set()
        return frozenset({message.channel for message in self.messages} | written)


@dataclass(frozen=True, slots=True)
class Window:
    """What of a session is shown: the newest messages that fit, and a summary of those that do not."""

    messages: tuple[Message, ...]
    summary: str = ""
    summarised: tuple[str, ...] = ()
    """The ids of the messages behind the summary."""
    channels: frozenset[str] = frozenset()
    """The channels behind the summary. A summary of something read is as tainted as what was read."""


Summarise = Callable[[Sequence[Message]], str]


def window(memory: WorkingMemory, summarise: Summarise, count: Callable[[str], int] = estimated_tokens) -> Window:
    """What fits the session's budget: the newest messages, and before them a summary of the rest."""
    if memory.token_budget is None or _tokens(memory.messages, count) <= memory.token_budget:
        return Window(memory.messages)
    for_summary = max(1, memory.token_budget // 4)
    kept = _newest(memory.messages, memory.token_budget - for_summary, count)
    overflow = memory.messages[: len(memory.messages) - len(kept)]
    summary = _fitting(summarise(overflow), for_summary, count)
    return Window(kept, summary, tuple(m.id for m in overflow), frozenset(message.channel for message in overflow))


def own_words(said: Mapping[str, str]) -> Summarise:
    """A summary without a model: how much there was, and what the owner said in it, by the ids of messages.

    Nothing that was read or pasted is in it, so that no page gets a longer life in the window than its own message has.
    """

    def summarise(messages: Sequence[Message]) -> str:
        own = (" ".join(said.get(message.id, "").split()) for message in messages)
        return " ".join([f"{len(messages)} earlier messages.", *(text for text in own if not is_small_talk(text))])

    return summarise


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


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
