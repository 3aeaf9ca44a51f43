"""Puts a conversation to a model in pieces it can take, and turns its answers into extractions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol

from truekeep.extract.conversation import MAX_TEXT, Conversation, Extraction, Message, Support, locate
from truekeep.extract.output import Draft, checked_drafts, read_reply, schema
from truekeep.extract.prompt_safety import MAX_VALUE, restore_braces

if TYPE_CHECKING:
    from truekeep.extract.exchange import ChatMessages
    from truekeep.extract.llm import ChatModel

_ROOM = MAX_VALUE - 500
# JSON lets these stand, but some readers take them for line ends.
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})


class Asker(Protocol):
    """Builds the messages that put one piece of a conversation to a model."""

    def __call__(self, piece: Sequence[Message]) -> ChatMessages:
        """The chat messages for this piece."""


def instruction(name: str, limit: int = MAX_TEXT) -> str:
    """What a model is told, with the limit put in."""
    return _instructions()[name].replace("{limit}", str(limit))


@cache
def _instructions() -> dict[str, str]:
    import yaml  # noqa: PLC0415

    source = files("truekeep").joinpath("data", "extract", "instructions.yaml").read_text(encoding="utf-8")
    loaded: dict[str, str] = yaml.safe_load(source)
    return loaded


def pieces(conversation: Conversation, room: int = _ROOM) -> Iterator[list[Message]]:
    """The owner's and the agent's messages in runs that fit; what was read is not put to the model at all."""
    if not conversation.owner_messages():
        return
    run: list[Message] = []
    used = 0
    for part in _parts(conversation, room):
        size = len(transcript([part])) + 1
        if run and used + size > room:
            yield run
            run, used = [], 0
        run.append(part)
        used += size
    if run:
        yield run


def _parts(conversation: Conversation, room: int) -> Iterator[Message]:
    """The messages to show; one that is too long comes in several parts with the same id."""
    for message in conversation.messages:
        if message.channel in conversation.owner_channels or message.channel == "agent":
            yield from _halved(message, room)


def _halved(message: Message, room: int) -> Iterator[Message]:
    if len(transcript([message])) <= room or len(message.text) < 2:
        yield message
        return
    middle = len(message.text) // 2
    cut = message.text.rfind(" ", middle // 2, middle) + 1 or middle
    for text in (message.text[:cut], message.text[cut:]):
        yield from _halved(replace(message, text=text), room)


def transcript(messages: Sequence[Message]) -> str:
    """Messages as lines of JSON: their boundaries cannot be faked from inside a text."""
    return "\n".join(_line(message) for message in messages)


def _line(message: Message) -> str:
    shown = {"id": message.id, "from": message.channel, "time": message.at.isoformat(), "text": message.text}
    return json.dumps(shown, ensure_ascii=False).translate(_LINE_ENDS)


def extract_with(
    model: ChatModel,
    conversation: Conversation,
    ask: Asker,
    *,
    strategy: str,
    max_text: int = MAX_TEXT,
    prompt: str | None = None,
) -> list[Extraction]:
    """Everything the model's answers propose that is of the right form. One failed piece fails the whole."""
    found: list[Extraction] = []
    wanted = schema(max_text)
    for piece in pieces(conversation):
        reply = model.complete(ask(piece), wanted, read_reply)
        for draft in checked_drafts(read_reply(reply.text), strategy=strategy, max_text=max_text):
            found.append(_extraction(draft, conversation, strategy, prompt, model.name))
    return found


def _extraction(draft: Draft, conversation: Conversation, strategy: str, prompt: str | None, model: str) -> Extraction:
    return Extraction(
        text=draft.text,
        supports=tuple(_support(quote, conversation) for quote, _ in draft.quotes),
        strategy=strategy,
        kind=draft.kind,
        topics=draft.topics,
        entities=draft.entities,
        prompt=prompt,
        model=model,
    )


def _support(quote: str, conversation: Conversation) -> Support:
    """Where the quote really is. Braces were neutralised on the way out, so they are compared both ways."""
    exact = locate(quote, conversation)
    return exact if exact.message_id is not None else locate(restore_braces(quote), conversation)
