"""Checks what a model returned: structure, lengths and types, and no field it has no business setting.

Nothing here judges what a text says. Dangerous content is for the screens behind the gate; a list of bad
substrings would refuse "important" and "medieval" and let a reworded poison pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from truekeep.errors import InputError
from truekeep.extract import events
from truekeep.extract.conversation import KINDS, MAX_TEXT
from truekeep.extract.failure import ModelError

MAX_MEMORIES = 100  # a reply is bounded in everything it holds: who writes it is not trusted
MAX_WORD = 100  # characters of a topic or name
MAX_WORDS = 32  # topics or names of one memory
MAX_QUOTE = 2_000  # characters; a quote is found in a message by search
MAX_QUOTES = 20  # each is searched for in the whole session
MAX_ID = 200  # characters of a message's id
_FIELDS = frozenset({"text", "type", "topics", "entities", "quotes"})
_QUOTE_FIELDS = frozenset({"quote", "message_id"})
_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*)\n\s*```\s*\Z", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class OutputRefused(InputError):
    """One memory of a model's reply that is not of the required form."""

    code = "invalid_output"
    default_hint = "Nothing of it is kept; the conversation can be distilled again."


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory as a model proposed it, of the right form. Its quotes are claims; nothing in it is believed."""

    text: str
    kind: str
    topics: tuple[str, ...]
    entities: tuple[str, ...]
    quotes: tuple[tuple[str, str | None], ...]


def schema(max_text: int = MAX_TEXT) -> dict[str, Any]:
    """The JSON schema a model is asked to follow. Whether it did is checked here all the same."""
    words = {"type": "array", "items": {"type": "string"}}
    quote = {
        "type": "object",
        "properties": {"message_id": {"type": "string"}, "quote": {"type": "string"}},
        "required": ["message_id", "quote"],
        "additionalProperties": False,
    }
    memory = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": f"1 to {max_text} characters"},
            "type": {"type": "string", "enum": list(KINDS)},
            "topics": words,
            "entities": words,
            "quotes": {"type": "array", "items": quote},
        },
        "required": ["text", "type", "topics", "entities", "quotes"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {"memories": {"type": "array", "items": memory}},
        "required": ["memories"],
        "additionalProperties": False,
    }


def read_reply(reply: str) -> list[Any]:
    """The memories in a reply, not yet checked. A reply that is no such list is an error to try again after."""
    fenced = _FENCED.match(reply)
    try:
        parsed = json.loads(fenced[1] if fenced else reply, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise ModelError("The model's reply is not JSON.", code="model_broken_json", may_retry=True) from None
    if not isinstance(parsed, dict) or set(parsed) != {"memories"} or not isinstance(parsed["memories"], list):
        raise ModelError("The model's reply has the wrong form.", code="model_wrong_form", may_retry=True)
    if len(parsed["memories"]) > MAX_MEMORIES:
        raise ModelError(f"The model returned more than {MAX_MEMORIES} memories.", code="model_too_many")
    return parsed["memories"]


def checked_drafts(memories: list[Any], *, strategy: str, max_text: int = MAX_TEXT) -> list[Draft]:
    """The memories that are of the right form; the others are logged by code and left out."""
    drafts = []
    for memory in memories:
        try:
            drafts.append(validate_memory(memory, max_text=max_text))
        except OutputRefused as refused:
            events.emit(events.MEMORY_FILTERED, code=refused.code, strategy=strategy)
    return drafts


def validate_memory(memory: object, *, max_text: int = MAX_TEXT) -> Draft:
    """One memory of a reply, or ``OutputRefused`` with the reason's code."""
    if not isinstance(memory, Mapping):
        raise OutputRefused("A memory must be an object.", code="memory_not_an_object")
    if set(memory) - _FIELDS:
        raise OutputRefused("A memory has fields that a model may not set.", code="memory_extra_field")
    kind = memory.get("type")
    if kind not in KINDS:
        raise OutputRefused("A memory's type must be semantic or episodic.", code="memory_type")
    return Draft(
        text=_text(memory.get("text"), max_text, "memory_text"),
        kind=str(kind),
        topics=_words(memory.get("topics", []), "memory_topics"),
        entities=_words(memory.get("entities", []), "memory_entities"),
        quotes=_quotes(memory.get("quotes", [])),
    )


def _text(value: object, longest: int, code: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > longest:
        raise OutputRefused(f"A text must have 1 to {longest} characters.", code=code)
    if _CONTROL.search(value):
        raise OutputRefused("A text has control characters or is not Unicode.", code=code)
    return value.strip()


def _words(value: object, code: str) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > MAX_WORDS:
        raise OutputRefused("Topics and entities must be short lists.", code=code)
    return tuple(_text(word, MAX_WORD, code) for word in value)


def _quotes(value: object) -> tuple[tuple[str, str | None], ...]:
    if not isinstance(value, list) or len(value) > MAX_QUOTES:
        raise OutputRefused("Quotes must be a short list.", code="memory_quotes")
    return tuple(_quote(entry) for entry in value)


def _quote(entry: object) -> tuple[str, str | None]:
    if not isinstance(entry, Mapping) or set(entry) - _QUOTE_FIELDS:
        raise OutputRefused("A quote has a text and a message id.", code="memory_quotes")
    claimed = entry.get("message_id")
    if claimed is not None and (not isinstance(claimed, str) or len(claimed) > MAX_ID):
        raise OutputRefused("A message id must be a short text.", code="memory_quotes")
    quote = entry.get("quote")
    # Line ends belong to messages, so quotes may have them; the rest of a quote is compared, never shown as is.
    if not isinstance(quote, str) or not 1 <= len(quote) <= MAX_QUOTE:
        raise OutputRefused("A quote is empty or too long.", code="memory_quotes")
    return quote, claimed


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two members of one name would mean different things to different readers."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _refuse(_: str) -> None:
    raise ValueError
