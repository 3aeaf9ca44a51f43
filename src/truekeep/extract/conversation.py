"""The values extraction works on: messages of a conversation, and what was extracted from them.

``channel`` is the authenticated way a message came in and the only thing that says whose words it holds;
``role`` is for display. An ``Extraction`` carries no standing: its quote is proved, and its standing bound,
by the code that owns the messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from truekeep.errors import InvalidRequest

OWNER_CHANNELS = frozenset({"user"})
KINDS = ("semantic", "episodic")
MAX_TEXT = 1_000  # a gist is a sentence or two; a model that says more is not distilling


@dataclass(frozen=True, slots=True)
class Message:
    """One message: its id, the channel it came over, what it says and when."""

    id: str
    channel: str
    text: str
    at: datetime
    role: str = ""
    principal: str | None = None
    is_dated: bool = True
    """Whether ``at`` is when it was said. Where nobody knows, "tomorrow" stays "tomorrow"."""
    alias: str = ""
    """What the host calls it, where its id is the keep's own. Two messages may have one; nothing rests on it."""

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise InvalidRequest("A message's time needs a time zone.", code="invalid_moment")


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in order, which channels are the owner's, and what the owner is called."""

    messages: tuple[Message, ...]
    owner_channels: frozenset[str] = OWNER_CHANNELS
    speaker: str | None = None
    session: str | None = None
    _by_id: Mapping[str, Message] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_id = {message.id: message for message in self.messages}
        if len(by_id) != len(self.messages):
            raise InvalidRequest("Two messages have the same id.", code="duplicate_message")
        object.__setattr__(self, "_by_id", by_id)

    def message(self, message_id: str) -> Message | None:
        """The message of that id, if it is in this conversation."""
        return self._by_id.get(message_id)

    def owner_messages(self) -> tuple[Message, ...]:
        """The messages that came over the owner's channels, whatever their roles say."""
        return tuple(message for message in self.messages if message.channel in self.owner_channels)


@dataclass(frozen=True, slots=True)
class Support:
    """A verbatim quote and the message it is in. Without a message the quote was found nowhere."""

    quote: str
    message_id: str | None


@dataclass(frozen=True, slots=True)
class Extraction:
    """A candidate on its way to the gate: what it says and every quote it claims to rest on."""

    text: str
    supports: tuple[Support, ...]
    strategy: str
    kind: str = "semantic"
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    prompt: str | None = None
    """The hash of the custom prompt that made it, so that a bad prompt can be revoked with all it produced."""
    model: str | None = None

    @property
    def quote(self) -> str | None:
        """The first quote."""
        return self.supports[0].quote if self.supports else None

    @property
    def message_id(self) -> str | None:
        """The message the first quote is in."""
        return self.supports[0].message_id if self.supports else None

    @property
    def is_located(self) -> bool:
        """Whether there is a quote and every quote was found in a message. It proves nothing about whose."""
        return bool(self.supports) and all(support.message_id is not None for support in self.supports)


def locate(quote: str, conversation: Conversation) -> Support:
    """Where a quote was first said or read, whatever a model claims: what is repeated later proves nothing."""
    if quote.strip():
        for message in conversation.messages:
            if quote in message.text:
                return Support(quote, message.id)
    return Support(quote, None)
