"""Candidates: what a caller passed, checked and capped, before anything looks at what it says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from truekeep.config import Settings
from truekeep.errors import InvalidRequest, InvalidText
from truekeep.types import Candidate, Memory

KINDS = ("semantic", "episodic")
_MOST = 1 << 62


def checked_text(text: object, cap: int) -> str:
    """A text that can be remembered, or the error that says why not. Never truncated."""
    if not isinstance(text, str):
        raise InvalidText("The text must be a string.", code="text_not_a_string")
    if not text.strip():
        raise InvalidText("The text is empty.", code="text_empty")
    if len(text) > cap:
        raise InvalidText(
            f"The text has {len(text):,} characters; the cap is {cap:,}.",
            code="text_too_long",
            hint="Split it into separate memories, or raise text_cap in the settings.",
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidText(
            "The text is not valid Unicode: it has lone surrogates.",
            code="text_not_unicode",
            hint="Decode the source with its real encoding.",
        ) from None
    return text


def checked_words(name: str, words: object, settings: Settings) -> tuple[str, ...]:
    """Topics or entities: a few short strings."""
    if isinstance(words, str) or not isinstance(words, Iterable):
        raise InvalidRequest(f"{name} must be a list of strings.")
    listed = tuple(words)
    if len(listed) > settings.fields_cap:
        raise InvalidRequest(f"At most {settings.fields_cap} {name} are kept with a memory.")
    return tuple(checked_text(word, settings.field_cap) for word in listed)


def checked_metadata(metadata: object, settings: Settings) -> dict[str, Any]:
    """Metadata: a small JSON object."""
    return checked_json("metadata", metadata, settings.metadata_cap)


def checked_json(name: str, value: object, cap: int) -> dict[str, Any]:
    """A JSON object, as it will be read back."""
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{name} must be a mapping.")
    try:
        encoded = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        encoded.encode("utf-8")
    except (TypeError, ValueError, RecursionError):
        raise InvalidRequest(f"{name} must be plain JSON.", code=f"{name}_not_json") from None
    if len(encoded) > cap:
        raise InvalidRequest(f"{name} is over {cap:,} characters.", code=f"{name}_too_long")
    restored: dict[str, Any] = json.loads(encoded)
    return restored


def checked_moment(name: str, moment: object) -> datetime | None:
    """A moment with a time zone, as UTC."""
    if moment is None:
        return None
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise InvalidRequest(f"{name} must be a datetime with a time zone.", code="invalid_moment")
    return moment.astimezone(UTC)


def checked_limit(limit: object) -> int | None:
    """How many are wanted at most; none for all."""
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit < _MOST):
        raise InvalidRequest("A limit is a whole number that is not negative.", code="invalid_limit")
    return limit


def fields_of(candidate: Candidate | Memory) -> dict[str, str]:
    """Every text of a candidate or memory under its name, so that no field goes unscreened."""
    origin = candidate.origin
    fields = {"text": candidate.text}
    fields |= {f"topics[{at}]": word for at, word in enumerate(candidate.topics)}
    fields |= {f"entities[{at}]": word for at, word in enumerate(candidate.entities)}
    fields |= {
        f"origin.{name}": value
        for name, value in (
            ("principal", origin.principal),
            ("session", origin.session),
            ("message", origin.message),
            ("quote", origin.quote),
        )
        if value
    }
    _flatten("metadata", candidate.metadata, fields)
    return fields


def _flatten(path: str, value: Any, fields: dict[str, str]) -> None:
    if isinstance(value, Mapping):
        for at, (key, entry) in enumerate(value.items()):
            # Keys are text too; they get a field of their own instead of becoming part of a field's name.
            fields[f"{path}.key{at}"] = str(key)
            _flatten(f"{path}.value{at}", entry, fields)
    elif isinstance(value, list):
        for at, entry in enumerate(value):
            _flatten(f"{path}[{at}]", entry, fields)
    elif isinstance(value, str) and value:
        fields[path] = value
