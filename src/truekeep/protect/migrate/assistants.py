"""Exports of ChatGPT and Claude: what they call memories, and the user's own turns in conversations.

Of a conversation only what the user wrote is read. The assistant's turns are a model's words about whatever it was
shown, and files, pictures and hidden messages are not what the user said. A turn is still hearsay here: people paste.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from truekeep.errors import InvalidRequest
from truekeep.protect.migrate import markdown
from truekeep.protect.migrate.entries import Read, Skipped, SourceEntry, entry_of, moment
from truekeep.protect.migrate.source import parsed

_TEXTS = ("text", "content", "memory")


def chatgpt(text: str) -> Read:
    """The memories that ChatGPT lists, as text or JSON, or ``conversations.json``."""
    if not text.lstrip().startswith(("[{", "{", '["')) and not _is_json(text):
        return markdown.read(text)
    return _conversations(parsed(text), "mapping", _gpt_turns)


def claude(text: str) -> Read:
    """Claude's memory as text, ``memories.json`` or ``conversations.json``."""
    if not _is_json(text):
        return markdown.read(text)
    return _conversations(parsed(text), "chat_messages", _claude_turns)


def _is_json(text: str) -> bool:
    """Whether it is meant as JSON; ``[2026-01-31] - …`` is a list of dated memories."""
    start = text.lstrip()[:64]
    return start.startswith("{") or (start.startswith("[") and start[1:].lstrip()[:1] in ("{", '"', "]"))


def _conversations(found: Any, field: str, turns: Any) -> Read:
    if isinstance(found, Mapping):
        inner = next((found[name] for name in ("conversations", "memories", "results") if name in found), None)
        found = inner if isinstance(inner, list) else [found]
    if not isinstance(found, list):
        raise InvalidRequest("That is no export of an assistant.", code="source_unknown_shape")
    for one in found:
        if isinstance(one, str):
            yield SourceEntry(one, mapped=("text",)) if one.strip() else Skipped("no_text")
        elif not isinstance(one, Mapping):
            yield Skipped("not_an_entry")
        elif field in one:
            yield from turns(one)
        else:
            yield from _memories(one)


def _memories(one: Mapping[str, Any]) -> Read:
    """One memory, or Claude's account of what it remembers: texts in Markdown, for all talks and for each project."""
    named = next((name for name in _TEXTS if isinstance(one.get(name), str)), None)
    if named is not None:
        dates = ("created_at", "create_time", "updated_at", "update_time")
        yield entry_of(one, text=named, ids=("id", "uuid"), as_of=dates, topics=("topics", "categories"))
        return
    texts = [text for text in one.values() if isinstance(text, str) and " " in text.strip()]
    for inner in one.values():
        if isinstance(inner, Mapping):
            texts += [text for text in inner.values() if isinstance(text, str)]
    if not texts:
        yield Skipped("no_text")
    for text in texts:
        yield from markdown.read(text)


def _gpt_turns(talk: Mapping[str, Any]) -> Read:
    mapping = talk.get("mapping")
    nodes = mapping.values() if isinstance(mapping, Mapping) else ()
    for node in nodes:
        message = node.get("message") if isinstance(node, Mapping) else None
        if not isinstance(message, Mapping):
            continue
        author, content = message.get("author"), message.get("content")
        role = author.get("role") if isinstance(author, Mapping) else None
        hidden = message.get("metadata")
        if role != "user":
            yield Skipped("not_the_users_turn")
        elif isinstance(hidden, Mapping) and hidden.get("is_visually_hidden_from_conversation"):
            yield Skipped("hidden_message")
        else:
            parts = content.get("parts") if isinstance(content, Mapping) else None
            said = "\n".join(part for part in parts if isinstance(part, str)) if isinstance(parts, list) else ""
            yield from _turn(said, message.get("id"), message.get("create_time"), talk.get("title"))


def _claude_turns(talk: Mapping[str, Any]) -> Read:
    messages = talk.get("chat_messages")
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, Mapping) or message.get("sender") != "human":
            yield Skipped("not_the_users_turn")
            continue
        said = message.get("text")
        if not isinstance(said, str) or not said.strip():
            content = message.get("content")
            blocks = content if isinstance(content, list) else []
            said = "\n".join(one["text"] for one in blocks if _is_text(one))
        yield from _turn(said, message.get("uuid"), message.get("created_at"), talk.get("name"))


def _is_text(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "text" and isinstance(block.get("text"), str)


def _turn(said: str, named: object, at: object, title: object) -> Iterator[SourceEntry | Skipped]:
    if not said.strip():
        yield Skipped("no_text")
        return
    about = {"conversation": title} if isinstance(title, str) and title.strip() else {}
    fields = ("text", "id", *(("date",) if at else ()), *about)
    yield SourceEntry(
        text=said,
        id=named if isinstance(named, str) else "",
        as_of=moment(at),
        kind="episodic",
        metadata=about,
        mapped=fields,
    )
