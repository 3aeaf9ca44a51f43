"""Reads a transcript file (JSON lines, OpenAI messages or Markdown) into a conversation.

A file's roles are claims. Messages come in over the import channel, unless a person vouches for a role as their
own words; and that only works where the form keeps messages apart. In Markdown any text can hold a line that
looks like another speaker's turn, so nobody can vouch for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from truekeep.errors import InvalidRequest
from truekeep.extract.conversation import Conversation, Message

MAX_FILE = 10_000_000  # characters that are parsed at once
MAX_MESSAGES = 10_000  # each becomes a row in one transaction
_SPEAKING = frozenset({"user", "human", "me"})
_AGENT = frozenset({"assistant", "agent", "ai", "bot", "model", "system", "developer"})
_TURN = re.compile(
    r"\s{0,3}(?:#{1,6}\s+(?P<heading>[^\W\d_]{1,20}):?\s*$"
    r"|(?:\*\*|__)?(?P<name>[^\W\d_]{1,20})(?::(?:\*\*|__)|(?:\*\*|__):|:)\s*(?P<text>.*)$)"
)
_TIMES = ("time", "timestamp", "created_at", "at", "date")
_HINT = "Use JSON lines with role and content, OpenAI messages, or Markdown with 'User:' and 'Assistant:' turns."


@dataclass(frozen=True, slots=True)
class _Turn:
    role: str
    text: str
    at: datetime | None = None
    id: str | None = None


def read_transcript(
    source: str,
    *,
    mine: str | None = None,
    speaker: str | None = None,
    session: str | None = None,
    date: datetime | None = None,
) -> Conversation:
    """The conversation in a transcript. ``mine`` names the role whose messages are the owner's own words."""
    if len(source) > MAX_FILE:
        raise InvalidRequest("The transcript is too long.", code="transcript_too_long")
    turns, keeps_apart = _turns(source)
    if mine is not None and not keeps_apart:
        raise InvalidRequest(
            "Nobody can vouch for a Markdown transcript: any text in it can pose as another speaker's turn.",
            code="transcript_not_vouchable",
            hint="Export the conversation as JSON lines.",
        )
    if not turns or len(turns) > MAX_MESSAGES:
        raise InvalidRequest("There are no messages in it, or too many.", code="transcript_form", hint=_HINT)
    messages = tuple(_message(turn, at, mine, date) for at, turn in enumerate(turns))
    owner = "user" if mine is not None else "import"
    return Conversation(messages, frozenset({owner}), speaker, session)


def _turns(source: str) -> tuple[list[_Turn], bool]:
    start = source.lstrip("\ufeff \t\r\n")
    if start.startswith(("{", "[")):
        return [_json_turn(entry) for entry in _json_entries(start)], True
    return list(_markdown(source)), False


def _json_entries(source: str) -> list[Any]:
    """One JSON document, or one on each line."""
    try:
        whole = json.loads(source)
    except (ValueError, RecursionError):
        return [_loaded(line) for line in source.splitlines() if line.strip()]
    if isinstance(whole, Mapping) and isinstance(whole.get("messages"), list):
        return list(whole["messages"])
    return whole if isinstance(whole, list) else [whole]


def _loaded(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise InvalidRequest("A line of the transcript is not JSON.", code="transcript_form", hint=_HINT) from None


def _json_turn(entry: Any) -> _Turn:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("role"), str):
        raise InvalidRequest("A message has no role.", code="transcript_form", hint=_HINT)
    message_id = entry.get("id")
    return _Turn(
        role=entry["role"].casefold(),
        text=_content(entry.get("content", entry.get("text"))),
        at=next((when for name in _TIMES if (when := _moment(entry.get(name))) is not None), None),
        id=message_id if isinstance(message_id, str) and 0 < len(message_id) <= 200 else None,
    )


def _content(content: Any) -> str:
    """Plain text, or the text parts of a list of parts; a call without text says nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text"]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def _moment(value: Any) -> datetime | None:
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _markdown(source: str) -> Iterator[_Turn]:
    role, lines = "", []
    for line in source.splitlines():
        turn = _TURN.match(line)
        name = (turn["heading"] or turn["name"]).casefold() if turn else ""
        if turn is None or name not in _SPEAKING | _AGENT | {"tool"}:
            lines.append(line)
            continue
        if role:
            yield _Turn(role, "\n".join(lines).strip())
        role, lines = name, [turn["text"] or ""]
    if role:
        yield _Turn(role, "\n".join(lines).strip())


def _message(turn: _Turn, at: int, mine: str | None, date: datetime | None) -> Message:
    moment = turn.at or date
    return Message(
        id=f"{at + 1}" if turn.id is None else f"{at + 1}:{turn.id}",
        channel=_channel(turn.role, mine),
        text=turn.text,
        at=moment or datetime.now(UTC),
        role=turn.role,
        is_dated=moment is not None,
    )


def _channel(role: str, mine: str | None) -> str:
    if mine is not None and role == mine.casefold():
        return "user"
    if role in _AGENT:
        return "agent"
    return "import" if role in _SPEAKING else "tool"
